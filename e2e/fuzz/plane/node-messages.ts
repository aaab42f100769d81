/**
 * Generates the frames of a run. Frame `index` depends only on the seed, its index and the node's situation (its
 * offered jobs and those of other nodes). Some frames are valid, so that jobs begin, progress and end. The others are
 * wrong in all possible ways.
 */

import type { UnfinishedJob } from "@tollgate/stage/nodes/raw-node.ts";
import { encodeFrame } from "../../../protocol/src/frame-codec.ts";
import type { Frame, OutputChannel } from "../../../protocol/src/frames.ts";
import { RawJson } from "../raw-json.ts";
import type { SeededChoices } from "../seeded-choices.ts";
import { drawRandomValue, drawTrickyText } from "../tricky-values.ts";

/** This word is in all output sent for other nodes' jobs. No client may ever receive it. */
export const FOREIGN_OUTPUT_WORD = "evil";

export interface NodeSituation {
  node: string;
  gateway: string;
  /** The node's jobs, oldest first. A function that advances a job updates it here. */
  jobs: UnfinishedJob[];
  /** Jobs of other nodes that are in flight. */
  foreign: readonly UnfinishedJob[];
  models: readonly string[];
}

export interface Message {
  kind: string;
  subject: string;
  payload: Uint8Array;
}

type Sendable = Exclude<Frame, { kind: "unknown" }>;
type Recipe = (random: SeededChoices, situation: NodeSituation) => Omit<Message, "kind">;

const RECIPES: { kind: string; weight: number; make: Recipe }[] = [
  { kind: "right", weight: 30, make: (random, here) => toGateway(here, rightStep(random, here)) },
  { kind: "right, several at once", weight: 4, make: (random, here) => toGateway(here, severalDeltas(random, here)) },
  {
    kind: "right, out of order",
    weight: 6,
    make: (random, here) => toGateway(here, anyStep(random, own(random, here))),
  },
  { kind: "wrong seq", weight: 3, make: (random, here) => toGateway(here, wrongSeq(random, own(random, here))) },
  {
    kind: "another node's job",
    weight: 8,
    make: (random, here) => toGateway(here, anyStep(random, foreign(random, here))),
  },
  { kind: "unknown job", weight: 6, make: (random, here) => toGateway(here, anyStep(random, unknown(random))) },
  {
    kind: "state",
    weight: 4,
    make: (random, here) => state(here, encodeFrame({ kind: "state", state: anyState(random, here) })),
  },
  { kind: "state, sane", weight: 2, make: (_random, here) => state(here, saneState(here)) },
  { kind: "state, damaged", weight: 5, make: (random, here) => state(here, damage(random, saneState(here))) },
  { kind: "state, any JSON", weight: 4, make: (random, here) => state(here, anyJson(random, 23)) },
  { kind: "damaged", weight: 12, make: (random, here) => toGateway(here, damage(random, bytesOf(random, here))) },
  { kind: "any JSON", weight: 5, make: (random, here) => toGateway(here, anyJson(random, random.pick(JSON_KINDS))) },
  { kind: "any kind", weight: 3, make: (random, here) => toGateway(here, anyKind(random)) },
  { kind: "noise", weight: 4, make: (random, here) => toGateway(here, random.bytes(random.between(0, 300))) },
  { kind: "gateway's own kinds", weight: 2, make: (random, here) => toGateway(here, gatewaysOwn(random, here)) },
  { kind: "vectors", weight: 2, make: (random, here) => toGateway(here, vectors(random, anyJob(random, here))) },
  { kind: "deep JSON", weight: 0.3, make: (random, here) => toGateway(here, deepJson(random)) },
  { kind: "huge", weight: 0.05, make: (random, here) => toGateway(here, huge(random, here)) },
];

const JSON_KINDS = [3, 16, 17, 18, 21, 22, 23];

/**
 * The kinds of well-formed frames. Half of the nodes send only these: a malformed frame would end all of a node's jobs,
 * so that other mistakes could not be tested on jobs in progress.
 */
const READABLE = [
  ...RECIPES.filter(({ kind }) => /^right|seq|job$|sane/.test(kind)),
  ...RECIPES.filter(({ kind }) => kind === "right").map((recipe) => ({ ...recipe, weight: 120 })),
];

export function makeMessage(random: SeededChoices, situation: NodeSituation, frames: "any" | "readable"): Message {
  const { kind, make } = random.weighted(frames === "readable" ? READABLE : RECIPES);
  return { kind, ...make(random, situation) };
}

function toGateway({ gateway, node }: NodeSituation, frame: Uint8Array | Sendable): Omit<Message, "kind"> {
  const payload = frame instanceof Uint8Array ? frame : encodeFrame(frame);
  return { subject: `tg.g.${gateway}.${node}`, payload };
}

const state = ({ node }: NodeSituation, payload: Uint8Array): Omit<Message, "kind"> => ({
  subject: `tg.s.${node}`,
  payload,
});

