import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeFrame } from "@tollgate/protocol/frame-codec.ts";
import { DELTAS_FRAME_TEXT_BYTES_MAX, DELTAS_PER_FRAME_MAX } from "@tollgate/protocol/frame-limits.ts";
import type { Delta, Frame, JobHeader } from "@tollgate/protocol/frames.ts";
import fc from "fast-check";
import { waitOneTurn } from "../clock.ts";
import { EngineError } from "../engines/engine.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { FrameOutbox } from "./frame-outbox.ts";
import { JobWriter, splitText } from "./job-writer.ts";

const A = "0000000000000000000000000a-01";
const B = "0000000000000000000000000b-01";
const C = "0000000000000000000000000c-01";

function harness() {
  const clock = new ManualClock();
  const frames: { gateway: string; frame: Frame }[] = [];
  const outbox = new FrameOutbox(clock, (gateway, bytes) => frames.push({ gateway, frame: decodeFrame(bytes) }));
  const writer = (job: string, rest: Partial<JobHeader> = {}): JobWriter =>
    new JobWriter(outbox, clock, {
      job,
      gateway: "gw1",
      model: "tiny-3b",
      endpoint: "chat",
      stream: true,
      output_tokens_max: 10,
      sampling: {},
      body_bytes: 2,
      pieces: 1,
      ...rest,
    });
  const kinds = (): string[] => frames.map(({ frame }) => frame.kind);
  const deltas = (): Delta[] =>
    frames.flatMap(({ frame }) => (frame.kind === "deltas" || frame.kind === "timed" ? frame.deltas : []));
  return { clock, frames, writer, kinds, deltas, outbox };
}

test("deltas of all jobs for one gateway are sent in one frame at the end of the event loop's turn", async () => {
  const { writer, clock, frames, kinds } = harness();
  const [a, b] = [writer(A), writer(B)];
  a.delta("reasoning", "x");
  b.delta("answer", "1");
  a.delta("answer", "y");
  assert.deepEqual(kinds(), []);
  await waitOneTurn(clock);
  assert.deepEqual(frames, [
    {
      gateway: "gw1",
      frame: {
        kind: "deltas",
        deltas: [
          { job: A, seq: 0, channel: "reasoning", text: "x" },
          { job: B, seq: 0, channel: "answer", text: "1" },
          { job: A, seq: 1, channel: "answer", text: "y" },
        ],
      },
    },
  ]);
});

test("deltas for different gateways are sent in separate frames", async () => {
  const { writer, clock, frames } = harness();
  writer(A).delta("answer", "x");
  writer(B, { gateway: "gw2" }).delta("answer", "y");
  await waitOneTurn(clock);
  assert.deepEqual(frames.map(({ gateway }) => gateway).toSorted(), ["gw1", "gw2"]);
});

test("the done frame of a job is sent after all output, with the next sequence number, and is the last frame", async () => {
  const { writer, clock, frames, kinds, deltas } = harness();
  const a = writer(A);
  a.accepted();
  a.delta("answer", "x");
  a.delta("answer", "y");
  a.done("length");
  a.delta("answer", "z");
  a.done("stop");
  a.failed("engine", "late");
  await waitOneTurn(clock);
  assert.deepEqual(kinds(), ["accepted", "deltas", "done"]);
  assert.deepEqual(
    deltas().map(({ seq }) => seq),
    [0, 1],
  );
  assert.deepEqual(frames.at(-1)?.frame, { kind: "done", job: A, seq: 2, finish: "length" });
});

test("after its first delta, output for a client that does not stream is sent in fewer and larger deltas", async () => {
  const { writer, clock, kinds, deltas } = harness();
  const a = writer(A, { stream: false });
  a.delta("reasoning", "h");
  await waitOneTurn(clock);
  assert.deepEqual(kinds(), ["deltas"], "the first output never waits: the gateway measures by it");
  a.delta("reasoning", "m");
  a.delta("answer", "y");
  clock.advance(100);
  a.delta("answer", "es");
  await waitOneTurn(clock);
  clock.advance(99);
  assert.deepEqual(kinds(), ["deltas"]);
  clock.advance(1);
  a.delta("answer", "!");
  clock.advance(200);
  assert.deepEqual(
    deltas().map(({ seq, channel, text }) => [seq, channel, text]),
    [
      [0, "reasoning", "h"],
      [1, "reasoning", "m"],
      [2, "answer", "yes"],
      [3, "answer", "!"],
    ],
  );
});

