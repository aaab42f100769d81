/**
 * Writes the frames of one job: numbers its output, adds each token's time if the gateway asks for it, limits frame
 * sizes, and sends nothing after `done`, `failed` or `discard`.
 */
import { encodeFrame } from "@tollgate/protocol/frame-codec.ts";
import {
  DELTA_TEXT_BYTES_MAX,
  FAILURE_MESSAGE_CHARS_MAX,
  FRAME_BYTES_MAX,
  PAUSE_IN_JOINED_DELTA_MS_MAX,
  SCORES_PER_FRAME_MAX,
  VECTOR_WIDTH_MAX,
  VECTORS_PER_FRAME_MAX,
} from "@tollgate/protocol/frame-limits.ts";
import type { FailedFrame, JobHeader, OutputChannel } from "@tollgate/protocol/frames.ts";
import type { Clock } from "../clock.ts";
import { EngineError, type FinishReason, type Logprobs } from "../engines/engine.ts";
import { FLUSH_DELAYS_MS, type FrameOutbox, type QueuedDelta } from "./frame-outbox.ts";

/** The bytes of a vectors frame besides its job ID and values; the layout is in the protocol's codec. */
const VECTORS_OVERHEAD_BYTES = 14;
/**
 * The maximum delay of vectors. Slow embeddings are sent as they come, because a gateway that receives nothing assumes
 * a stall.
 */
const VECTORS_WAIT_MS = 100;

export class JobWriter {
  readonly #outbox: FrameOutbox;
  readonly #clock: Clock;
  readonly #header: JobHeader;
  #seq = 0;
  #over = false;
  #last: QueuedDelta | undefined;
  /** When the job was accepted, in monotonic milliseconds. */
  #acceptedAt: number;
  /** When the job's latest text arrived, in monotonic milliseconds. */
  #textAt = Number.NEGATIVE_INFINITY;
  #vectors: Float32Array[] = [];
  #vectorsSent = 0;
  #cancelTimer: (() => void) | undefined;

  constructor(outbox: FrameOutbox, clock: Clock, header: JobHeader) {
    this.#outbox = outbox;
    this.#clock = clock;
    this.#header = header;
    this.#acceptedAt = clock.monotonic();
  }

  accepted(): void {
    this.#acceptedAt = this.#clock.monotonic();
    const { gateway, job } = this.#header;
    this.#outbox.begins(gateway, encodeFrame({ kind: "accepted", job }));
  }

