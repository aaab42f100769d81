/**
 * The engine of a simulated node. It answers each job as the node's kind and the request's script define. Some kinds
 * lie, fail or break the protocol.
 */
import { encodeFrame } from "../../protocol/src/frame-codec.ts";
import type { Frame } from "../../protocol/src/frames.ts";
import { makeSentence } from "../world/one-token-words.ts";
import type { World } from "../world/world.ts";
import type { AnswerScript, NodeKind, NodePlan } from "../world-plan.ts";
import { THINKING_MODEL, VECTOR_WIDTH } from "./catalogue.ts";
import { computeEmbedding } from "./embedding.ts";
import { type OutputPiece, splitIntoOutputPieces } from "./output-pieces.ts";
import { messagesOf, type RunningJob, type SimulatedJob } from "./simulated-job.ts";

type Sendable = Exclude<Frame, { kind: "unknown" }>;

/** The node that the engine belongs to. */
interface EngineNode {
  readonly plan: NodePlan;
  readonly jobs: ReadonlyMap<string, SimulatedJob>;
  crash(downMs: number): boolean;
  send(gateway: string, bytes: Uint8Array): void;
  /** Called when the engine ends a job. */
  end(running: RunningJob, end: SimulatedJob["end"]): void;
}

export class SimulatedEngine {
  readonly #world: World;
  readonly #node: EngineNode;

  constructor(world: World, node: EngineNode) {
    this.#world = world;
    this.#node = node;
  }

  begin(running: RunningJob, script: AnswerScript, kind: NodeKind): void {
    if (kind !== "honest" && kind !== "deaf") this.#world.faults["job failed"] += 1;
    if (kind === "silent") this.#after(running, 60_000, () => this.#node.end(running, "silent"));
    else if (kind === "empty") this.#done(running);
    else if (kind === "empty deltas") this.#sayNothing(running);
    else if (running.header.endpoint === "embedding") this.#embed(running, script, kind);
    else if (kind === "fast") {
      this.#output(running, answer(makeSentence(0, Math.max(script.words, 200))));
      this.#done(running);
    } else if (kind === "constant") {
      this.#output(running, answer(makeSentence(4, 3)));
      this.#done(running);
    } else if (kind === "white space") {
      for (const text of [" river", ...Array.from({ length: 4 }, () => " ".repeat(512))])
        this.#output(running, answer(text));
      this.#done(running);
    } else if (BREAKS.includes(kind)) {
      // These kinds of nodes send some output first, and then something that the protocol forbids.
      this.#output(running, answer(makeSentence(0, 2)));
      this.#after(running, 30, () => this.#misbehave(running, kind));
    } else {
      const spoken = kind === "overrun" ? overrunning(script) : script;
      this.#after(running, script.ttftMs, () => this.#speak(running, spoken));
    }
  }

