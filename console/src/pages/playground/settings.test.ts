import assert from "node:assert/strict";
import { test } from "node:test";
import { FIRST_SETTINGS, readParameters, requestBody, type Settings } from "./settings.ts";

const settings = (more: Partial<Settings>): Settings => ({ ...FIRST_SETTINGS, model: "tiny-3b", ...more });

test("what is left empty is not sent", () => {
  assert.deepEqual(readParameters(settings({ maxTokens: "" })), { fields: {}, problems: {} });
  assert.deepEqual(readParameters(settings({ temperature: "0", seed: "-7", stop: "END\n\nSTOP" })).fields, {
    max_tokens: 512,
    temperature: 0,
    seed: -7,
    stop: ["END", "STOP"],
  });
});

test("what the API would refuse is said beside its field, and not sent", () => {
  const wrong = settings({ maxTokens: "0", temperature: "2.1", topP: "x", seed: "1.5", stop: "a\nb\nc\nd\ne" });
  const { fields, problems } = readParameters(wrong);
  assert.deepEqual(fields, {});
  assert.deepEqual(Object.keys(problems).sort(), ["maxTokens", "seed", "stop", "temperature", "topP"]);
});

test("the request has the system's words first and the draft last", () => {
  const said = [
    { role: "user" as const, content: "one" },
    { role: "assistant" as const, content: "two" },
  ];
  const { messages } = requestBody(settings({ system: "Be brief." }), said, "three");
  assert.deepEqual(
    messages.map(({ role, content }) => `${role}: ${content}`),
    ["system: Be brief.", "user: one", "assistant: two", "user: three"],
  );
});
