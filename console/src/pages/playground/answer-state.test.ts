import assert from "node:assert/strict";
import { test } from "node:test";
import { parseMicro } from "../../dollar-amounts.ts";
import {
  type Answer,
  applyChunk,
  computeAnswerCost,
  endAnswer,
  isAnswerOver,
  isThinking,
  makeModelMessages,
  newAnswer,
  type StreamChunk,
  stopAnswer,
} from "./answer-state.ts";

const delta = (content: string): StreamChunk => ({
  choices: [{ delta: { content }, finish_reason: null }],
  usage: null,
});
const play = (chunks: StreamChunk[]): Answer =>
  chunks.reduce((answer, chunk, i) => applyChunk(answer, chunk, 100 + i), newAnswer("tiny-3b", 0));

test("builds an answer with its reasoning and token counts from the chunks", () => {
  const answer = endAnswer(
    play([
      delta(""),
      delta("one"),
      delta(" two"),
      { choices: [{ delta: { vendor_reasoning_content: "hm" }, finish_reason: "stop" }], usage: null },
      { choices: [], usage: { prompt_tokens: 43, completion_tokens: 4 } },
    ]),
    200,
  );
  assert.equal(answer.state, "finished");
  assert.deepEqual([answer.text, answer.reasoning, answer.finish], ["one two", "hm", "stop"]);
  // The first chunk contains only the role, so it does not count as output.
  assert.equal(answer.firstAtMs, 101);
  const prices = { price_in_micro_1m: 100_000, price_out_micro_1m: 300_000 };
  assert.equal(
    computeAnswerCost(answer.usage ?? { prompt_tokens: 0, completion_tokens: 0 }, prices),
    parseMicro("5.500000"),
  );
});

test("shows reasoning as it arrives, and ignores its repetition at the end", () => {
  const thought = (reasoning_content: string): StreamChunk => ({ choices: [{ delta: { reasoning_content } }] });
  const coming = play([delta(""), thought("h"), thought("m")]);
  assert.deepEqual([coming.reasoning, coming.firstAtMs], ["hm", 101]);
  assert.equal(isThinking(coming), true);
  assert.equal(isThinking(play([thought("h"), delta("one")])), false);
  assert.equal(isThinking(endAnswer(coming, 200)), false);
  const whole = play([
    thought("h"),
    thought("m"),
    delta("one"),
    { choices: [{ delta: { vendor_reasoning_content: "hm" }, finish_reason: "stop" }] },
  ]);
  assert.deepEqual([whole.text, whole.reasoning], ["one", "hm"]);
});

test("ends the answer at an error event and keeps its text", () => {
  const answer = endAnswer(
    play([delta("so far"), { error: { message: "The node went quiet.", code: "upstream_stall" } }]),
    9,
  );
  assert.deepEqual([answer.state, answer.text, answer.fault?.code], ["failed", "so far", "upstream_stall"]);
});

test("fails an answer whose stream ends without a finish reason, unless the user stopped it", () => {
  assert.equal(endAnswer(play([delta("so")]), 9).state, "failed");
  assert.equal(endAnswer(stopAnswer(play([delta("so")]), 8), 9).state, "stopped");
  assert.equal(isAnswerOver(play([delta("so")])), false);
});

test("sends each compared model its own earlier answers, and the answers from before the comparison", () => {
  const said = (text: string): Answer => ({ ...newAnswer("m", 0), text });
  const exchanges = [
    { id: 1, question: "one", answers: [said("a")] },
    { id: 2, question: "two", answers: [said("b"), said("B")] },
    { id: 3, question: "three", answers: [said("c"), said("")] },
  ];
  const words = (side: number): string =>
    makeModelMessages(exchanges, side)
      .map(({ content }) => content)
      .join(" ");
  assert.equal(words(0), "one a two b three c");
  assert.equal(words(1), "one a two B");
});
