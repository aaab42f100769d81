/**
 * A simulated node: an agent that speaks the real frames, with an engine that behaves as its kind and the request's
 * script define. The node records what it did with each job, so that the auditor can check charges and blame.
 */
import { decodeFrame, encodeFrame } from "../../protocol/src/frame-codec.ts";
import type { Frame, JobHeader } from "../../protocol/src/frames.ts";
import { JobJoiner } from "../../protocol/src/job-splitting.ts";
import {
  gatewaySubject,
  nodeStateSubject,
  nodeSubject,
  STATE_REQUEST_SUBJECT,
} from "../../protocol/src/nats-subjects.ts";
import type { NodeLink } from "../world/network.ts";
import { makeSentence } from "../world/one-token-words.ts";
import type { World } from "../world/world.ts";
import type { AnswerScript, NodeKind, NodePlan } from "../world-plan.ts";
import { THINKING_MODEL, VECTOR_WIDTH } from "./catalogue.ts";
import { computeEmbedding } from "./embedding.ts";
import { type OutputPiece, splitIntoOutputPieces } from "./output-pieces.ts";

/** The node's own record of a job. */
export interface SimulatedJob {
  job: string;
  nodeId: string;
  offeredMs: number;
  accepted: boolean;
  /** All output that the node sent, in order: thinking, answer text, vectors. */
  thought: string;
  said: string;
  vectors: Float32Array[];
  /** Whether the output can be counted in words; false if it contains long runs of spaces. */
  isCountable: boolean;
  /** Whether the request asked for an output format. */
  isFormatted: boolean;
  /** Whether a client sent the request; false for the platform's own jobs. */
  isRequest: boolean;
  /** Whether the job was a canary (a question with a known answer). */
  isCanary: boolean;
  /**
   * The state when the node accepted the job: how many other requests it was running, and its standing in the database.
   */
  beside: number;
  standing: "trusted" | "on probation" | "barred";
  /** Whether the node caused the failure. */
  isAtFault: boolean;
  /**
   * Whether the node reported that its engine cannot take the prompt or its output format, which does not count as a
   * failure of the node.
   */
  refusedPrompt: boolean;
  /** When the node last accepted the job or sent output for it. */
  aliveMs: number;
  endedMs: number | null;
  end: "done" | "failed" | "broken" | "silent" | "dropped" | "cancelled" | "busy" | "running";
}

interface JobText {
  messages?: { content: string }[];
  prompt?: string;
  input?: string[];
  format?: object;
}

interface Running {
  header: JobHeader;
  body: JobText;
  facts: SimulatedJob;
  seq: number;
  acceptedMs: number;
  stop: () => void;
}

interface Knowing {
  /** Returns the script of a request, found by the 26 characters of the request's ID; undefined for other jobs. */
  scriptOf: (request: string) => AnswerScript | undefined;
  /** Returns the node's standing in the database. */
  standing: () => SimulatedJob["standing"];
}

const messagesOf = ({ messages, prompt }: JobText): { content: string }[] =>
  messages ?? (prompt === undefined ? [] : [{ content: prompt }]);

type Sendable = Exclude<Frame, { kind: "unknown" }>;

/** The script for probes (health checks), which have none of their own: a short answer. */
const PROBE: AnswerScript = { words: 12, thinkWords: 4, perDelta: 3, ttftMs: 30, everyMs: 40, fault: null };
const REPORT_EVERY_MS = 5_000;
const TOLD_MS = 60;
const EARLY = { accepts_early: true, draining: false };

export class SimNode {
  readonly id: string;
  readonly plan: NodePlan;
  readonly jobs = new Map<string, SimulatedJob>();
  readonly #world: World;
  readonly #link: NodeLink;
  readonly #running = new Map<string, Running>();
  readonly #joining = new Map<string, JobJoiner>();
  /** Jobs that the node accepted before their bodies arrived, with the time of acceptance. */
  readonly #early = new Map<string, number>();
  readonly #scriptOf: (request: string) => AnswerScript | undefined;
  readonly #standing: () => SimulatedJob["standing"];
  #isUp = false;
  #isTelling = false;