/** The next frame that an honest node would send for one of its jobs. */
function rightStep(random: SeededChoices, { jobs }: NodeSituation): Sendable {
  const open = jobs[random.between(0, Math.min(3, Math.max(0, jobs.length - 1)))];
  if (open === undefined) return { kind: "busy", job: unknown(random).job };
  if (!open.accepted) {
    open.accepted = true;
    return { kind: "accepted", job: open.job };
  }
  if (open.seq > 0 && random.chance(0.1)) return done(jobs, open);
  if (open.embedding) return { kind: "vectors", job: open.job, seq: open.seq++, first: 0, width: 1024, values: unit() };
  return { kind: "deltas", deltas: [deltaOf(random, open)] };
}

function done(jobs: UnfinishedJob[], open: UnfinishedJob): Sendable {
  jobs.splice(jobs.indexOf(open), 1);
  return { kind: "done", job: open.job, seq: open.seq, finish: "stop" };
}

const channelOf = (random: SeededChoices): OutputChannel => (random.chance(0.1) ? "reasoning" : "answer");

/**
 * Output that begins with its request's ID (the first 26 characters of the job's ID), so that the fuzz checks notice
 * when a client receives the output of another request.
 */
function deltaOf(random: SeededChoices, open: UnfinishedJob) {
  const text = `[${open.job.slice(0, 26)}]${random.chance(0.2) ? drawTrickyText(random).toWellFormed() : ""}`;
  return { job: open.job, seq: open.seq++, channel: channelOf(random), text };
}

function severalDeltas(random: SeededChoices, here: NodeSituation): Sendable {
  const open = here.jobs.filter(({ accepted, embedding }) => accepted && !embedding);
  if (open.length === 0) return rightStep(random, here);
  return { kind: "deltas", deltas: random.times(1, 30, () => deltaOf(random, random.pick(open))) };
}

/** A frame about a job, whatever the job's state. */
function anyStep(random: SeededChoices, { job, text, seq: due }: AimedAt): Sendable {
  const seq = due !== undefined && random.chance(0.7) ? due : random.between(0, 5);
  const makers: (() => Sendable)[] = [
    () => ({ kind: "accepted", job }),
    () => ({ kind: "busy", job }),
    () => ({ kind: "progress", job, fraction: random.next() }),
    () => ({ kind: "deltas", deltas: random.times(1, 4, (i) => ({ job, seq: seq + i, channel: "answer", text })) }),
    () => ({ kind: "done", job, seq, finish: random.pick(["stop", "length"]) }),
    () => ({
      kind: "failed",
      job,
      seq,
      cause: random.pick(["engine", "prompt", "agent"]),
      message: text.slice(0, 400),
    }),
    () => ({ kind: "vectors", job, seq, first: random.between(0, 3), width: 4, values: new Float32Array(8).fill(0.5) }),
  ];
  return random.pick(makers)();
}

function wrongSeq(random: SeededChoices, { job, text }: AimedAt): Sendable {
  const seq = random.pick([1, 2, 7, 1000, 2 ** 31 - 1, 2 ** 32 - 1]);
  return { kind: "deltas", deltas: [{ job, seq, channel: "answer", text }] };
}

interface AimedAt {
  job: string;
  text: string;
  /** The sequence number of the job's next output. */
  seq?: number;
}

function own(random: SeededChoices, { jobs }: NodeSituation): AimedAt {
  if (jobs.length === 0) return unknown(random);
  const { job } = random.pick(jobs);
  return { job, text: `[${job.slice(0, 26)}]` };
}

/**
 * Returns another node's job, mostly one in flight, with the correct next sequence number, so that only the sender is
 * wrong.
 */
function foreign(random: SeededChoices, { foreign: jobs }: NodeSituation): AimedAt {
  const running = jobs.filter(({ accepted }) => accepted);
  const from = running.length > 0 && random.chance(0.8) ? running : jobs;
  if (from.length === 0) return unknown(random);
  const { job, seq } = random.pick(from);
  return { job, text: FOREIGN_OUTPUT_WORD, seq };
}

const unknown = (random: SeededChoices): AimedAt => ({
  job: `${random.word(26)}-${random.word(2, "0123456789")}`,
  text: FOREIGN_OUTPUT_WORD,
});

const anyJob = (random: SeededChoices, here: NodeSituation): AimedAt =>
  random.pick([own, foreign, unknown])(random, here);

function anyState(random: SeededChoices, { models }: NodeSituation) {
  const many = random.times(0, random.pick([2, 250]), () => random.word(random.between(1, 40)));
  return {
    protocol: random.pick(["1.0", "1.1", "1.2", "1.999"]),
    agent: drawTrickyText(random).slice(0, 60).toWellFormed(),
    slots: random.pick([0, 1, 4, 8, 4096]),
    busy: random.pick([0, 0, 1, 4096]),
    models: [...models, ...many],
    draining: random.chance(0.1),
  };
}

const saneState = ({ models }: NodeSituation): Buffer =>
  encodeFrame({
    kind: "state",
    state: { protocol: "1.0", agent: "fuzz", slots: 8, busy: 0, models: [...models], draining: false },
  });

