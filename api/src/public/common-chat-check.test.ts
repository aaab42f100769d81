import assert from "node:assert/strict";
import { test } from "node:test";
import { validateFields } from "../validate-fields.ts";
import { isCommonChatRequest } from "./common-chat-check.ts";
import { ChatRequest } from "./request-fields.ts";

const message = { role: "user", content: "hi" };
const good = { model: "m", messages: [message] };

/** Valid and invalid values. The test tries each of them in every field. */
const VALUES = [
  ...[
    undefined,
    null,
    true,
    false,
    0,
    -0,
    1,
    1.5,
    2,
    2.1,
    -2,
    -2.1,
    400,
    2 ** 53,
    -(2 ** 53),
    2 ** 53 + 2,
    1e308,
    Infinity,
  ],
  ...["", "x", "user", [], {}, [message], [message, { role: "system", content: "" }], ["a"], [null], [[]]],
  ...[{ role: "user" }, { role: "assistant", content: null, tool_calls: [] }, { role: "user", content: [] }].map(
    (one) => [one],
  ),
  ...[{ role: "nobody", content: "x" }, { ...message, name: "n" }, { content: "x" }, { role: 1, content: "x" }].map(
    (one) => [one],
  ),
  JSON.parse('[{"role":"user","content":"x","__proto__":1}]'),
  { include_usage: true },
  { type: "json_object" },
];
const FIELDS = [...Object.keys(ChatRequest.shape), "user", "metadata", "toString", "whatever"];

/** A generator of pseudorandom numbers from a seed. */
function draws(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

test("the fast check of chat requests accepts only requests that the schema accepts, with the same result", () => {
  const draw = draws(7);
  const pick = <T>(list: readonly T[]): T => list[draw(list.length)] as T;
  let plain = 0;
  for (let i = 0; i < 40_000; i++) {
    const body: Record<string, unknown> = { ...good };
    for (let n = draw(4); n > 0; n--) body[pick(FIELDS)] = pick(VALUES);
    if (!isCommonChatRequest(body)) continue;
    plain += 1;
    const known = Object.fromEntries(Object.entries(body).filter(([field]) => Object.hasOwn(ChatRequest.shape, field)));
    assert.deepEqual(validateFields(ChatRequest, body), { fields: known }, JSON.stringify(body));
  }
  assert.ok(plain > 10_000, `${plain} of them were plain`);
});

test("the fast check of chat requests accepts the most common ones, and leaves those with other fields to the schema", () => {
  for (const more of [
    {},
    { stream: true, max_tokens: 400, temperature: 0.7, top_p: 1, seed: 7 },
    { user: "somebody", tools: [], metadata: null },
  ])
    assert.ok(isCommonChatRequest({ ...good, ...more }), JSON.stringify(more));
  for (const more of [
    { stop: "x" },
    { temperature: null },
    { n: 1 },
    { messages: [] },
    { model: "" },
    { max_tokens: 0 },
  ])
    assert.ok(!isCommonChatRequest({ ...good, ...more }), JSON.stringify(more));
  for (const body of [null, undefined, "x", 7, [], [good], {}])
    assert.ok(!isCommonChatRequest(body), JSON.stringify(body));
});
