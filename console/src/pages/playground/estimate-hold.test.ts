import assert from "node:assert/strict";
import { test } from "node:test";
import { parseMicro } from "../../dollar-amounts.ts";
import { estimateHold } from "./estimate-hold.ts";

const reason32b = { context_limit: 32_768, price_in_micro_1m: 100_000, price_out_micro_1m: 300_000 };

test("the estimated hold covers the whole context if the output has no token limit", () => {
  const { outputTokens, promptTokens, pico } = estimateHold({ messages: [] }, reason32b);
  assert.equal(outputTokens, 32_768);
  // The output alone costs 9,830.4 microdollars, as in the specification's example.
  assert.equal(pico - BigInt(promptTokens) * 100_000n, parseMicro("9830.400000"));
});

test("the estimated hold covers at most the context size as output, and grows with the prompt", () => {
  assert.equal(estimateHold({ messages: [], max_tokens: 99_999 }, reason32b).outputTokens, 32_768);
  assert.equal(estimateHold({ messages: [], max_tokens: 100 }, reason32b).outputTokens, 100);
  const short = estimateHold({ messages: [{ content: "hi" }], max_tokens: 1 }, reason32b);
  const long = estimateHold({ messages: [{ content: "hi ".repeat(400) }], max_tokens: 1 }, reason32b);
  assert.ok(long.pico > short.pico);
});