/** Records when each delta was sent, and the token times it contains. */
function timedBench(rest: Partial<JobHeader>) {
  const clock = new ManualClock();
  const began = clock.monotonic();
  const sent: { at: number; firstMs: number; lastMs: number; text: string }[] = [];
  const outbox = new FrameOutbox(clock, (_gateway, bytes) => {
    const frame = decodeFrame(bytes);
    assert.notEqual(frame.kind, "deltas");
    for (const { firstMs, lastMs, text } of frame.kind === "timed" ? frame.deltas : [])
      sent.push({ at: clock.monotonic() - began, firstMs, lastMs, text });
  });
  const sampling = { sampling: {}, body_bytes: 2, pieces: 1, output_tokens_max: 10 };
  const header = { job: A, gateway: "gw1", model: "tiny-3b", endpoint: "chat" as const, stream: true, times: true };
  const writer = new JobWriter(outbox, clock, { ...header, ...sampling, ...rest });
  writer.accepted();
  /** Writes a token after the given pause. */
  const token = async (pauseMs: number, text = "x"): Promise<void> => {
    clock.advance(pauseMs);
    writer.delta("answer", text);
    await waitOneTurn(clock);
  };
  return { clock, sent, token, writer };
}

test("deltas contain the times of their first and last token if the gateway asks for them", async () => {
  const { clock, sent, token } = timedBench({ stream: false });
  await token(40, "a");
  for (const text of ["b", "c", "d"]) await token(60, text);
  clock.advance(200);
  assert.deepEqual(sent, [
    { at: 40, firstMs: 40, lastMs: 40, text: "a" },
    { at: 300, firstMs: 100, lastMs: 220, text: "bcd" },
  ]);
});

test("tokens 1.82 to 1.99 s apart reach the gateway less than 2 s apart, streamed or not", async () => {
  for (const stream of [true, false]) {
    for (const pauseMs of [1_820, 1_990]) {
      const { clock, sent, token } = timedBench({ stream });
      await token(pauseMs);
      for (let i = 0; i < 5; i++) {
        // This token is queued shortly after another one. The wait in the queue must not lengthen the pause that
        // follows.
        await token(pauseMs);
        await token(30);
      }
      clock.advance(500);
      const silences = sent.map(({ at }, i) => at - (sent[i - 1]?.at ?? 0));
      assert.ok(Math.max(...silences) <= pauseMs + (stream ? 5 : 0), `${stream}: ${silences.join(", ")}`);
      const pauses = sent.map(({ firstMs }, i) => firstMs - (sent[i - 1]?.lastMs ?? 0));
      assert.equal(Math.max(...pauses), pauseMs);
    }
  }
});

test("tokens before and after a pause stay in separate deltas if the gateway has to see the pause", async () => {
  const { clock, sent, writer, token } = timedBench({ stream: false });
  await token(10, "a");
  await token(10, "b");
  // The process was suspended. Queued tokens are still there when it resumes.
  clock.freeze(2_500);
  writer.delta("answer", "c");
  clock.advance(500);
  await waitOneTurn(clock);
  assert.deepEqual(
    sent.map(({ firstMs, lastMs, text }) => [firstMs, lastMs, text]),
    [
      [10, 10, "a"],
      [20, 20, "b"],
      [2_520, 2_520, "c"],
    ],
  );
});

test("output of more than 16 KiB is sent at once, streamed or not", () => {
  for (const stream of [true, false]) {
    const { writer, kinds, deltas } = harness();
    const a = writer(A, { stream });
    for (let i = 0; i < 17; i++) a.delta("answer", "x".repeat(1024));
    assert.deepEqual(kinds(), ["deltas"]);
    assert.equal(
      deltas()
        .map(({ text }) => text)
        .join("").length,
      17 * 1024,
    );
  }
});