  progress(fraction: number): void {
    // Gateways ignore progress reports once text arrives. Between vectors, the reports are the only proof that the
    // engine works.
    if (this.#over || (this.#seq > 0 && this.#header.endpoint !== "embedding")) return;
    this.#send(encodeFrame({ kind: "progress", job: this.#header.job, fraction: Math.min(1, Math.max(0, fraction)) }));
  }

  delta(channel: OutputChannel, text: string): void {
    if (this.#over) return;
    // Most texts fit into one frame. Comparing their byte length is cheaper than searching for a position to split at.
    const bytes = Buffer.byteLength(text);
    if (bytes === 0) return;
    if (bytes <= DELTA_TEXT_BYTES_MAX) this.#queue(channel, text, bytes);
    else for (const part of splitText(text, DELTA_TEXT_BYTES_MAX)) this.#queue(channel, part.text, part.bytes);
  }

  #queue(channel: OutputChannel, text: string, bytes: number): void {
    const { gateway, job, stream, times } = this.#header;
    const now = this.#clock.monotonic();
    const pauseMs = now - this.#textAt;
    this.#textAt = now;
    const atMs = Math.max(0, Math.floor(now - this.#acceptedAt));
    const last = this.#last;
    const joins = last !== undefined && !stream && !last.sent && last.delta.channel === channel;
    if (joins && pauseMs <= PAUSE_IN_JOINED_DELTA_MS_MAX && last.bytes + bytes <= DELTA_TEXT_BYTES_MAX) {
      if ("lastMs" in last.delta) last.delta.lastMs = atMs;
      this.#outbox.extend(gateway, last, text, bytes);
      return;
    }
    // The first output is never delayed, because the gateway measures a node's latency by it. Output after a pause is
    // not delayed either: otherwise the gateway would see a longer pause than there was, and might assume a stall.
    const gathers = this.#seq > 0 && (stream || pauseMs < FLUSH_DELAYS_MS.rarely);
    const delay = gathers ? (stream ? "step" : "rarely") : "turn";
    const delta = { job, seq: this.#seq++, channel, text };
    this.#last = { delta: times ? { ...delta, firstMs: atMs, lastMs: atMs } : delta, bytes, sent: false };
    this.#outbox.queue(gateway, this.#last, delay);
  }

  vector(values: Float32Array): void {
    if (this.#over) return;
    const width = this.#vectors[0]?.length ?? values.length;
    if (values.length !== width || width === 0 || width > VECTOR_WIDTH_MAX)
      throw new EngineError(
        "engine",
        `the engine's vectors must have equal lengths of 1 to ${VECTOR_WIDTH_MAX}, but one has ${values.length} values`,
      );
    if (!values.every(Number.isFinite))
      throw new EngineError("engine", "the engine returned a vector with values that are not finite");
    this.#vectors.push(values);
    const room = Math.floor((FRAME_BYTES_MAX - VECTORS_OVERHEAD_BYTES - this.#header.job.length) / (4 * width));
    if (this.#vectors.length >= Math.min(VECTORS_PER_FRAME_MAX, room)) this.#sendVectors();
    else this.#cancelTimer ??= this.#clock.after(VECTORS_WAIT_MS, () => this.#sendVectors());
  }

  #sendVectors(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const vectors = this.#vectors;
    const width = vectors[0]?.length;
    if (width === undefined) return;
    const values = new Float32Array(vectors.length * width);
    for (const [i, vector] of vectors.entries()) values.set(vector, i * width);
    const { job } = this.#header;
    this.#send(encodeFrame({ kind: "vectors", job, seq: this.#seq++, first: this.#vectorsSent, width, values }));
    this.#vectorsSent += vectors.length;
    this.#vectors = [];
  }

  /** Sends the log-probabilities that this node's engine gives to another node's answer. */
  scored(logprobs: Logprobs): void {
    if (this.#over) return;
    const { job } = this.#header;
    // Different engines agree on fewer than three decimals. Rounding keeps the frame within its limit.
    const rounded = logprobs
      .slice(0, SCORES_PER_FRAME_MAX)
      .map((value) => (value === null ? null : Math.min(0, Math.round(value * 1000) / 1000)));
    this.#send(encodeFrame({ kind: "scored", job, seq: this.#seq++, logprobs: rounded }));
  }

  done(finish: FinishReason): void {
    if (this.#over) return;
    this.#sendVectors();
    const { gateway, job } = this.#header;
    this.#outbox.ends(gateway, job, encodeFrame({ kind: "done", job, seq: this.#seq++, finish }));
    this.#over = true;
  }

  failed(cause: FailedFrame["cause"], message: string): void {
    if (this.#over) return;
    this.#sendVectors();
    const short = message.slice(0, FAILURE_MESSAGE_CHARS_MAX);
    this.#send(encodeFrame({ kind: "failed", job: this.#header.job, seq: this.#seq++, cause, message: short }));
    this.#over = true;
  }

  /** Drops the job's output: the gateway cancelled the job or has disconnected. */
  discard(): void {
    this.#over = true;
    this.#cancelTimer?.();
    this.#outbox.discard(this.#header.gateway, this.#header.job);
  }

  #send(bytes: Uint8Array): void {
    this.#outbox.send(this.#header.gateway, bytes);
  }
}

interface TextPart {
  text: string;
  bytes: number;
}

/** Splits text into parts of at most `bytesMax` UTF-8 bytes, never within a character. An empty text has no parts. */
export function* splitText(text: string, bytesMax: number): Generator<TextPart> {
  let rest = text;
  // A UTF-16 code unit needs at most three bytes in UTF-8.
  const unitsMax = Math.floor(bytesMax / 3);
  while (rest !== "") {
    const bytes = Buffer.byteLength(rest);
    if (bytes <= bytesMax) {
      yield { text: rest, bytes };
      return;
    }
    const pair = isHighSurrogate(rest.charCodeAt(unitsMax - 1));
    const part = rest.slice(0, pair ? unitsMax - 1 : unitsMax);
    yield { text: part, bytes: Buffer.byteLength(part) };
    rest = rest.slice(part.length);
  }
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
