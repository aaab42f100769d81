import assert from "node:assert/strict";
import { test } from "node:test";
import { deriveExpectedResponses } from "./derive-expected-responses.ts";
import { generateFuzzCase } from "./generate-fuzz-case.ts";
import { SeededChoices } from "./seeded-choices.ts";
import { formatFuzzCase } from "./send-and-judge.ts";

test("a generated request depends only on its seed and index", () => {
  const shown = (seed: number, index: number): string => formatFuzzCase(generateFuzzCase(seed, index));
  const alone = shown(7, 400);
  for (let index = 390; index < 400; index++) generateFuzzCase(7, index);
  assert.equal(shown(7, 400), alone);
  const many = Array.from({ length: 200 }, (_, index) => [shown(7, index), shown(8, index)]).flat();
  assert.ok(new Set(many).size > 300, "other seeds and indexes give other requests");
});

test("random choices follow their weights and stay within bounds", () => {
  const random = new SeededChoices(1, 1);
  const list = [
    { name: "rare", weight: 1 },
    { name: "usual", weight: 9 },
  ];
  const rare = Array.from({ length: 5000 }, () => random.weighted(list)).filter(({ name }) => name === "rare").length;
  assert.ok(rare > 350 && rare < 650, `${rare} of 5000`);
  const numbers = new Set(Array.from({ length: 500 }, () => random.between(-2, 2)));
  assert.deepEqual(
    [...numbers].sort((a, b) => a - b),
    [-2, -1, 0, 1, 2],
  );
});

test("deriveExpectedResponses() derives the expected responses from a request's body", () => {
  const chat = (more: object): object => ({ model: "tiny-3b", messages: [{ role: "user", content: "x" }], ...more });
  const due = (body: unknown): unknown => deriveExpectedResponses("chat", Buffer.from(JSON.stringify(body)));
  assert.deepEqual(due([]), [{ status: 400, param: null }]);
  assert.deepEqual(due(chat({ n: 2, stop: ["a", ""] })), [{ status: 400, param: ["n", "stop[1]"] }]);
  assert.deepEqual(due(chat({ model: "large-70b" })), [{ status: 404, code: "model_not_found" }]);
  assert.deepEqual(due(chat({ max_tokens: 4, temperature: null })), [
    { status: 200, answer: "chat", model: "tiny-3b", outputTokensMax: 4 },
  ]);
  assert.deepEqual(due(chat({ messages: [{ role: "boss", content: [{ type: "text" }, 5] }] })), [
    { status: 400, param: ["messages[0].role", "messages[0].content[0].text", "messages[0].content[1]"] },
  ]);
});