test("tokens of one engine step share a frame even if they arrive in several turns of the event loop", async () => {
  const { writer, clock, frames } = harness();
  const jobs = [writer(A), writer(B), writer(A.replace("a-", "c-")), writer(A.replace("a-", "d-"))];
  for (const job of jobs) job.delta("answer", "first");
  await waitOneTurn(clock);
  assert.equal(frames.length, 1);
  for (let step = 0; step < 3; step++) {
    for (const job of jobs) {
      job.delta("answer", `token ${step}`);
      await waitOneTurn(clock);
    }
    clock.advance(5);
    assert.equal(frames.length, 2 + step);
  }
});

test("a frame with streamed output of a job also contains pending output of other jobs for the same gateway", async () => {
  const { writer, clock, frames, deltas } = harness();
  const [a, b] = [writer(A, { stream: false }), writer(B)];
  for (const job of [a, b]) job.delta("answer", "first");
  await waitOneTurn(clock);
  a.delta("answer", "a");
  b.delta("answer", "b");
  clock.advance(5);
  assert.equal(frames.length, 2);
  assert.equal(deltas().length, 4);
});

test("a discarded job sends nothing more, not even its pending output", async () => {
  const { writer, clock, deltas } = harness();
  const [a, b] = [writer(A), writer(B)];
  a.delta("answer", "a");
  b.delta("answer", "b");
  a.discard();
  a.delta("answer", "more");
  a.done("stop");
  await waitOneTurn(clock);
  assert.deepEqual(
    deltas().map(({ job }) => job),
    [B],
  );
});

test("long text is split so that deltas and frames keep within their limits", async () => {
  const { writer, clock, frames, deltas } = harness();
  const text = "日本😀".repeat(100_000);
  writer(A).delta("answer", text);
  await waitOneTurn(clock);
  assert.ok(frames.length > 1);
  assert.equal(
    deltas()
      .map((delta) => delta.text)
      .join(""),
    text,
  );
  assert.deepEqual(
    deltas().map(({ seq }) => seq),
    deltas().map((_, i) => i),
  );
});

test("deltas of one event-loop turn that exceed a frame's limit are sent in several frames", async () => {
  const { writer, clock, frames, deltas } = harness();
  const a = writer(A);
  for (let i = 0; i < 2 * DELTAS_PER_FRAME_MAX + 1; i++) a.delta("answer", "x");
  await waitOneTurn(clock);
  assert.equal(frames.length, 3);
  assert.equal(deltas().length, 2 * DELTAS_PER_FRAME_MAX + 1);
});

test("a frame is filled to its last byte, and the rest goes into the next one", async () => {
  const { writer, clock, deltas, frames } = harness();
  const a = writer(A);
  // 16 KiB of text are still queued and are sent in one frame with the next output if both fit.
  const half = "x".repeat(DELTAS_FRAME_TEXT_BYTES_MAX / 2);
  for (const text of [half, half, half, `${half}${half}`]) a.delta("answer", text);
  await waitOneTurn(clock);
  assert.equal(deltas().length, 4);
  assert.equal(frames.length, 3);
});

test("splitText keeps every character whole and every part within its limit", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 200 }), fc.integer({ min: 6, max: 40 }), (text, bytesMax) => {
      const parts = [...splitText(text, bytesMax)];
      assert.equal(parts.map((part) => part.text).join(""), text);
      for (const { text: part, bytes } of parts) {
        assert.ok(part.isWellFormed() && bytes <= bytesMax && bytes === Buffer.byteLength(part));
      }
    }),
  );
});

test("output of jobs that begin and end in one turn is sent together at the turn's end, in order per job", async () => {
  const { writer, clock, frames, kinds } = harness();
  const [a, b, c] = [writer(A), writer(B), writer(C)];
  a.accepted();
  b.accepted();
  a.delta("answer", "x");
  a.done("stop");
  b.delta("answer", "1");
  c.accepted();
  b.done("length");
  assert.deepEqual(kinds(), []);
  await waitOneTurn(clock);
  assert.deepEqual(
    frames.map(({ frame }) => {
      if (frame.kind === "deltas") return frame.deltas.map(({ job }) => job);
      return frame.kind === "accepted" || frame.kind === "done" ? [frame.kind, frame.job] : [];
    }),
    [
      ["accepted", A],
      ["accepted", B],
      ["accepted", C],
      [A, B],
      ["done", A],
      ["done", B],
    ],
  );
});

