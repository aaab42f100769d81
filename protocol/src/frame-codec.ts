/**
 * Encodes and decodes frames. Byte 0 is the protocol's major version, byte 1 the kind of frame, and the rest depends on
 * the kind. Integers are little-endian. `decode` trusts nothing: it checks lengths, requires valid UTF-8, and matches
 * JSON against its schema. It throws only `FrameError`, which names a position and a kind of mistake. Errors never
 * quote the frame, because they are logged and a frame may contain a prompt.
 */
import type { z } from "zod";
import {
  CONTROL_FRAME_BYTES_MAX,
  DELTAS_FRAME_TEXT_BYTES_MAX,
  DELTAS_PER_FRAME_MAX,
  FRAME_BYTES_MAX,
  JOB_PIECES_MAX,
  SCORED_FRAME_BYTES_MAX,
  STATE_FRAME_BYTES_MAX,
  VECTOR_WIDTH_MAX,
  VECTORS_PER_FRAME_MAX,
} from "./frame-limits.ts";
import {
  AcceptedFrame,
  BusyFrame,
  CancelFrame,
  type Delta,
  DoneFrame,
  FailedFrame,
  type Frame,
  JOB_ID_PATTERN,
  JobHeader,
  NodeState,
  ProgressFrame,
  ScoredFrame,
  type TimedDelta,
} from "./frames.ts";
import { PROTOCOL_MAJOR } from "./version.ts";

export class FrameError extends Error {
  override name = "FrameError";
}

const KIND = {
  job: 1,
  piece: 2,
  cancel: 3,
  accepted: 16,
  busy: 17,
  progress: 18,
  deltas: 19,
  vectors: 20,
  done: 21,
  failed: 22,
  state: 23,
  timed: 24,
  scored: 25,
} as const;

/** The size limits of kinds that have a smaller limit than other frames. */
const BYTES_MAX: Record<number, number> = {
  [KIND.cancel]: CONTROL_FRAME_BYTES_MAX,
  [KIND.accepted]: CONTROL_FRAME_BYTES_MAX,
  [KIND.busy]: CONTROL_FRAME_BYTES_MAX,
  [KIND.progress]: CONTROL_FRAME_BYTES_MAX,
  [KIND.done]: CONTROL_FRAME_BYTES_MAX,
  [KIND.failed]: CONTROL_FRAME_BYTES_MAX,
  [KIND.scored]: SCORED_FRAME_BYTES_MAX,
  [KIND.state]: STATE_FRAME_BYTES_MAX,
};

const JOB_ID_BYTES = 29;
const TIMES_BYTES = 8;
const CHANNELS = ["answer", "reasoning"] as const;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

type JobFrame = Extract<Frame, { kind: "job" } | { kind: "piece" }>;

export function encodeFrame(frame: Exclude<Frame, { kind: "unknown" }>): Buffer {
  const bytes = encodeKind(frame);
  checkSize(frame.kind, bytes.length);
  return bytes;
}

/** Encodes a frame in two parts, so that a large piece does not have to be copied. */
export function encodeJobInParts(frame: JobFrame): [head: Buffer, piece: Uint8Array] {
  const head = headOf(frame, 0);
  checkSize(frame.kind, head.length + frame.piece.length);
  return [head, frame.piece];
}

function checkSize(kind: keyof typeof KIND, bytes: number): void {
  const bytesMax = BYTES_MAX[KIND[kind]] ?? FRAME_BYTES_MAX;
  if (bytes > bytesMax) throw new FrameError(`a ${kind} frame of ${bytes} bytes exceeds the limit of ${bytesMax}`);
}

function encodeKind(frame: Exclude<Frame, { kind: "unknown" }>): Buffer {
  switch (frame.kind) {
    case "job":
    case "piece": {
      const out = headOf(frame, frame.piece.length);
      out.set(frame.piece, out.length - frame.piece.length);
      return out;
    }
    case "deltas":
      return encodeDeltas(KIND.deltas, frame.deltas);
    case "timed":
      return encodeDeltas(KIND.timed, frame.deltas);
    case "vectors": {
      const head = 2 + JOB_ID_BYTES + 12;
      const out = Buffer.allocUnsafe(head + frame.values.length * 4);
      out[0] = PROTOCOL_MAJOR;
      out[1] = KIND.vectors;
      writeJobId(out, frame.job, 2);
      out.writeUInt32LE(frame.seq, 2 + JOB_ID_BYTES);
      out.writeUInt32LE(frame.first, 6 + JOB_ID_BYTES);
      out.writeUInt32LE(frame.width, 10 + JOB_ID_BYTES);
      for (let i = 0; i < frame.values.length; i++) out.writeFloatLE(frame.values[i] as number, head + 4 * i);
      return out;
    }
    case "state":
      return encodeJson(KIND.state, frame.state);
    default: {
      const { kind, ...body } = frame;
      return encodeJson(KIND[kind], body);
    }
  }
}

