/**
 * A scripted engine for tests and load tests: the prompt contains the behavior to simulate. Each word is one delta, and
 * the output cap counts words. Scripts are parsed in engine-script.ts; frame-fault-injector.ts adds faults to the
 * network messages.
 */

import { SCORES_PER_FRAME_MAX } from "@tollgate/protocol/frame-limits.ts";
import type { OutputChannel } from "@tollgate/protocol/frames.ts";
import { StopStringMatcher } from "@tollgate/protocol/stop-strings.ts";
import { type Clock, sleep, waitOneTurn } from "../clock.ts";
import {
  type EmbeddingJob,
  type Engine,
  EngineError,
  type EngineJob,
  type FinishReason,
  type GenerationJob,
  type Logprobs,
  type OutputSink,
  type ScoringJob,
} from "./engine.ts";
import { planScriptedAnswer, type ScriptedAnswerPlan, splitIntoWords } from "./engine-script.ts";
import { FrameFaultInjector } from "./frame-fault-injector.ts";
import { makeUnitVector } from "./generated-text-and-vectors.ts";
import { EMBEDDING_MODELS } from "./model-names.ts";
import { SCHEMA_KEYWORDS } from "./schema-keywords.ts";

const VECTOR_WIDTH = 1024;
const SLOTS = 64;
/** The number of words written without a pause. In a pause, the event loop runs other jobs and cancellations. */
const WORDS_PER_TURN = 32;
/** A stall ends when the gateway cancels the job, or after this time at the latest, so that the slot is freed. */
const STALL_MS_MAX = 60_000;

interface ScriptedOptions {
  models: string[];
  clock: Clock;
  slots?: number | undefined;
  /** Injects a script's network faults into the node's connection. Without it, these faults have no effect. */
  faults?: FrameFaultInjector | undefined;
}

export function scriptedEngine(options: ScriptedOptions): Engine {
  const { clock, faults = new FrameFaultInjector() } = options;
  // The agent sends `done` at the end of the event-loop turn in which the engine returned. A fault may still change
  // that frame, so the fault ends only after it.
  const end = ({ id }: EngineJob): void => clock.soon(() => clock.soon(() => faults.end(id)));
  return {
    name: "scripted",
    slots: options.slots ?? SLOTS,
    models: options.models,
    keepsFormat: async (model) => !EMBEDDING_MODELS.includes(model),
    schemaKeywords: () => SCHEMA_KEYWORDS.scripted,
    scoring: async (model) => (EMBEDDING_MODELS.includes(model) ? undefined : "text"),
    score: async (job) => scriptedScore(job),
    refuses: (job) => isBusy(job),
    async generate(job, sink, signal) {
      try {
        return await new ScriptedAnswer(planScriptedAnswer(job), { job, sink, signal, clock, faults }).run();
      } finally {
        end(job);
      }
    },
    async *embed(job, _sink, signal) {
      try {
        yield* vectors(job, signal, clock);
      } finally {
        end(job);
      }
    },
    close: async () => {},
  };
}

/** Scores the words of the engine's own answer as likely and all others as unlikely. */
function scriptedScore(job: ScoringJob): Logprobs {
  const plan = planScriptedAnswer(job);
  const own = new Set([...plan.reasoning, ...plan.answer].map((word) => word.trim()));
  return splitIntoWords(job.score.answer)
    .slice(0, SCORES_PER_FRAME_MAX)
    .map((word, i) => (own.has(word.trim()) ? -0.2 - (i % 5) / 10 : -9));
}

function isBusy(job: EngineJob): boolean {
  if (job.endpoint === "embedding") return false;
  try {
    return planScriptedAnswer(job).busy;
  } catch (error) {
    // A job with a malformed script is accepted and then fails with the reason.
    if (error instanceof EngineError) return false;
    throw error;
  }
}

async function* vectors(job: EmbeddingJob, signal: AbortSignal, clock: Clock): AsyncGenerator<Float32Array> {
  for (const text of job.input) {
    if (signal.aborted) return;
    yield makeUnitVector(text, VECTOR_WIDTH);
    await waitOneTurn(clock);
  }
}

