/**
 * Reads the frames (messages) that nodes send about their attempts, checks their order, and passes output to the
 * request's sink.
 */
import { decodeFrame, FrameError } from "@tollgate/protocol/frame-codec.ts";
import type { Delta, Frame, TimedDelta } from "@tollgate/protocol/frames.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { type RateLimitedLog, rateLimitedLog } from "../base/rate-limited-log.ts";
import type { AttemptBlame } from "./attempt-blame.ts";
import { hasEnded } from "./attempt-state-machine.ts";
import type { DispatchSink } from "./dispatch-request.ts";
import { computeIdleFrameCost, type FrameRates } from "./frame-rates.ts";
import { recordOutput, recordProgress } from "./node-silence.ts";
import { applyEvent, type RunningAttempt, type RunningAttempts } from "./running-attempt.ts";

interface AttemptFramesOptions {
  running: RunningAttempts;
  blame: AttemptBlame;
  rates: FrameRates;
  clock: Clock;
  log: Log;
  /** Called once a node accepts: sends it the rest of the job. */
  accepted: (attempt: RunningAttempt) => void;
}

export class AttemptFrames {
  readonly #options: AttemptFramesOptions;
  readonly #running: RunningAttempts;
  /** A rate-limited log, because a node could cause any number of lines. */
  readonly #log: RateLimitedLog;

  constructor(options: AttemptFramesOptions) {
    this.#options = options;
    this.#running = options.running;
    this.#log = rateLimitedLog(options.log, options.clock);
  }