test("failures, refusals and progress are sent immediately, after all earlier output", () => {
  const { writer, kinds } = harness();
  const [a, b] = [writer(A), writer(B)];
  a.accepted();
  b.accepted();
  a.delta("answer", "x");
  b.progress(0.5);
  a.failed("engine", "no");
  assert.deepEqual(kinds(), ["accepted", "accepted", "deltas", "progress", "failed"]);
});

test("a job discarded in the event-loop turn in which it began sends its accepted frame and nothing else", async () => {
  const { writer, clock, kinds } = harness();
  const a = writer(A);
  a.accepted();
  a.delta("answer", "x");
  a.done("stop");
  a.discard();
  await waitOneTurn(clock);
  assert.deepEqual(kinds(), ["accepted"]);
});

test("vectors are sent 64 to a frame; vectors that come slowly are sent after a short wait", async () => {
  const { writer, clock, frames } = harness();
  const a = writer(A, { endpoint: "embedding" });
  for (let i = 0; i < 65; i++) a.vector(new Float32Array(1024).fill(i));
  assert.equal(frames.length, 1);
  clock.advance(100);
  a.vector(new Float32Array(1024).fill(65));
  a.done("stop");
  await waitOneTurn(clock);
  const sent = frames.flatMap(({ frame }) => (frame.kind === "vectors" ? [frame] : []));
  assert.deepEqual(
    sent.map(({ first, seq, values }) => [first, seq, values.length / 1024]),
    [
      [0, 0, 64],
      [64, 1, 1],
      [65, 2, 1],
    ],
  );
  assert.deepEqual(frames.at(-1)?.frame, { kind: "done", job: A, seq: 3, finish: "stop" });
});

test("very wide vectors still fit into a frame", async () => {
  const { writer, frames, clock } = harness();
  const a = writer(A, { endpoint: "embedding" });
  for (let i = 0; i < 20; i++) a.vector(new Float32Array(8192));
  a.done("stop");
  await waitOneTurn(clock);
  assert.deepEqual(
    frames.map(({ frame }) => frame.kind),
    ["vectors", "vectors", "done"],
  );
});

test("a job fails if its vectors differ in width, are too wide or are not finite", () => {
  const { writer } = harness();
  const a = writer(A);
  a.vector(new Float32Array(3));
  assert.throws(() => a.vector(new Float32Array(4)), EngineError);
  for (const bad of [new Float32Array(0), new Float32Array(8193), Float32Array.of(Number.NaN)])
    assert.throws(() => writer(B).vector(bad), EngineError);
});

test("progress reports are sent until the first output, and their fraction is at most 1", () => {
  const { writer, frames } = harness();
  const a = writer(A);
  a.progress(0.5);
  a.progress(7);
  a.delta("answer", "x");
  a.progress(0.9);
  assert.deepEqual(
    frames.map(({ frame }) => frame.kind === "progress" && frame.fraction),
    [0.5, 1],
  );
});

test("progress reports of an embedding job continue between its vectors, because nothing else shows that the engine works", async () => {
  const { writer, frames, clock } = harness();
  const embedding = writer(B, { endpoint: "embedding" });
  embedding.progress(0.2);
  embedding.vector(new Float32Array([1]));
  clock.advance(100);
  embedding.progress(0.6);
  embedding.done("stop");
  embedding.progress(1);
  await waitOneTurn(clock);
  assert.deepEqual(
    frames.map(({ frame }) => frame.kind),
    ["progress", "vectors", "progress", "done"],
  );
});

test("a failure message is truncated to its limit", () => {
  const { writer, frames } = harness();
  writer(A).failed("engine", "x".repeat(10_000));
  const frame = frames[0]?.frame;
  assert.ok(frame?.kind === "failed" && frame.message.length === 500);
});