/** The bytes before a job's piece, with `room` free bytes after them. */
function headOf(frame: JobFrame, room: number): Buffer {
  if (frame.kind === "job") {
    const header = Buffer.from(JSON.stringify(frame.header));
    const out = Buffer.allocUnsafe(4 + header.length + room);
    out[0] = PROTOCOL_MAJOR;
    out[1] = KIND.job;
    out.writeUInt16LE(header.length, 2);
    out.set(header, 4);
    return out;
  }
  const out = Buffer.allocUnsafe(2 + JOB_ID_BYTES + 2 + room);
  out[0] = PROTOCOL_MAJOR;
  out[1] = KIND.piece;
  writeJobId(out, frame.job, 2);
  out.writeUInt16LE(frame.index, 2 + JOB_ID_BYTES);
  return out;
}

function encodeJson(kind: number, body: object): Buffer {
  const json = JSON.stringify(body);
  const out = Buffer.allocUnsafe(2 + Buffer.byteLength(json));
  out[0] = PROTOCOL_MAJOR;
  out[1] = kind;
  out.write(json, 2, "utf8");
  return out;
}

/**
 * Each delta consists of job ID, sequence number, channel, two times (timed deltas only), the text's length, and the
 * text.
 */
function encodeDeltas(kind: number, deltas: (Delta | TimedDelta)[]): Buffer {
  const times = kind === KIND.timed ? TIMES_BYTES : 0;
  const head = JOB_ID_BYTES + 4 + 1 + times + 4;
  let size = 4;
  const lengths: number[] = [];
  for (const delta of deltas) {
    const length = Buffer.byteLength(delta.text);
    lengths.push(length);
    size += head + length;
  }
  const out = Buffer.allocUnsafe(size);
  out[0] = PROTOCOL_MAJOR;
  out[1] = kind;
  out.writeUInt16LE(deltas.length, 2);
  let at = 4;
  for (const [i, delta] of deltas.entries()) {
    writeJobId(out, delta.job, at);
    out.writeUInt32LE(delta.seq, at + JOB_ID_BYTES);
    out[at + JOB_ID_BYTES + 4] = CHANNELS.indexOf(delta.channel);
    if ("firstMs" in delta && times > 0) {
      out.writeUInt32LE(delta.firstMs, at + JOB_ID_BYTES + 5);
      out.writeUInt32LE(delta.lastMs, at + JOB_ID_BYTES + 9);
    }
    out.writeUInt32LE(lengths[i] as number, at + head - 4);
    out.write(delta.text, at + head, "utf8");
    at += head + (lengths[i] as number);
  }
  return out;
}

function writeJobId(out: Buffer, job: string, at: number): void {
  if (out.write(job, at, "latin1") !== JOB_ID_BYTES)
    throw new FrameError(`job id ${job} is not ${JOB_ID_BYTES} characters long`);
}

export function decodeFrame(bytes: Uint8Array): Frame {
  const buf = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (buf.length < 2) throw new FrameError("a frame must have at least two bytes");
  const bytesMax = BYTES_MAX[buf[1] as number] ?? FRAME_BYTES_MAX;
  if (buf.length > bytesMax) throw new FrameError(`a frame of ${buf.length} bytes exceeds the limit of ${bytesMax}`);
  if (buf[0] !== PROTOCOL_MAJOR)
    throw new FrameError(`protocol version ${buf[0]} is not supported, only version ${PROTOCOL_MAJOR}`);
  switch (buf[1]) {
    case KIND.job: {
      const reader = new Reader(buf);
      const header = parse(JobHeader, reader.bytes(reader.u16()));
      return { kind: "job", header, piece: reader.rest() };
    }
    case KIND.piece: {
      const reader = new Reader(buf);
      const job = reader.jobId();
      const index = reader.u16();
      if (index === 0 || index >= JOB_PIECES_MAX)
        throw new FrameError(`piece number ${index} of a job is out of range`);
      return { kind: "piece", job, index, piece: reader.rest() };
    }
    case KIND.cancel:
      return { kind: "cancel", ...parse(CancelFrame, buf.subarray(2)) };
    case KIND.accepted:
      return { kind: "accepted", ...parse(AcceptedFrame, buf.subarray(2)) };
    case KIND.busy:
      return { kind: "busy", ...parse(BusyFrame, buf.subarray(2)) };
    case KIND.progress:
      return { kind: "progress", ...parse(ProgressFrame, buf.subarray(2)) };
    case KIND.deltas:
      return { kind: "deltas", deltas: decodeDeltas(new Reader(buf), false) };
    case KIND.timed:
      return { kind: "timed", deltas: decodeDeltas(new Reader(buf), true) };
    case KIND.vectors:
      return decodeVectors(new Reader(buf));
    case KIND.done:
      return { kind: "done", ...parse(DoneFrame, buf.subarray(2)) };
    case KIND.failed:
      return { kind: "failed", ...parse(FailedFrame, buf.subarray(2)) };
    case KIND.scored:
      return { kind: "scored", ...parse(ScoredFrame, buf.subarray(2)) };
    case KIND.state:
      return { kind: "state", state: parse(NodeState, buf.subarray(2)) };
    default:
      return { kind: "unknown", code: buf[1] as number };
  }
}