  constructor(world: World, id: string, plan: NodePlan, knows: Knowing) {
    this.#world = world;
    this.id = id;
    this.plan = plan;
    this.#scriptOf = knows.scriptOf;
    this.#standing = knows.standing;
    this.#link = world.network.node(id, {
      patterns: [nodeSubject(id), STATE_REQUEST_SUBJECT],
      receive: (subject, payload) =>
        subject === STATE_REQUEST_SUBJECT ? this.#tell() : this.#hear(decodeFrame(payload)),
      dropped: (by) => this.#dropped(by),
    });
    world.scheduler.every(REPORT_EVERY_MS, () => this.#tell());
  }

  /** Whether the node runs no client's request at the moment. */
  get isIdle(): boolean {
    return ![...this.#running.keys()].some((job) => this.#isRequest(job));
  }

  /** Returns whether a client sent the job's request; false for the platform's own jobs. */
  #isRequest(job: string): boolean {
    return this.#scriptOf(job.slice(0, 26)) !== undefined;
  }

  connect({ moved = false } = {}): void {
    if (this.#isUp || !this.#world.network.connectNode(this.id, { moved })) return;
    this.#isUp = true;
    this.#world.trace.add(this.id, "connects");
    this.#report();
  }

  /** Ends the node's process, which starts again after `downMs`. */
  crash(downMs: number): boolean {
    if (!this.#isUp) return false;
    this.#comeBackMs = downMs;
    this.#world.network.cutNode(this.id, "node");
    return true;
  }

  cut(how: "plane" | "moved", downMs: number): boolean {
    if (!this.#isUp) return false;
    this.#comeBackMs = downMs;
    this.#moves = how === "moved";
    this.#world.network.cutNode(this.id, "plane", { unnoticed: this.#moves });
    return true;
  }

  #comeBackMs = 1_000;
  #moves = false;

  #dropped(by: "node" | "plane"): void {
    this.#isUp = false;
    this.#world.trace.add(this.id, `loses its connection, by ${by}`);
    for (const running of [...this.#running.values()]) {
      if (by === "node") running.facts.isAtFault = true;
      this.#end(running, "dropped");
    }
    if (by === "node") this.#takeAlong();
    this.#joining.clear();
    this.#early.clear();
    const moved = this.#moves;
    this.#moves = false;
    this.#world.scheduler.after(this.#comeBackMs, () => this.connect({ moved }));
    this.#comeBackMs = 1_000;
  }

  /**
   * Marks the jobs that ended a moment ago as failed by the node: if their last frames are still in flight, they are
   * lost with the connection.
   */
  #takeAlong(): void {
    const { scheduler, network } = this.#world;
    for (const facts of this.jobs.values()) {
      if (facts.endedMs !== null && scheduler.nowMs - facts.endedMs <= network.delayMsMax) facts.isAtFault = true;
    }
  }

  /** Sends one state report after a short delay, however often the state changes meanwhile. */
  #tell(): void {
    if (this.#isTelling) return;
    this.#isTelling = true;
    this.#world.scheduler.after(TOLD_MS, () => {
      this.#isTelling = false;
      this.#report();
    });
  }

  #report(): void {
    if (!this.#isUp) return;
    const { slots, models } = this.plan;
    const busy = this.#running.size;
    const json_schema = this.plan.formats ? models : [];
    const state = { protocol: "1.3", agent: "simulated", slots, busy, models, json_schema, ...EARLY };
    this.#link.publish(nodeStateSubject(this.id), encodeFrame({ kind: "state", state }));
  }

  #hear(frame: Frame): void {
    if (!this.#isUp) return;
    if (frame.kind === "job") this.#consider(new JobJoiner(frame));
    else if (frame.kind === "piece") this.#joining.get(frame.job)?.add(frame);
    else if (frame.kind === "cancel") {
      this.#joining.delete(frame.job);
      this.#early.delete(frame.job);
      const running = this.#running.get(frame.job);
      if (running !== undefined) this.#end(running, "cancelled");
      return;
    } else return;
    const job = frame.kind === "job" ? frame.header.job : frame.job;
    const joiner = this.#joining.get(job);
    if (joiner?.complete !== true) return;
    this.#joining.delete(job);
    this.#offered(joiner.header, joiner.body() as JobText);
  }

  /** Reads an offered job. If the body comes in a later message, the node accepts the job before the body arrives. */
  #consider(joiner: JobJoiner): void {
    const { job, gateway } = joiner.header;
    if (!joiner.complete) {
      if (this.#isFull) {
        this.#say(gateway, { kind: "busy", job });
        return;
      }
      this.#early.set(job, this.#world.scheduler.nowMs);
      this.#say(gateway, { kind: "accepted", job });
    }
    this.#joining.set(job, joiner);
  }

  get #isFull(): boolean {
    return this.#running.size + this.#early.size >= this.plan.slots;
  }

  #offered(header: JobHeader, body: JobText): void {
    const { job } = header;
    const early = this.#early.get(job);
    this.#early.delete(job);
    const script = this.#scriptOf(job.slice(0, 26));
    const isKnown = header.endpoint === "embedding" || this.#world.answers.answerTo(messagesOf(body)) !== undefined;
    const facts: SimulatedJob = {
      job,
      nodeId: this.id,
      offeredMs: this.#world.scheduler.nowMs,
      accepted: false,
      thought: "",
      said: "",
      vectors: [],
      isCountable: this.plan.kind !== "white space",
      isFormatted: body.format !== undefined,
      isRequest: script !== undefined,
      isCanary: script === undefined && isKnown,
      beside: [...this.#running.keys()].filter((other) => this.#isRequest(other)).length,
      standing: this.#standing(),
      isAtFault: false,
      refusedPrompt: false,
      aliveMs: this.#world.scheduler.nowMs,
      endedMs: null,
      end: "running",
    };
    this.jobs.set(job, facts);
    const say = (frame: Sendable): void => this.#say(header.gateway, frame);
    if (early === undefined && this.#isFull) {
      facts.end = "busy";
      say({ kind: "busy", job });
      return;
    }
    const acceptedMs = early ?? this.#world.scheduler.nowMs;
    const running: Running = { header, body, facts, seq: 0, acceptedMs, stop: () => {} };
    this.#running.set(job, running);
    facts.accepted = true;
    if (early === undefined) say({ kind: "accepted", job });
    this.#tell();
    // All kinds of nodes answer the platform's own jobs honestly, except those that send empty output and those that
    // always send the same answer.
    const isHonest = script === undefined && this.plan.kind !== "empty" && this.plan.kind !== "constant";
    this.#begin(running, script ?? PROBE, isHonest ? "honest" : this.plan.kind);
  }

  #begin(running: Running, script: AnswerScript, kind: NodeKind): void {
    if (kind !== "honest" && kind !== "deaf") this.#world.faults["job failed"] += 1;
    if (kind === "silent") this.#after(running, 60_000, () => this.#end(running, "silent"));
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
  #embed(running: Running, script: AnswerScript, kind: NodeKind): void {
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
  #sendBadVectors(running: Running, vectors: Float32Array[]): void {
    running.facts.isAtFault = true;
    const turn = this.jobs.size % 4;
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
  #sayNothing(running: Running): void {
    this.#output(running, answer(""));
    this.#after(running, 1_500, () => this.#sayNothing(running));
  }

  #misbehave(running: Running, kind: NodeKind): void {
    const { job, gateway, endpoint } = running.header;
    const { seq } = running;
    const isEmbedding = endpoint === "embedding";
    running.facts.isAtFault = true;
    running.facts.refusedPrompt = kind === "failing" && running.facts.isFormatted;
    if (kind === "failing") this.#say(gateway, { kind: "failed", job, seq, cause: "engine", message: "" });
    else if (kind === "vectors" && isEmbedding) this.#output(running, answer(" river"), { counts: false });
    else if (kind === "vectors") this.#vectors(running, [computeEmbedding("x")], { counts: false });
    else if (kind === "accepts twice") this.#say(gateway, { kind: "accepted", job });
    else if (kind === "garbage") this.#raw(gateway, Buffer.from([1, 19, 1, 0, 255, 255, 255]));
    else {
      running.seq += kind === "gap" ? 3 : -1;
      if (isEmbedding) this.#vectors(running, [computeEmbedding("x")], { counts: false });
      else this.#output(running, answer(makeSentence(2, 1)), { counts: false });
    }
    this.#end(running, kind === "failing" ? "failed" : "broken");
  }

  #after(running: Running, ms: number, run: () => void): void {
    running.stop = this.#world.scheduler.after(ms, run);
  }

  /** Sends all output or vectors, and ends the job as the script defines. */
  #speak(running: Running, script: AnswerScript, vectors?: Float32Array[]): void {
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

  #words(running: Running, script: AnswerScript, wordsMax: number): (() => void)[] {
    const { model, sampling } = running.header;
    const known = running.facts.isCanary ? this.#world.answers.answerTo(messagesOf(running.body)) : undefined;
    if (known !== undefined) return [() => this.#output(running, answer(known))];
    const thinks = model !== THINKING_MODEL ? null : this.plan.host % 2 === 0 ? "by tags" : "by channel";
    const stop = this.plan.kind === "deaf" ? null : (sampling.stop?.[0] ?? null);
    return splitIntoOutputPieces(script, { thinks, stop, wordsMax }).map((piece) => () => this.#output(running, piece));
  }

  #rows(running: Running, vectors: Float32Array[], perFrame: number): (() => void)[] {
    const count = Math.ceil(vectors.length / perFrame);
    return Array.from({ length: count }, (_, i) => () => {
      this.#vectors(running, vectors.slice(i * perFrame, (i + 1) * perFrame));
    });
  }

  #strike(running: Running, kind: NonNullable<AnswerScript["fault"]>["kind"]): void {
    running.facts.isAtFault = true;
    this.#world.faults["job failed"] += 1;
    // A failed job with an output format counts as a refused prompt, because no engine supports every output format.
    running.facts.refusedPrompt = kind === "prompt" || (kind === "fail" && running.facts.isFormatted);
    const { job, gateway } = running.header;
    if (kind === "stall") running.stop = this.#world.scheduler.after(60_000, () => this.#end(running, "silent"));
    else if (kind === "drop") this.crash(500);
    else {
      const cause = kind === "prompt" ? "prompt" : "engine";
      this.#say(gateway, { kind: "failed", job, seq: running.seq, cause, message: "" });
      this.#end(running, "failed");
    }
  }

  #output(running: Running, { channel, text, thought, said }: OutputPiece, { counts = true } = {}): void {
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

  #vectors(running: Running, vectors: Float32Array[], { counts = true, width = VECTOR_WIDTH } = {}): void {
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

  #done(running: Running, end: "done" | "broken" = "done"): void {
    const { job, gateway } = running.header;
    this.#say(gateway, { kind: "done", job, seq: running.seq, finish: "stop" });
    this.#end(running, end);
  }

  #end(running: Running, end: SimulatedJob["end"]): void {
    running.stop();
    running.facts.end = end;
    running.facts.endedMs = this.#world.scheduler.nowMs;
    this.#running.delete(running.header.job);
    this.#tell();
  }

  #say(gateway: string, frame: Sendable): void {
    this.#raw(gateway, encodeFrame(frame));
  }

  #raw(gateway: string, bytes: Uint8Array): void {
    if (this.#isUp) this.#link.publish(gatewaySubject(gateway, this.id), bytes);
  }
}

const answer = (text: string): OutputPiece => ({ channel: "answer", text, thought: "", said: text });

/** The kinds of nodes that break the protocol or fail after some output. */
const BREAKS: NodeKind[] = ["failing", "gap", "twice", "garbage", "vectors", "accepts twice"];

/** Returns the script with 400 more words, so that the output exceeds the request's `max_tokens`. */
const overrunning = (script: AnswerScript): AnswerScript => ({ ...script, words: script.words + 400, fault: null });
