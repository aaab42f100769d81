/** Frames as a hostile node builds them: by hand, within the bounds or far beyond. Layout: protocol/src/codec.ts. */
import { PROTOCOL_MAJOR } from "@tollgate/protocol/version.ts";

export const KIND = { job: 1, accepted: 16, deltas: 19, vectors: 20, done: 21, failed: 22, state: 23 } as const;
const JOB_ID_BYTES = 29;
const DELTA_HEAD_BYTES = JOB_ID_BYTES + 9;
const CHANNELS = ["answer", "reasoning"];

export interface WireDelta {
  job: string;
  seq: number;
  text: string;
  channel?: "answer" | "reasoning";
}

export function deltasFrame(deltas: readonly WireDelta[]): Buffer {
  const texts = deltas.map(({ text }) => Buffer.from(text));
  const out = Buffer.alloc(texts.reduce((size, text) => size + DELTA_HEAD_BYTES + text.length, 4));
  out.set([PROTOCOL_MAJOR, KIND.deltas]);
  out.writeUInt16LE(deltas.length, 2);
  let at = 4;
  for (const [i, { job, seq, channel = "answer" }] of deltas.entries()) {
    const text = texts[i] as Buffer;
    out.write(job, at, "latin1");
    out.writeUInt32LE(seq, at + JOB_ID_BYTES);
    out[at + JOB_ID_BYTES + 4] = CHANNELS.indexOf(channel);
    out.writeUInt32LE(text.length, at + JOB_ID_BYTES + 5);
    out.set(text, at + DELTA_HEAD_BYTES);
    at += DELTA_HEAD_BYTES + text.length;
  }
  return out;
}

export function vectorsFrame(
  job: string,
  { seq, first, width, count }: { seq: number; first: number; width: number; count: number },
): Buffer {
  const head = Buffer.alloc(2 + JOB_ID_BYTES + 12);
  head.set([PROTOCOL_MAJOR, KIND.vectors]);
  head.write(job, 2, "latin1");
  head.writeUInt32LE(seq, 2 + JOB_ID_BYTES);
  head.writeUInt32LE(first, 6 + JOB_ID_BYTES);
  head.writeUInt32LE(width, 10 + JOB_ID_BYTES);
  const values = Float32Array.from({ length: width * count }, (_, i) => Math.sin(i + 1));
  return Buffer.concat([head, Buffer.from(values.buffer)]);
}

export function jsonFrame(kind: number, json: string): Buffer {
  return Buffer.concat([Buffer.from([PROTOCOL_MAJOR, kind]), Buffer.from(json)]);
}

export function jobFrame(header: string): Buffer {
  const bytes = Buffer.from(header);
  const head = Buffer.from([PROTOCOL_MAJOR, KIND.job, 0, 0]);
  head.writeUInt16LE(bytes.length, 2);
  return Buffer.concat([head, bytes]);
}
