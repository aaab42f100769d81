import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decodeFrame, encodeFrame, FrameError } from "./frame-codec.ts";
import { JOB_PIECE_BYTES } from "./frame-limits.ts";
import type { Frame, JobHeader } from "./frames.ts";
import { JobJoiner, splitJob } from "./job-splitting.ts";

const header: Omit<JobHeader, "body_bytes" | "pieces"> = {
  job: "06dfk3zq9v8n2x4m7t1c5w0rbe-01",
  gateway: "gw1",
  model: "tiny-3b",
  endpoint: "completion",
  stream: false,
  output_tokens_max: 10,
  sampling: {},
};
const first = (frames: Frame[]) => frames[0] as Extract<Frame, { kind: "job" }>;
const rest = (frames: Frame[]) => frames.slice(1) as Extract<Frame, { kind: "piece" }>[];

describe("the frames of a job", () => {
  test("are one single frame if the job is small", () => {
    const frames = splitJob(header, { prompt: "hi" });
    assert.equal(frames.length, 1);
    assert.deepEqual(new JobJoiner(first(frames)).body(), { prompt: "hi" });
  });

  test("give the same job after encoding, decoding and joining, even if a cut is within a character", () => {
    const body = { prompt: "日本😀".repeat(100_000) };
    const frames = splitJob(header, body).map((frame) => decodeFrame(encodeFrame(frame)));
    assert.ok(frames.length > 3);
    const joiner = new JobJoiner(first(frames));
    for (const piece of rest(frames)) joiner.add(piece);
    assert.ok(joiner.complete);
    assert.deepEqual(joiner.body(), body);
    const encoded = splitJob(header, new TextEncoder().encode(JSON.stringify(body)));
    assert.deepEqual(
      encoded.map((frame) => decodeFrame(encodeFrame(frame))),
      frames,
      "encoded before or here, it is the same",
    );
  });

  test("may be an empty first frame and later frames with the whole body, of any length", () => {
    for (const length of [1, JOB_PIECE_BYTES - 13, JOB_PIECE_BYTES * 2]) {
      const body = { prompt: "x".repeat(length) };
      const frames = splitJob(header, body, { later: true }).map((frame) => decodeFrame(encodeFrame(frame)));
      assert.equal(first(frames).piece.length, 0);
      const joiner = new JobJoiner(first(frames));
      assert.equal(joiner.complete, false);
      for (const piece of rest(frames)) joiner.add(piece);
      assert.deepEqual(joiner.body(), body);
    }
  });

  test("carry an answer that the node has to score", () => {
    const score = { answer: "it is 12", cuts: [0, 3] };
    const [frame] = splitJob(header, { prompt: "hi", score });
    assert.deepEqual(new JobJoiner(frame as Extract<Frame, { kind: "job" }>).body(), { prompt: "hi", score });
  });

  test("are refused if they are out of order, missing, repeated or too many", () => {
    const frames = splitJob(header, { prompt: "x".repeat(JOB_PIECE_BYTES * 3) });
    const [second, third] = rest(frames);
    assert.ok(second && third);
    assert.throws(() => new JobJoiner(first(frames)).add(third), FrameError);
    const joiner = new JobJoiner(first(frames));
    joiner.add(second);
    assert.throws(() => joiner.add(second), FrameError);
    assert.throws(() => joiner.body(), FrameError);
    const lying = first(frames);
    assert.throws(() => new JobJoiner({ ...lying, header: { ...lying.header, body_bytes: 5 } }), FrameError);
  });

  test("carry the output format of a request", () => {
    const format = { type: "json_schema" as const, name: "city", schema: { type: "object" }, strict: true };
    const [frame] = splitJob(header, { prompt: "hi", format });
    assert.deepEqual(new JobJoiner(frame as Extract<Frame, { kind: "job" }>).body(), { prompt: "hi", format });
  });

  test("are refused if the joined body does not match its endpoint", () => {
    const [frame] = splitJob(header, { input: ["a"] });
    assert.throws(() => new JobJoiner(frame as Extract<Frame, { kind: "job" }>).body(), FrameError);
  });
});
