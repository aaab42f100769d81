/** The agent must survive any input from a gateway or the plane, use bounded memory, and serve the next valid job. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeFrame } from "@tollgate/protocol/frame-codec.ts";
import { JOB_BODY_BYTES_MAX, JOB_PIECE_BYTES, JOB_PIECES_MAX } from "@tollgate/protocol/frame-limits.ts";
import type { JobHeader } from "@tollgate/protocol/frames.ts";
import { splitJob } from "@tollgate/protocol/job-splitting.ts";
import { nodeSubject, STATE_REQUEST_SUBJECT } from "@tollgate/protocol/nats-subjects.ts";
import fc from "fast-check";
import { AgentHarness, TEST_NODE_ID } from "../testing/agent-harness.ts";

const header = (job: string, rest: Partial<JobHeader> = {}): JobHeader => ({
  job,
  gateway: "gw1",
  model: "tiny-3b",
  endpoint: "chat",
  stream: true,
  output_tokens_max: 5,
  sampling: {},
  body_bytes: 2,
  pieces: 1,
  ...rest,
});
const jobId = (n: number): string => `${String(n).padStart(26, "z")}-01`;

/** Well-formed frames with hostile content. */
const mischief = fc.oneof(
  fc.nat(3).map((n) => encodeFrame({ kind: "cancel", job: jobId(n) })),
  fc
    .tuple(fc.nat(3), fc.integer({ min: 1, max: JOB_PIECES_MAX - 1 }), fc.uint8Array({ maxLength: 50 }))
    .map(([n, index, piece]) => encodeFrame({ kind: "piece", job: jobId(n), index, piece })),
  fc
    .record({
      n: fc.nat(3),
      body: fc.oneof(fc.string({ maxLength: 40 }), fc.json({ maxDepth: 2 })),
      bytes: fc.integer({ min: 2, max: JOB_BODY_BYTES_MAX }),
      pieces: fc.integer({ min: 1, max: JOB_PIECES_MAX }),
      honest: fc.boolean(),
      endpoint: fc.constantFrom("chat" as const, "completion" as const, "embedding" as const),
      gateway: fc.constantFrom("gw1", "gw2", "x".repeat(64)),
      model: fc.constantFrom("tiny-3b", "embed-m3", "no such model", "\u0000"),
      stop: fc.array(fc.string({ maxLength: 5 }), { maxLength: 4 }),
      temperature: fc.double({ noNaN: true, noDefaultInfinity: true }),
    })
    .map(({ n, body, bytes, pieces, honest, stop, temperature, ...rest }) => {
      const piece = Buffer.from(body);
      const size = honest ? { body_bytes: Math.max(2, piece.length), pieces: 1 } : { body_bytes: bytes, pieces };
      return encodeFrame({
        kind: "job",
        header: header(jobId(n), { ...rest, ...size, sampling: { stop, temperature } }),
        piece,
      });
    }),
  fc.constantFrom(
    encodeFrame({ kind: "accepted", job: jobId(0) }),
    encodeFrame({ kind: "done", job: jobId(0), seq: 0, finish: "stop" }),
    encodeFrame({ kind: "deltas", deltas: [{ job: jobId(0), seq: 0, channel: "answer", text: "?" }] }),
  ),
);

/** Frames with changed, missing or added bytes, and random bytes. */
const damaged = fc
  .tuple(mischief, fc.array(fc.tuple(fc.nat(400), fc.integer({ min: 0, max: 255 })), { maxLength: 4 }), fc.nat(60))
  .map(([bytes, edits, cut]) => {
    const copy = Buffer.from(bytes);
    for (const [at, value] of edits) copy[at % copy.length] = value;
    return copy.subarray(0, copy.length - (cut % copy.length));
  });
const noise = fc
  .tuple(fc.integer({ min: 0, max: 24 }), fc.uint8Array({ maxLength: 200 }))
  .map(([kind, rest]) => Buffer.concat([Buffer.from([1, kind]), rest]));

test("the agent survives every frame, well formed or damaged", async () => {
  const harness = new AgentHarness({ slots: 4 });
  await harness.online();
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(mischief, damaged, noise), { maxLength: 20 }), async (frames) => {
      for (const bytes of frames) harness.plane.send(nodeSubject(TEST_NODE_ID), bytes);
      harness.plane.send(STATE_REQUEST_SUBJECT, Buffer.from("unexpected"));
      // After ten seconds, jobs that wait for pieces time out. The running jobs are aborted, so a valid job finds a
      // free slot.
      harness.clock.advance(10_000);
      for (let n = 0; n < 4; n++) harness.cancel(jobId(n));
      await harness.plane.until(() => harness.agent.snapshot().busy === 0 || harness.states().at(-1)?.busy === 0);
      const job = harness.script({ text: "still here" });
      assert.equal((await harness.plane.ending(job)).kind, "done");
    }),
    { numRuns: 150 },
  );
  assert.equal(harness.plane.open.length, 1);
  await harness.agent.stop();
});

test("the agent logs the number of malformed frames in a flood instead of one line per frame", async () => {
  const harness = new AgentHarness();
  await harness.online();
  for (let i = 0; i < 5000; i++) harness.plane.send(nodeSubject(TEST_NODE_ID), Buffer.from([1, 3, 0x7b]));
  harness.clock.advance(1000);
  harness.plane.send(nodeSubject(TEST_NODE_ID), Buffer.from([1, 3, 0x7b]));
  const lines = harness.logged.split("\n").filter((line) => line.includes("malformed"));
  assert.equal(lines.length, 2);
  assert.equal(JSON.parse(lines[1] ?? "").frames, 5000);
  await harness.agent.stop();
});

test("the agent limits the memory for job bodies, however many slots it has", async () => {
  const harness = new AgentHarness({ slots: 64 });
  await harness.online();
  const piece = new Uint8Array(JOB_PIECE_BYTES);
  const whole = { body_bytes: JOB_BODY_BYTES_MAX, pieces: JOB_PIECES_MAX };
  for (let n = 0; n < 64; n++)
    harness.plane.send(nodeSubject(TEST_NODE_ID), encodeFrame({ kind: "job", header: header(jobId(n), whole), piece }));
  const refused = Array.from({ length: 64 }, (_, n) => harness.kinds(jobId(n))).filter(([kind]) => kind === "busy");
  assert.equal(refused.length, 64 - Math.floor((128 * 1024 * 1024) / JOB_BODY_BYTES_MAX));
  assert.equal((await harness.plane.ending(harness.offer("small"))).kind, "done");
  harness.clock.advance(10_000);
  const [first, ...rest] = splitJob(header(jobId(70)), { messages: [{ role: "user", content: "x".repeat(600_000) }] });
  assert.ok(first && rest.length === 2);
  for (const frame of [first, ...rest]) harness.plane.send(nodeSubject(TEST_NODE_ID), encodeFrame(frame));
  await harness.plane.until(() => harness.kinds(jobId(70)).at(-1) === "done");
  await harness.agent.stop();
});
