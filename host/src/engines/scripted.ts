/**
 * An engine that does as it is told, for tests and load runs. One word is one delta, and the output cap is counted in
 * words. See script.ts for what it can be told.
 */
import { encode } from "@tollgate/protocol/codec.ts";
import type { Channel } from "@tollgate/protocol/frames.ts";
import { type Clock, sleep, turn } from "../clock.ts";
import {
  type EmbeddingJob,
  type Engine,
  EngineError,
  type EngineJob,
  type Finish,
  type GenerationJob,
  type Sink,
} from "./engine.ts";
import { unitVector } from "./prose.ts";
import { type Fault, type Plan, planOf } from "./script.ts";
import { StopStrings } from "./stops.ts";

export const VECTOR_WIDTH = 1024;
const SLOTS = 64;
/** So many words without a pause, then the event loop has its turn: other jobs and cancellations. */
const WORDS_PER_TURN = 32;
/** A stall ends when the gateway cancels the job. If it never does, the slot must not be lost. */
const STALL_MS_MAX = 60_000;

export function scriptedEngine(options: { models: string[]; clock: Clock; slots?: number | undefined }): Engine {
  const { clock } = options;
  return {
    name: "scripted",
    slots: options.slots ?? SLOTS,
    models: options.models,
    refuses: (job) => isBusy(job),
    generate: (job, sink, signal) => new Performance(planOf(job), { job, sink, signal, clock }).run(),
    embed: (job, _sink, signal) => vectors(job, signal, clock),
    close: async () => {},
  };
}

function isBusy(job: EngineJob): boolean {
  if (job.endpoint === "embedding") return false;
  try {
    return planOf(job).busy;
  } catch (error) {
    // A malformed script is no reason to refuse: the job is accepted and then fails, saying why.
    if (error instanceof EngineError) return false;
    throw error;
  }
}

async function* vectors(job: EmbeddingJob, signal: AbortSignal, clock: Clock): AsyncGenerator<Float32Array> {
  for (const text of job.input) {
    if (signal.aborted) return;
    yield unitVector(text, VECTOR_WIDTH);
    await turn(clock);
  }
}

interface Stage {
  job: GenerationJob;
  sink: Sink;
  signal: AbortSignal;
  clock: Clock;
}

/** One job being played. */
class Performance {
  readonly #plan: Plan;
  readonly #stage: Stage;
  readonly #stops: StopStrings;
  readonly #cap: number;
  #words = 0;
  #due = 0;

  constructor(plan: Plan, stage: Stage) {
    this.#plan = plan;
    this.#stage = stage;
    this.#stops = new StopStrings(plan.ignoreStop ? [] : stage.job.sampling.stop);
    this.#cap = plan.overrun ? Number.POSITIVE_INFINITY : stage.job.outputTokensMax;
  }

  async run(): Promise<{ finish: Finish }> {
    const { sink, signal, clock, job } = this.#stage;
    if (this.#plan.ttftMs > 0) await sleep(clock, this.#plan.ttftMs, signal);
    if (this.#plan.empty) return { finish: "stop" };
    if (this.#plan.garbage) for (const frame of malformedFrames(job)) sink.wire.raw(frame);
    if (this.#plan.claimTokens !== undefined) sink.wire.claim(this.#plan.claimTokens);
    this.#due = clock.monotonic();
    const finish =
      (await this.#speak("reasoning", this.#plan.reasoning)) ?? (await this.#speak("answer", this.#plan.answer));
    if (finish === undefined) await this.#misbehave();
    if (finish !== "stop") this.#say("answer", this.#stops.flush());
    return { finish: finish ?? "stop" };
  }

  /** Undefined when everything was said; otherwise why it ended before. */
  async #speak(channel: Channel, words: Iterable<string>): Promise<Finish | undefined> {
    for (const word of words) {
      await this.#misbehave();
      if (this.#stage.signal.aborted) return "stop";
      if (this.#words >= this.#cap) return "length";
      await this.#pace();
      if (this.#stage.signal.aborted) return "stop";
      this.#words++;
      // A stop string ends the answer; thinking is not searched for it.
      const cut = channel === "answer" ? this.#stops.push(word) : { text: word, stopped: false };
      this.#say(channel, cut.text);
      if (cut.stopped) return "stop";
    }
    return undefined;
  }

  #say(channel: Channel, text: string): void {
    if (text !== "") this.#stage.sink.delta(channel, text);
  }

  /** Deltas are due on a grid that began with the first, so that a late timer does not slow the whole answer. */
  async #pace(): Promise<void> {
    const { clock, signal } = this.#stage;
    if (this.#plan.deltaMs > 0 && this.#words > 0) {
      this.#due += this.#plan.deltaMs;
      await sleep(clock, Math.max(0, this.#due - clock.monotonic()), signal);
    } else if (this.#words % WORDS_PER_TURN === WORDS_PER_TURN - 1) {
      await turn(clock);
    }
  }

  async #misbehave(): Promise<void> {
    const fault = this.#plan.faults.find(({ after }) => after === this.#words);
    if (fault === undefined || this.#stage.signal.aborted) return;
    this.#say("answer", this.#stops.flush());
    await commit(fault, this.#stage);
  }
}

async function commit(fault: Fault, { sink, signal, clock, job }: Stage): Promise<void> {
  if (fault.kind === "fail") throw new EngineError("engine", `failed after ${fault.after} deltas, as scripted`);
  if (fault.kind === "drop") sink.wire.drop();
  if (fault.kind === "garbage") for (const frame of malformedFrames(job)) sink.wire.raw(frame);
  await sleep(clock, STALL_MS_MAX, signal);
  if (!signal.aborted) throw new EngineError("engine", "stalled as scripted, and nobody cancelled the job");
}

/** Bytes that no reader may accept: too short, of another version, cut off, not text, not JSON, not to the schema. */
function malformedFrames({ id }: GenerationJob): Uint8Array[] {
  const delta = encode({ kind: "deltas", deltas: [{ job: id, seq: 0, channel: "answer", text: "??" }] });
  const done = encode({ kind: "done", job: id, seq: 0, finish: "stop" });
  const patched = (frame: Buffer, at: number, byte: number): Buffer => {
    const copy = Buffer.from(frame);
    copy[at < 0 ? copy.length + at : at] = byte;
    return copy;
  };
  return [
    new Uint8Array(0),
    done.subarray(0, 1),
    patched(done, 0, 0xee),
    delta.subarray(0, -1),
    patched(delta, -1, 0xff),
    patched(delta, 2, 9),
    patched(delta, 4, 0x20),
    done.subarray(0, -1),
    Buffer.concat([done.subarray(0, 2), Buffer.from(JSON.stringify({ job: id, seq: -1, finish: "never" }))]),
  ];
}