  /** Sends one vector for each text; some kinds of nodes send wrong vectors. */
  #embed(running: RunningJob, script: AnswerScript, kind: NodeKind): void {
    const texts = running.body.input ?? [];
    const constant = computeEmbedding("constant");
    const vectors = texts.map((text) => (kind === "constant" ? constant : computeEmbedding(text)));
    if (BREAKS.includes(kind)) {
      this.#vectors(running, vectors.slice(0, 1));
      this.#after(running, 30, () => this.#misbehave(running, kind));
    } else if (kind === "bad vectors") this.#sendBadVectors(running, vectors);
    else this.#after(running, script.ttftMs, () => this.#speak(running, script, vectors));
  }

  /**
   * Sends wrong vectors, with a different mistake for each job: too few, too many, a wrong width, or values that are
   * not numbers.
   */
  #sendBadVectors(running: RunningJob, vectors: Float32Array[]): void {
    running.facts.isAtFault = true;
    const turn = this.#node.jobs.size % 4;
    if (turn === 0) this.#vectors(running, vectors.slice(1));
    else if (turn === 1) this.#vectors(running, [...vectors, computeEmbedding("more")]);
    else if (turn === 2) {
      const width = VECTOR_WIDTH / 2;
      this.#vectors(
        running,
        vectors.map((vector) => vector.slice(0, width)),
        { width },
      );
    }
    if (turn === 3) this.#vectors(running, [new Float32Array(VECTOR_WIDTH).fill(Number.NaN)]);
    this.#done(running, "broken");
  }

  /** Sends empty output repeatedly, each time just before the gateway's timeout for silence. */
  #sayNothing(running: RunningJob): void {
    this.#output(running, answer(""));
    this.#after(running, 1_500, () => this.#sayNothing(running));
  }

  #misbehave(running: RunningJob, kind: NodeKind): void {
    const { job, gateway, endpoint } = running.header;
    const { seq } = running;
    const isEmbedding = endpoint === "embedding";
    running.facts.isAtFault = true;
    running.facts.refusedPrompt = kind === "failing" && running.facts.isFormatted;
    if (kind === "failing") this.#say(gateway, { kind: "failed", job, seq, cause: "engine", message: "" });
    else if (kind === "vectors" && isEmbedding) this.#output(running, answer(" river"), { counts: false });
    else if (kind === "vectors") this.#vectors(running, [computeEmbedding("x")], { counts: false });
    else if (kind === "accepts twice") this.#say(gateway, { kind: "accepted", job });
    else if (kind === "garbage") this.#node.send(gateway, Buffer.from([1, 19, 1, 0, 255, 255, 255]));
    else {
      running.seq += kind === "gap" ? 3 : -1;
      if (isEmbedding) this.#vectors(running, [computeEmbedding("x")], { counts: false });
      else this.#output(running, answer(makeSentence(2, 1)), { counts: false });
    }
    this.#node.end(running, kind === "failing" ? "failed" : "broken");
  }

  #after(running: RunningJob, ms: number, run: () => void): void {
    running.stop = this.#world.scheduler.after(ms, run);
  }

  /** Sends all output or vectors, and ends the job as the script defines. */
  #speak(running: RunningJob, script: AnswerScript, vectors?: Float32Array[]): void {
    const attempt = Number(running.header.job.slice(-2));
    const { fault, perDelta } = script;
    const strikes = fault !== null && (fault.attempt === 0 || fault.attempt === attempt);
    const most = strikes ? fault.after : Number.POSITIVE_INFINITY;
    const steps =
      vectors === undefined
        ? this.#words(running, script, most)
        : this.#rows(running, vectors.slice(0, most), perDelta);
    const step = (): void => {
      const next = steps.shift();
      if (next !== undefined) {
        next();
        this.#after(running, script.everyMs, step);
      } else if (!strikes) this.#done(running);
      else this.#strike(running, fault.kind);
    };
    step();
  }

  #words(running: RunningJob, script: AnswerScript, wordsMax: number): (() => void)[] {
    const { model, sampling } = running.header;
    const known = running.facts.isCanary ? this.#world.answers.answerTo(messagesOf(running.body)) : undefined;
    if (known !== undefined) return [() => this.#output(running, answer(known))];
    const thinks = model !== THINKING_MODEL ? null : this.#node.plan.host % 2 === 0 ? "by tags" : "by channel";
    const stop = this.#node.plan.kind === "deaf" ? null : (sampling.stop?.[0] ?? null);
    return splitIntoOutputPieces(script, { thinks, stop, wordsMax }).map((piece) => () => this.#output(running, piece));
  }

  #rows(running: RunningJob, vectors: Float32Array[], perFrame: number): (() => void)[] {
    const count = Math.ceil(vectors.length / perFrame);
    return Array.from({ length: count }, (_, i) => () => {
      this.#vectors(running, vectors.slice(i * perFrame, (i + 1) * perFrame));
    });
  }

  #strike(running: RunningJob, kind: NonNullable<AnswerScript["fault"]>["kind"]): void {
    running.facts.isAtFault = true;
    this.#world.faults["job failed"] += 1;
    // A failed job with an output format counts as a refused prompt, because no engine supports every output format.
    running.facts.refusedPrompt = kind === "prompt" || (kind === "fail" && running.facts.isFormatted);
    const { job, gateway } = running.header;
    if (kind === "stall") running.stop = this.#world.scheduler.after(60_000, () => this.#node.end(running, "silent"));
    else if (kind === "drop") this.#node.crash(500);
    else {
      const cause = kind === "prompt" ? "prompt" : "engine";
      this.#say(gateway, { kind: "failed", job, seq: running.seq, cause, message: "" });
      this.#node.end(running, "failed");
    }
  }

  #output(running: RunningJob, { channel, text, thought, said }: OutputPiece, { counts = true } = {}): void {
    const { job, gateway } = running.header;
    const atMs = this.#world.scheduler.nowMs - running.acceptedMs;
    const times = { firstMs: atMs, lastMs: atMs };
    this.#say(gateway, { kind: "timed", deltas: [{ job, seq: running.seq, channel, text, ...times }] });
    running.seq += 1;
    if (!counts || text === "") return;
    running.facts.thought += thought;
    running.facts.said += said;
    running.facts.aliveMs = this.#world.scheduler.nowMs;
  }

  #vectors(running: RunningJob, vectors: Float32Array[], { counts = true, width = VECTOR_WIDTH } = {}): void {
    const { job, gateway } = running.header;
    const first = running.facts.vectors.length;
    if (vectors.length === 0) return;
    const values = Float32Array.from(vectors.flatMap((vector) => [...vector]));
    this.#say(gateway, { kind: "vectors", job, seq: running.seq, first, width, values });
    running.seq += 1;
    if (!counts) return;
    running.facts.vectors.push(...vectors);
    running.facts.aliveMs = this.#world.scheduler.nowMs;
  }

  #done(running: RunningJob, end: "done" | "broken" = "done"): void {
    const { job, gateway } = running.header;
    this.#say(gateway, { kind: "done", job, seq: running.seq, finish: "stop" });
    this.#node.end(running, end);
  }

  #say(gateway: string, frame: Sendable): void {
    this.#node.send(gateway, encodeFrame(frame));
  }
}

const answer = (text: string): OutputPiece => ({ channel: "answer", text, thought: "", said: text });

/** The kinds of nodes that break the protocol or fail after some output. */
const BREAKS: NodeKind[] = ["failing", "gap", "twice", "garbage", "vectors", "accepts twice"];

/** Returns the script with 400 more words, so that the output exceeds the request's `max_tokens`. */
const overrunning = (script: AnswerScript): AnswerScript => ({ ...script, words: script.words + 400, fault: null });
