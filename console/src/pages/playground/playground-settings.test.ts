import assert from "node:assert/strict";
import { test } from "node:test";
import {
  DEFAULT_SETTINGS,
  listChosenModels,
  makeRequestBody,
  type PlaygroundSettings,
  parseRequestParameters,
  readSettings,
} from "./playground-settings.ts";

const settings = (more: Partial<PlaygroundSettings>): PlaygroundSettings => ({
  ...DEFAULT_SETTINGS,
  model: "tiny-3b",
  ...more,
});

test("the playground omits empty fields from the request", () => {
  assert.deepEqual(parseRequestParameters(settings({ maxTokens: "" })), { fields: {}, problems: {} });
  assert.deepEqual(parseRequestParameters(settings({ temperature: "0", seed: "-7", stop: "END\n\nSTOP" })).fields, {
    max_tokens: 512,
    temperature: 0,
    seed: -7,
    stop: ["END", "STOP"],
  });
});

test("the playground shows an error next to each value that the API would refuse, and does not send the value", () => {
  const wrong = settings({ maxTokens: "0", temperature: "2.1", topP: "x", seed: "1.5", stop: "a\nb\nc\nd\ne" });
  const { fields, problems } = parseRequestParameters(wrong);
  assert.deepEqual(fields, {});
  assert.deepEqual(Object.keys(problems).sort(), ["maxTokens", "seed", "stop", "temperature", "topP"]);
});

test("the playground sends the system message first and the draft last", () => {
  const said = [
    { role: "user" as const, content: "one" },
    { role: "assistant" as const, content: "two" },
  ];
  const { messages } = makeRequestBody(settings({ system: "Be brief." }), said, "three");
  assert.deepEqual(
    messages.map(({ role, content }) => `${role}: ${content}`),
    ["system: Be brief.", "user: one", "assistant: two", "user: three"],
  );
});

test("the playground sends the response format, and sends nothing if the schema is invalid", () => {
  const form = { format: "json_schema" as const, schemaName: "x" };
  assert.deepEqual(parseRequestParameters(settings({ ...form, schema: "{}", maxTokens: "" })).fields, {
    response_format: { type: "json_schema", json_schema: { name: "x", schema: {}, strict: true } },
  });
  assert.deepEqual(Object.keys(parseRequestParameters(settings({ ...form, schema: "{" })).problems), ["schema"]);
});

test("the playground does not compare a model with itself", () => {
  assert.deepEqual(listChosenModels(settings({})), ["tiny-3b"]);
  assert.deepEqual(listChosenModels(settings({ other: "tiny-3b" })), ["tiny-3b"]);
  assert.deepEqual(listChosenModels(settings({ other: "reason-32b" })), ["tiny-3b", "reason-32b"]);
});

test("the playground restores only valid settings", () => {
  assert.deepEqual(readSettings(null), DEFAULT_SETTINGS);
  assert.deepEqual(readSettings({ system: "Be brief.", seed: 7, format: "xml", more: 1 }), {
    ...DEFAULT_SETTINGS,
    system: "Be brief.",
  });
});