interface Run {
  job: GenerationJob;
  sink: OutputSink;
  signal: AbortSignal;
  clock: Clock;
  faults: FrameFaultInjector;
}

/** Answers one job as its plan says. */
class ScriptedAnswer {
  readonly #plan: ScriptedAnswerPlan;
  readonly #run: Run;
  readonly #stops: StopStringMatcher;
  readonly #cap: number;
  #words = 0;
  #chars = 0;
  #due = 0;

  constructor(plan: ScriptedAnswerPlan, run: Run) {
    this.#plan = plan;
    this.#run = run;
    this.#stops = new StopStringMatcher(plan.ignoreStop ? [] : run.job.sampling.stop);
    this.#cap = plan.overrun ? Number.POSITIVE_INFINITY : run.job.outputTokensMax;
  }

  async run(): Promise<{ finish: FinishReason }> {
    const { signal, clock } = this.#run;
    const { ttftMs, empty, reasoning, answer } = this.#plan;
    if (ttftMs > 0) await sleep(clock, ttftMs, signal);
    if (empty) return { finish: "stop" };
    this.#beginFaults();
    this.#due = clock.monotonic();
    const finish = (await this.#write("reasoning", reasoning)) ?? (await this.#write("answer", answer));
    if (finish === undefined) await this.#faultIfDue();
    if (finish !== "stop") this.#emit("answer", this.#stops.end());
    return { finish: finish ?? "stop" };
  }

  /** Writes words. Undefined if all were written; otherwise the finish reason. */
  async #write(channel: OutputChannel, words: Iterable<string>): Promise<FinishReason | undefined> {
    for (const word of words) {
      await this.#faultIfDue();
      if (this.#run.signal.aborted) return "stop";
      if (this.#words >= this.#cap) return "length";
      await this.#pace();
      if (this.#run.signal.aborted) return "stop";
      this.#words++;
      // A stop string only ends the answer; thinking is not searched for stop strings.
      const cut = channel === "answer" ? this.#stops.push(word) : { text: word, stopped: false };
      this.#emit(channel, cut.text);
      if (cut.stopped) return "stop";
    }
    return undefined;
  }

  #emit(channel: OutputChannel, text: string): void {
    if (text === "") return;
    this.#chars += text.length;
    this.#run.sink.delta(channel, text);
  }

  /** Deltas are due at fixed times after the first one, so a late timer does not delay the whole answer. */
  async #pace(): Promise<void> {
    const { clock, signal } = this.#run;
    if (this.#plan.deltaMs > 0 && this.#words > 0) {
      this.#due += this.#plan.deltaMs;
      await sleep(clock, Math.max(0, this.#due - clock.monotonic()), signal);
    } else if (this.#words % WORDS_PER_TURN === WORDS_PER_TURN - 1) {
      await waitOneTurn(clock);
    }
  }

  #beginFaults(): void {
    const { faults, job } = this.#run;
    const { garbage, claimTokens } = this.#plan;
    if (!hasWireFaults(this.#plan)) return;
    faults.begin(job.id);
    if (garbage) faults.garbage(job.id, 0);
    if (claimTokens !== undefined) faults.claim(job.id, claimTokens);
  }

  async #faultIfDue(): Promise<void> {
    const { signal, clock, job, faults } = this.#run;
    const fault = this.#plan.faults.find(({ after }) => after === this.#words);
    if (fault === undefined || signal.aborted) return;
    this.#emit("answer", this.#stops.end());
    if (fault.kind === "fail")
      throw new EngineError("engine", `the engine failed after ${fault.after} deltas, as its script says`);
    if (fault.kind === "drop") faults.drop(job.id, this.#chars);
    if (fault.kind === "garbage") faults.garbage(job.id, this.#chars);
    await sleep(clock, STALL_MS_MAX, signal);
    if (!signal.aborted)
      throw new EngineError("engine", "the engine stalled, as its script says, and the job was not canceled");
  }
}

const hasWireFaults = ({ garbage, claimTokens, faults }: ScriptedAnswerPlan): boolean =>
  garbage || claimTokens !== undefined || faults.some(({ kind }) => kind === "drop" || kind === "garbage");
