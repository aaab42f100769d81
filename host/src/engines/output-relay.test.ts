import assert from "node:assert/strict";
import { test } from "node:test";
import { chatJob, RecordingSink } from "../testing/recording-sink.ts";
import type { GenerationJob } from "./engine.ts";
import { OutputRelay } from "./output-relay.ts";

function relay(rest: Partial<GenerationJob> = {}, contextTokens?: number) {
  const sink = new RecordingSink();
  return { sink, relay: new OutputRelay({ job: chatJob("x", rest), sink, contextTokens }) };
}

/**
 * Relays the pieces of an answer. Returns the relayed text, and the finish reason if the relay itself ended the answer.
 */
function said(pieces: string[], rest: Partial<GenerationJob> = {}) {
  const { sink, relay: it } = relay(rest);
  for (const answer of pieces) it.take({ answer });
  it.end();
  return [sink.text("answer"), it.cut];
}

test("ends an answer before its stop string however it is split, and continues after a partial match", () => {
  const sampling = { stop: ["END", "\n\n"] };
  assert.deepEqual(said(["one E", "N", "D two"], { sampling }), ["one ", "stop"]);
  assert.deepEqual(said(["one\n", "\ntwo END"], { sampling }), ["one", "stop"]);
  assert.deepEqual(said(["one EN", "T two E"], { sampling }), ["one ENT two E", undefined]);
  assert.deepEqual(said(["END"], { sampling }), ["", "stop"]);
  assert.deepEqual(said(["a", "END", "b"]), ["aENDb", undefined]);
});

test("ignores stop strings within thinking, on a separate channel or between markers", () => {
  const thinks = { model: "reason-32b", sampling: { stop: ["END"] } };
  const { sink, relay: it } = relay(thinks);
  it.take({ thinking: "the END" });
  it.take({ answer: "yes END" });
  assert.deepEqual([sink.text("reasoning"), sink.text("answer"), it.cut], ["the END", "yes ", "stop"]);
  const text = "\n<think>an END here</think>the END";
  for (let at = 0; at <= text.length; at++)
    assert.deepEqual(said([text.slice(0, at), text.slice(at)].filter(Boolean), thinks), [
      "\n<think>an END here</think>the ",
      "stop",
    ]);
  assert.deepEqual(said(["<thi", "s> END"], thinks), ["<this> ", "stop"], "text that only begins like the mark");
  assert.deepEqual(said(["<thi"], thinks), ["<thi", undefined], "what was held is text in the end");
  assert.deepEqual(said(["<think>END"], { sampling: thinks.sampling }), ["<think>", "stop"], "not for other models");
});

test("joins a character that the engine splits, and drops an incomplete character", () => {
  const [high = "", low = ""] = "😀".split("");
  const { sink, relay: it } = relay();
  it.take({ answer: `a${high}` });
  it.take({ thinking: high });
  it.take({ answer: `${low}b` });
  it.take({ thinking: `${low}c` });
  it.take({ answer: high });
  it.end();
  assert.deepEqual([sink.text("answer"), sink.text("reasoning")], ["a😀b", "😀c"]);
});

test("stops an engine whose output exceeds the output cap, but not one that sends its tokens in few events or as single characters", () => {
  const { sink, relay: it } = relay({ outputTokensMax: 100 });
  let events = 0;
  while (it.cut === undefined && events++ < 10_000) it.take({ answer: "eight ch" });
  assert.equal(it.cut, "length");
  assert.equal(sink.deltas.length, 165, "the cap and a little room");
  // A proxy may split output into single characters, and an engine may send a hundred tokens in one event. Neither
  // exceeds the cap.
  const letters = relay({ outputTokensMax: 100 });
  for (let i = 0; i < 400; i++) letters.relay.take({ answer: "x" });
  const chunks = relay({ outputTokensMax: 100 });
  chunks.relay.take({ answer: "four".repeat(100) });
  assert.deepEqual([letters.relay.cut, chunks.relay.cut], [undefined, undefined]);
});

test("limits the output to the context that the prompt leaves, if the engine reports the prompt's length", () => {
  const { relay: it } = relay({ outputTokensMax: 8192 }, 8192);
  it.take({ promptTokens: 8100 });
  for (let i = 0; i < 156; i++) it.take({ thinking: "thinking it over " });
  assert.equal(it.cut, undefined);
  it.take({ answer: "once more" });
  assert.equal(it.cut, "length");
});