function decodeDeltas(reader: Reader, timed: false): Delta[];
function decodeDeltas(reader: Reader, timed: true): TimedDelta[];
function decodeDeltas(reader: Reader, timed: boolean): Delta[] {
  const count = reader.u16();
  if (count === 0 || count > DELTAS_PER_FRAME_MAX)
    throw new FrameError(`the frame has ${count} deltas; it must have 1 to ${DELTAS_PER_FRAME_MAX}`);
  const deltas: (Delta | TimedDelta)[] = [];
  let textBytes = 0;
  for (let i = 0; i < count; i++) {
    const job = reader.jobId();
    const seq = reader.u32();
    const channel = CHANNELS[reader.u8()];
    if (channel === undefined) throw new FrameError("unknown channel");
    const firstMs = timed ? reader.u32() : 0;
    const lastMs = timed ? reader.u32() : 0;
    if (lastMs < firstMs) throw new FrameError("a delta's last timestamp is before its first");
    const length = reader.u32();
    textBytes += length;
    if (textBytes > DELTAS_FRAME_TEXT_BYTES_MAX)
      throw new FrameError(`the deltas have ${textBytes} bytes of text; the limit is ${DELTAS_FRAME_TEXT_BYTES_MAX}`);
    const words = text(reader.bytes(length));
    deltas.push(timed ? { job, seq, channel, text: words, firstMs, lastMs } : { job, seq, channel, text: words });
  }
  reader.end();
  return deltas;
}

function decodeVectors(reader: Reader): Frame {
  const job = reader.jobId();
  const seq = reader.u32();
  const first = reader.u32();
  const width = reader.u32();
  if (width === 0 || width > VECTOR_WIDTH_MAX) throw new FrameError(`vectors of width ${width}`);
  const raw = reader.rest();
  const count = raw.length / 4 / width;
  if (!Number.isInteger(count) || count === 0 || count > VECTORS_PER_FRAME_MAX)
    throw new FrameError(
      `${raw.length} bytes are not 1 to ${VECTORS_PER_FRAME_MAX} embedding vectors of width ${width}`,
    );
  const values = new Float32Array(count * width);
  const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
  for (let i = 0; i < values.length; i++) {
    const value = view.getFloat32(4 * i, true);
    if (!Number.isFinite(value)) throw new FrameError("an embedding vector has a value that is not a finite number");
    values[i] = value;
  }
  return { kind: "vectors", job, seq, first, width, values };
}

class Reader {
  readonly #buf: Buffer;
  /** The position after the version and the kind. */
  #at = 2;
  constructor(buf: Buffer) {
    this.#buf = buf;
  }
  #take(bytes: number): number {
    const at = this.#at;
    if (at + bytes > this.#buf.length) throw new FrameError("the frame ends too early");
    this.#at += bytes;
    return at;
  }
  u8(): number {
    return this.#buf[this.#take(1)] as number;
  }
  u16(): number {
    return this.#buf.readUInt16LE(this.#take(2));
  }
  u32(): number {
    return this.#buf.readUInt32LE(this.#take(4));
  }
  bytes(length: number): Buffer {
    const at = this.#take(length);
    return this.#buf.subarray(at, at + length);
  }
  jobId(): string {
    const at = this.#take(JOB_ID_BYTES);
    const job = this.#buf.toString("latin1", at, at + JOB_ID_BYTES);
    if (!JOB_ID_PATTERN.test(job)) throw new FrameError("malformed job id");
    return job;
  }
  rest(): Buffer {
    return this.bytes(this.#buf.length - this.#at);
  }
  end(): void {
    if (this.#at !== this.#buf.length) throw new FrameError("the frame has extra bytes after its last field");
  }
}

function text(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new FrameError("text is not valid UTF-8");
  }
}

function parse<T extends z.ZodType>(schema: T, bytes: Uint8Array): z.infer<T> {
  let json: unknown;
  try {
    json = JSON.parse(text(bytes));
  } catch (error) {
    if (error instanceof FrameError) throw error;
    throw new FrameError("the frame is not JSON");
  }
  const result = schema.safeParse(json);
  if (!result.success) {
    const [issue] = result.error.issues;
    throw new FrameError(`the frame does not match its schema: ${issue?.path.join(".") || "its root"}, ${issue?.code}`);
  }
  return result.data;
}
