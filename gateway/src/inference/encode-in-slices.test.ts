import assert from "node:assert/strict";
import { test } from "node:test";
import { manualClock, waitOneTurn } from "../base/testing.ts";
import { embeddings } from "../routes/openai/embeddings.ts";
import { encodeInSlices } from "./encode-in-slices.ts";

const meta = { suffix: "x", created: 0, model: "embed-m3" };
const answerOf = (count: number) => ({
  text: "",
  reasoning: undefined,
  finish: "stop" as const,
  vectors: Array.from({ length: count }, (_, v) => Float32Array.from({ length: 1024 }, (_, i) => Math.sin(v + i))),
  usage: { promptTokens: 7, completionTokens: 0 },
});

test("encodeInSlices returns a long answer unchanged, and delays other requests by at most one slice", async () => {
  const clock = manualClock();
  const answer = answerOf(64);
  let taken = 0;
  const parts = function* (): Generator<string> {
    for (const part of embeddings.parts?.(meta, answer) ?? []) {
      taken += part.length;
      yield part;
    }
  };
  let body: Uint8Array[] | undefined;
  const building = encodeInSlices(parts(), { clock, cancelSignal: new AbortController().signal }).then((bytes) => {
    body = bytes;
  });
  let turns = 0;
  for (let before = 0; body === undefined; turns++) {
    assert.ok(taken - before < 100_000, `${taken - before} characters in one turn`);
    before = taken;
    clock.advance(0);
    await waitOneTurn();
  }
  await building;
  assert.ok(turns > 10);
  assert.equal(Buffer.concat(body ?? []).toString(), embeddings.whole(meta, answer));
});

test("encodeInSlices stops building an answer when its client disconnects", async () => {
  const gone = new AbortController();
  let taken = 0;
  const parts = function* (): Generator<string> {
    for (;;) {
      taken++;
      yield "x".repeat(40_000);
    }
  };
  const clock = manualClock();
  const building = encodeInSlices(parts(), { clock, cancelSignal: gone.signal });
  gone.abort();
  clock.advance(0);
  assert.equal(await building, undefined);
  assert.equal(taken, 2);
});

test("the parts of an embeddings response join to one JSON object, also without any vectors", () => {
  const answer = { ...answerOf(0), vectors: [Float32Array.of(0.5, -1), Float32Array.of(2, 0)] };
  assert.deepEqual(JSON.parse(embeddings.whole(meta, answer)), {
    object: "list",
    data: [
      { object: "embedding", index: 0, embedding: [0.5, -1] },
      { object: "embedding", index: 1, embedding: [2, 0] },
    ],
    model: "embed-m3",
    usage: { prompt_tokens: 7, total_tokens: 7 },
  });
  assert.deepEqual(JSON.parse(embeddings.whole(meta, { ...answer, vectors: [] })).data, []);
});
