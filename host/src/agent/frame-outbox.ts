/**
 * The agent's queue of messages to gateways. Deltas of all jobs for one gateway share a frame. A job's first output is
 * sent at the end of the event loop's turn, later output together with other jobs of the same engine step, and
 * unstreamed output less often. Output after a pause is sent at once, so queueing never lengthens a pause
 * (job-writer.ts). Acceptances and `done` are sent at the end of the turn with queued messages, in one write. Other
 * messages about jobs are sent at once.
 */
import { encodeFrame } from "@tollgate/protocol/frame-codec.ts";
import { DELTAS_FRAME_TEXT_BYTES_MAX, DELTAS_PER_FRAME_MAX } from "@tollgate/protocol/frame-limits.ts";
import type { Delta, Frame, TimedDelta } from "@tollgate/protocol/frames.ts";
import type { Clock } from "../clock.ts";
import { EventLoopTurnQueue } from "./event-loop-turn-queue.ts";

/**
 * The maximum wait of output in the queue. `turn`: until the end of the event loop's turn. `step`: for engines that run
 * several jobs in one step and emit their tokens within a few milliseconds. `rarely`: for clients that do not stream.
 */
export const FLUSH_DELAYS_MS = { turn: 0, step: 5, rarely: 200 };
type FlushDelay = keyof typeof FLUSH_DELAYS_MS;
/** A queue with more text than this is sent at once. */
const LANE_BYTES_MAX = 16 * 1024;

export interface QueuedDelta {
  delta: Delta | TimedDelta;
  /** UTF-8 bytes of the text. */
  bytes: number;
  /** Already sent, so no text can be added. */
  sent: boolean;
}

interface Lane {
  /** Acceptances, sent before any output. */
  begun: Uint8Array[];
  queue: QueuedDelta[];
  /** `done` frames, sent after all output. */
  ended: { job: string; bytes: Uint8Array }[];
  bytes: number;
  waitMs: number;
  cancelTimer: () => void;
}

type Publish = (gateway: string, bytes: Uint8Array) => void;

export class FrameOutbox {
  readonly #clock: Clock;
  readonly #publish: Publish;
  readonly #turnEnd: EventLoopTurnQueue;
  /** The queue per gateway. Gateways without queued messages have no entry. */
  readonly #lanes = new Map<string, Lane>();

  constructor(clock: Clock, publish: Publish, turnEnd = new EventLoopTurnQueue(clock)) {
    this.#clock = clock;
    this.#publish = publish;
    this.#turnEnd = turnEnd;
  }

  queue(gateway: string, entry: QueuedDelta, delay: FlushDelay): void {
    const lane = this.#lanes.get(gateway) ?? this.#newLane(gateway);
    lane.queue.push(entry);
    this.#plan(gateway, lane, FLUSH_DELAYS_MS[delay]);
    this.#grew(gateway, lane, entry.bytes);
  }

  /** Adds text to a delta that is still queued. */
  extend(gateway: string, entry: QueuedDelta, text: string, bytes: number): void {
    entry.delta.text += text;
    entry.bytes += bytes;
    const lane = this.#lanes.get(gateway);
    if (lane !== undefined) this.#grew(gateway, lane, bytes);
  }

  /** Queues an acceptance. It is sent at the end of the event loop's turn, before queued output. */
  begins(gateway: string, bytes: Uint8Array): void {
    const lane = this.#lanes.get(gateway) ?? this.#newLane(gateway);
    lane.begun.push(bytes);
    this.#plan(gateway, lane, FLUSH_DELAYS_MS.turn);
  }

  /** Queues a `done`. It is sent at the end of the event loop's turn, after queued output. */
  ends(gateway: string, job: string, bytes: Uint8Array): void {
    const lane = this.#lanes.get(gateway) ?? this.#newLane(gateway);
    lane.ended.push({ job, bytes });
    this.#plan(gateway, lane, FLUSH_DELAYS_MS.turn);
  }

  /** Sends a frame at once, after everything queued for that gateway. */
  send(gateway: string, bytes: Uint8Array): void {
    this.flush(gateway);
    this.#publish(gateway, bytes);
  }

  flush(gateway: string): void {
    const lane = this.#lanes.get(gateway);
    if (lane === undefined) return;
    lane.cancelTimer();
    this.#lanes.delete(gateway);
    for (const bytes of lane.begun) this.#publish(gateway, bytes);
    for (const frame of cutFrames(lane.queue)) this.#publish(gateway, encodeFrame(frame));
    for (const { bytes } of lane.ended) this.#publish(gateway, bytes);
  }

  /** Sends everything now, because the agent is about to exit. */
  flushAll(): void {
    for (const gateway of [...this.#lanes.keys()]) this.flush(gateway);
  }

  /** Drops the queued output of a job, but not its acceptance. */
  discard(gateway: string, job: string): void {
    const lane = this.#lanes.get(gateway);
    if (lane === undefined) return;
    lane.queue = lane.queue.filter((entry) => entry.delta.job !== job);
    lane.ended = lane.ended.filter((end) => end.job !== job);
    lane.bytes = lane.queue.reduce((sum, entry) => sum + entry.bytes, 0);
  }

  #newLane(gateway: string): Lane {
    const waitMs = Number.POSITIVE_INFINITY;
    const lane: Lane = { begun: [], queue: [], ended: [], bytes: 0, waitMs, cancelTimer: () => {} };
    this.#lanes.set(gateway, lane);
    return lane;
  }

  /** Schedules the sending of a gateway's queue. The message with the shortest wait decides for the whole queue. */
  #plan(gateway: string, lane: Lane, waitMs: number): void {
    if (waitMs >= lane.waitMs) return;
    lane.waitMs = waitMs;
    lane.cancelTimer();
    const flush = (): void => {
      if (this.#lanes.get(gateway) === lane) this.flush(gateway);
    };
    if (waitMs > 0) lane.cancelTimer = this.#clock.after(waitMs, flush);
    else this.#turnEnd.add(flush);
  }

  #grew(gateway: string, lane: Lane, bytes: number): void {
    lane.bytes += bytes;
    if (lane.bytes > LANE_BYTES_MAX) this.flush(gateway);
  }
}

type DeltaFrame = Extract<Frame, { kind: "deltas" | "timed" }>;

/**
 * Limits on entries and on text keep a frame far below its maximum size. Deltas with and without times need separate
 * frames, but a gateway wants times for all its jobs or for none, so mixed queues are rare.
 */
function* cutFrames(queue: readonly QueuedDelta[]): Generator<DeltaFrame> {
  let frame: DeltaFrame | undefined;
  let textBytes = 0;
  for (const entry of queue) {
    const kind = "firstMs" in entry.delta ? "timed" : "deltas";
    const full = frame?.deltas.length === DELTAS_PER_FRAME_MAX || textBytes + entry.bytes > DELTAS_FRAME_TEXT_BYTES_MAX;
    if (frame === undefined || full || frame.kind !== kind) {
      if (frame !== undefined) yield frame;
      frame = { kind, deltas: [] } as DeltaFrame;
      textBytes = 0;
    }
    entry.sent = true;
    (frame.deltas as Delta[]).push(entry.delta);
    textBytes += entry.bytes;
  }
  if (frame !== undefined) yield frame;
}