/** Returns the bytes of a frame whose text contains no job ID: a damaged ID could look like that of another job. */
function bytesOf(random: SeededChoices, here: NodeSituation): Buffer {
  const { job, text } = anyJob(random, here);
  return encodeFrame(anyStep(random, { job, text: text === FOREIGN_OUTPUT_WORD ? FOREIGN_OUTPUT_WORD : "x" }));
}

/** Changes, cuts, inserts or repeats bytes of a valid frame. */
function damage(random: SeededChoices, bytes: Buffer): Buffer {
  let damaged: Buffer = Buffer.from(bytes);
  for (let left = random.pick([1, 1, 2, 5]); left > 0; left--) {
    const at = random.between(0, Math.max(0, damaged.length - 1));
    const put = (more: Uint8Array): Buffer => Buffer.concat([damaged.subarray(0, at), more, damaged.subarray(at)]);
    const makers: (() => Buffer)[] = [
      () => Buffer.from(damaged.map((byte, i) => (i === at ? byte ^ (1 << random.between(0, 7)) : byte))),
      () => Buffer.from(damaged.map((byte, i) => (i === at ? random.between(0, 255) : byte))),
      () => damaged.subarray(0, at),
      () => put(random.bytes(random.between(1, 8))),
      () => put(Buffer.of(0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80)),
      () => Buffer.concat([damaged, damaged.subarray(at)]),
      () => Buffer.concat([damaged.subarray(0, 2), Buffer.of(0xff, 0xff, 0xff, 0xff), damaged.subarray(2)]),
    ];
    damaged = random.pick(makers)();
  }
  return damaged;
}

function anyJson(random: SeededChoices, kind: number): Buffer {
  const value = JSON.stringify(drawRandomValue(random), (_key, held) =>
    held instanceof RawJson ? Number(held.text) : held,
  );
  return Buffer.concat([Buffer.of(1, kind), Buffer.from(value ?? "")]);
}

const anyKind = (random: SeededChoices): Buffer =>
  Buffer.concat([
    Buffer.of(random.pick([0, 1, 1, 1, 2, 255]), random.between(0, 255)),
    random.bytes(random.between(0, 80)),
  ]);

function gatewaysOwn(random: SeededChoices, here: NodeSituation): Sendable {
  const { job } = anyJob(random, here);
  const piece = random.bytes(random.between(0, 200));
  if (random.chance(0.5)) return { kind: "cancel", job };
  if (random.chance(0.5)) return { kind: "piece", job, index: random.between(0, 47), piece };
  const header = { job, gateway: here.gateway, model: "tiny-3b", endpoint: "chat" as const, stream: true };
  const sizes = { output_tokens_max: 9, sampling: {}, body_bytes: 2 + piece.length, pieces: 1 };
  return { kind: "job", header: { ...header, ...sizes }, piece };
}

function vectors(random: SeededChoices, { job }: AimedAt): Buffer {
  const width = random.pick([1, 4, 1024]);
  const values = new Float32Array(width * random.between(1, 4)).fill(0.25);
  const bytes = encodeFrame({
    kind: "vectors",
    job,
    seq: random.between(0, 2),
    first: random.pick([0, 1, 2 ** 31]),
    width,
    values,
  });
  if (random.chance(0.3)) bytes.writeUInt32LE(random.pick([0x7fc00000, 0x7f800000, 0xff800000]), bytes.length - 4);
  if (random.chance(0.2)) bytes.writeUInt32LE(random.pick([0, 3, 8193, 2 ** 32 - 1]), 2 + 29 + 8);
  return bytes;
}

const unit = (): Float32Array => new Float32Array(1024).fill(1 / 32);

function deepJson(random: SeededChoices): Buffer {
  const depth = random.pick([100, 10_000, 60_000]);
  const text = random.pick(["[".repeat(depth), '{"a":'.repeat(depth), `${"[".repeat(depth)}${"]".repeat(depth)}`]);
  return Buffer.concat([Buffer.of(1, random.pick(JSON_KINDS)), Buffer.from(text)]);
}

/** Frames whose size is near or above the limits. */
function huge(random: SeededChoices, here: NodeSituation): Buffer {
  const { job, text } = anyJob(random, here);
  const makers: (() => Buffer)[] = [
    () => Buffer.alloc(random.pick([512 * 1024, 512 * 1024 + 1, 1024 * 1024]), 1),
    () =>
      encodeFrame({
        kind: "deltas",
        deltas: Array.from({ length: 1024 }, (_, seq) => ({ job, seq, channel: "answer", text })),
      }),
    () =>
      encodeFrame({ kind: "vectors", job, seq: 0, first: 0, width: 1024, values: new Float32Array(64 * 1024).fill(1) }),
    () => Buffer.concat([Buffer.of(1, 23), Buffer.from(`"${"x".repeat(500_000)}"`)]),
    () => Buffer.concat([Buffer.of(1, 23), Buffer.from(`[${"0,".repeat(240_000)}0]`)]),
  ];
  return random.pick(makers)();
}