  /** Handles a message that a node published to this gateway. */
  hear(nodeId: string | undefined, payload: Uint8Array): void {
    const { rates } = this.#options;
    if (nodeId === undefined || !rates.listensTo(nodeId)) return;
    try {
      const frame = decodeFrame(payload);
      const cost = computeIdleFrameCost(payload.length, "deltas" in frame ? frame.deltas.length : 0);
      if (this.#isIdle(nodeId, frame) && !rates.count(nodeId, "idle", cost)) return;
      this.#receive(nodeId, frame);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      // Logs the error's message without its cause, which could quote the node's frame.
      this.#log.warn(nodeId, { node: nodeId, why: error.message }, "node sent a malformed frame");
      for (const attempt of this.#about(nodeId, payload)) applyEvent(attempt, "broken");
      rates.count(nodeId, "malformed");
    }
  }

  /**
   * The attempts that a malformed frame concerns: the jobs that it names, or else the node's only job. If the node has
   * several jobs and the frame names none, it returns none. If the frame was output of one of them, that job's next
   * frame is out of order.
   */
  #about(nodeId: string, payload: Uint8Array): RunningAttempt[] {
    const attempts = this.#running.on(nodeId);
    const text = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString("latin1");
    return attempts.length === 1 ? attempts : attempts.filter(({ job }) => text.includes(job));
  }

  /** Whether the frame concerns no job that this node runs for this gateway. */
  #isIdle(nodeId: string, frame: Frame): boolean {
    if ("deltas" in frame) {
      return !frame.deltas.some(({ job, text }) => text !== "" && this.#running.find(nodeId, job) !== undefined);
    }
    return frame.kind === "progress" || !("job" in frame) || this.#running.find(nodeId, frame.job) === undefined;
  }

  #receive(nodeId: string, frame: Frame): void {
    if (frame.kind === "deltas" || frame.kind === "timed") {
      for (const delta of frame.deltas) this.#delta(nodeId, delta);
    } else if (frame.kind === "vectors") {
      const { job, seq, first, width, values } = frame;
      const attempt = this.#running.find(nodeId, job);
      if (attempt !== undefined && this.#inOrder(attempt, seq))
        this.#output(attempt, undefined, (sink) => sink.vectors(first, width, values));
    } else if (frame.kind === "scored") {
      const { job, seq, logprobs } = frame;
      const attempt = this.#running.find(nodeId, job);
      if (attempt !== undefined && this.#inOrder(attempt, seq))
        this.#output(attempt, undefined, (sink) => sink.scored?.(logprobs) ?? "broken");
    } else if ("job" in frame) {
      const attempt = this.#running.find(nodeId, frame.job);
      if (attempt !== undefined) this.#control(attempt, frame);
    }
  }

  #control(attempt: RunningAttempt, frame: Extract<Frame, { job: string }>): void {
    const now = this.#options.clock.monotonic();
    switch (frame.kind) {
      case "accepted":
        attempt.acceptedAt = now;
        attempt.aliveAt = now;
        if (attempt.state === "offered") {
          attempt.sink.begin(attempt.node.id);
          this.#options.accepted(attempt);
        }
        applyEvent(attempt, "accept");
        break;
      case "busy":
        applyEvent(attempt, "busy");
        break;
      case "progress":
        recordProgress(attempt, frame.fraction, now);
        applyEvent(attempt, "progress");
        break;
      case "done":
        attempt.finish = frame.finish;
        if (this.#inOrder(attempt, frame.seq)) this.#done(attempt);
        break;
      case "failed": {
        const { job, cause } = frame;
        const { id } = attempt.node;
        // Logs the cause only, because the node's message may quote a prompt.
        this.#log.info(id, { node: id, job, cause }, "node failed a job");
        if (this.#inOrder(attempt, frame.seq)) {
          // Engines do not accept every schema. If such failures counted against the node, builders could get nodes
          // quarantined by sending a schema.
          attempt.unbuilt = attempt.formatted && cause !== "agent" && attempt.firstOutputAt === null;
          if (!attempt.unbuilt) attempt.failure = attempt.formatted && cause === "engine" ? "prompt" : cause;
          applyEvent(attempt, "fail");
        }
        break;
      }
      default:
        // Frames of this kind are only sent by gateways.
        applyEvent(attempt, "broken");
    }
  }

  /** Handles a node's report that the job is done. The sink decides whether there was an answer. */
  #done(attempt: RunningAttempt): void {
    const output = attempt.state === "offered" ? "broken" : attempt.sink.finished();
    attempt.blank = output === "empty";
    applyEvent(attempt, output === "answered" ? "done" : output);
  }

  #delta(nodeId: string, delta: Delta | TimedDelta): void {
    const attempt = this.#running.find(nodeId, delta.job);
    if (attempt === undefined || !this.#inOrder(attempt, delta.seq)) return;
    // A delta without text counts neither as output nor as a sign of life.
    if (delta.text === "" && attempt.acceptedAt !== null) return;
    const times = "firstMs" in delta ? delta : undefined;
    this.#output(attempt, times, (sink) => sink.delta(delta.channel, delta.text));
  }

  #output(
    attempt: RunningAttempt,
    times: TimedDelta | undefined,
    take: (sink: DispatchSink) => ReturnType<DispatchSink["delta"]>,
  ): void {
    const now = this.#options.clock.monotonic();
    applyEvent(attempt, recordOutput(attempt, times, now));
    if (hasEnded(attempt.state)) return;
    attempt.aliveAt = now;
    if (attempt.firstOutputAt === null) {
      attempt.firstOutputAt = now;
      attempt.began();
    }
    attempt.lastOutputAt = now;
    const answer = take(attempt.sink);
    if (answer === "broken") applyEvent(attempt, "broken");
    if (answer === "enough") {
      attempt.enough = true;
      attempt.blank = attempt.sink.finished() === "empty";
      applyEvent(attempt, "cancel");
    }
  }

  #inOrder(attempt: RunningAttempt, seq: number): boolean {
    if (seq === attempt.seq) {
      attempt.seq += 1;
      return true;
    }
    const { node, job, seq: due } = attempt;
    this.#log.warn(
      node.id,
      { node: node.id, job, seq, due },
      "an output frame of the node has the wrong sequence number",
    );
    this.#options.blame.orCut(attempt, "broken");
    return false;
  }
}
