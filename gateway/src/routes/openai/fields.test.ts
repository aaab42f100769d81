/** What the parsers of all endpoints have in common: limits of values, ignored fields, labels. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { IGNORED_EMBEDDING_FIELDS, IGNORED_FIELDS } from "@tollgate/api/public/ignored-fields.ts";
import type { Endpoint } from "../../inference/endpoint.ts";
import { chat } from "./chat.ts";
import { completions } from "./completions.ts";
import { embeddings } from "./embeddings.ts";
import { parseRefusedRequest, VALID_CHAT_REQUEST } from "./testing-chat-request.ts";

/** OpenAI fields that clients send and the gateway ignores, copied from the service specification. */
const DIALECT =
  "tools functions logprobs top_logprobs logit_bias user store metadata reasoning_effort parallel_tool_calls echo best_of suffix service_tier verbosity modalities audio prediction web_search_options safety_identifier prompt_cache_key".split(
    " ",
  );
const VALUES = [true, 7, "x", "", [{}], {}, Array(33_000).fill(1), [{ content: Array(33_000).fill(1) }]];

describe("completion fields", () => {
  test("use an empty prompt by default, and join an array of prompts into one prompt", () => {
    assert.deepEqual(completions.parse({ model: "m" }).body, { prompt: "" });
    assert.deepEqual(completions.parse({ model: "m", prompt: ["a", "b"] }).body, { prompt: "a\nb" });
  });
  test("refuse token IDs", () => {
    assert.equal(parseRefusedRequest(completions.parse, { model: "m", prompt: [1, 2] }).param, "prompt[0]");
    assert.equal(parseRefusedRequest(completions.parse, { model: "m", prompt: 7 }).param, "prompt");
  });
});

describe("the request parsers", () => {
  test("accept a value that equals its limit", () => {
    for (const [least, most] of [
      [{ temperature: 0 }, { temperature: 2 }],
      [{ top_p: 0 }, { top_p: 1 }],
      [{ presence_penalty: -2 }, { presence_penalty: 2 }],
      [{ frequency_penalty: -2 }, { frequency_penalty: 2 }],
      [{ seed: -(2 ** 53) }, { seed: 2 ** 53 }],
    ]) {
      assert.deepEqual(chat.parse({ ...VALID_CHAT_REQUEST, ...least }).sampling, least);
      assert.deepEqual(completions.parse({ model: "m", ...most }).sampling, most);
    }
    assert.equal(chat.parse({ ...VALID_CHAT_REQUEST, max_tokens: 1 }).outputTokensMax, 1);
    assert.deepEqual(chat.parse({ ...VALID_CHAT_REQUEST, stop: [] }).sampling, {}, "an empty list is absent");
    assert.deepEqual(chat.parse({ ...VALID_CHAT_REQUEST, stop: "x".repeat(2048) }).sampling, {
      stop: ["x".repeat(2048)],
    });
    assert.deepEqual(chat.parse({ ...VALID_CHAT_REQUEST, stop: "a" }).sampling, { stop: ["a"] });
    assert.deepEqual(chat.parse({ ...VALID_CHAT_REQUEST, stop: ["a", "b", "c", "d"] }).sampling, {
      stop: ["a", "b", "c", "d"],
    });
    assert.ok(chat.parse({ ...VALID_CHAT_REQUEST, n: 1, response_format: { type: "text" } }));
  });

  test("refuse a value just beyond its limit on both generation endpoints, and name the field", () => {
    for (const fields of [
      { temperature: -0.1 },
      { temperature: 2.1 },
      { top_p: 1.1 },
      { top_p: -0.1 },
      { presence_penalty: 2.1 },
      { frequency_penalty: -2.1 },
      { seed: 2 ** 53 + 2 },
      { max_tokens: 0 },
      { n: 0 },
    ]) {
      const [field] = Object.keys(fields);
      assert.equal(parseRefusedRequest(chat.parse, { ...VALID_CHAT_REQUEST, ...fields }).param, field);
      assert.equal(parseRefusedRequest(completions.parse, { model: "m", ...fields }).param, field);
    }
  });

  test("accept every message role of the OpenAI API", () => {
    for (const role of ["system", "developer", "user", "assistant", "tool", "function"]) {
      assert.ok(chat.parse({ ...VALID_CHAT_REQUEST, messages: [{ role, content: "x" }] }), role);
    }
  });

  test("ignore OpenAI fields that the gateway does not support, whatever their value, and list them", () => {
    const asked: [Endpoint, object][] = [
      [chat, VALID_CHAT_REQUEST],
      [completions, { model: "m", prompt: "a" }],
      [embeddings, { model: "m", input: "a" }],
    ];
    for (const [endpoint, body] of asked) {
      const { ignored: none, ...plain } = endpoint.parse(body);
      assert.deepEqual(none, []);
      const known = endpoint === embeddings ? [...IGNORED_FIELDS, ...IGNORED_EMBEDDING_FIELDS] : IGNORED_FIELDS;
      for (const name of [...known, ...DIALECT, "whatever"]) {
        const isKnown = name !== "whatever";
        const values = /tool_choice|function_call/.test(name) && endpoint !== embeddings ? ["auto"] : VALUES;
        for (const value of values) {
          const { ignored, label, labelField: _, ...ask } = endpoint.parse({ ...body, [name]: value });
          assert.deepEqual({ ...ask, label: null, labelField: null }, plain, name);
          if (name !== "user" && name !== "metadata") assert.equal(label, null, name);
          assert.deepEqual(ignored, isKnown ? [name] : [], name);
        }
        assert.deepEqual(endpoint.parse({ ...body, [name]: null }).ignored, [], "null is absent");
      }
    }
  });

  test("use metadata.label, or else user, as the request's label if the value is one line of at most 64 characters", () => {
    const long = "x".repeat(64);
    for (const [sent, label, field] of [
      [{ user: "me" }, "me", "user"],
      [{ metadata: { label: " nightly run " } }, "nightly run", "metadata"],
      [{ user: "me", metadata: { label: "nightly" } }, "nightly", "metadata"],
      [{ user: "me", metadata: { label: 5 } }, "me", "user"],
      [{ user: long }, long, "user"],
      [{ user: `${long}x` }, null, null],
      [{ user: "two\nlines" }, null, null],
      [{ user: " " }, null, null],
      [{ user: { id: 1 }, metadata: "label" }, null, null],
      [{ metadata: ["label"] }, null, null],
    ] as const) {
      const ask = chat.parse({ ...VALID_CHAT_REQUEST, ...sent });
      assert.deepEqual([ask.label, ask.labelField], [label, field], JSON.stringify(sent));
    }
  });

  test("list ignored fields in a fixed order, including stream_options if the request does not stream", () => {
    const body = {
      ...VALID_CHAT_REQUEST,
      logprobs: true,
      tools: [],
      user: "me",
      stream_options: { include_usage: true },
    };
    assert.deepEqual(chat.parse(body).ignored, ["tools", "logprobs", "user", "stream_options"]);
    assert.deepEqual(chat.parse({ ...body, stream: true }).ignored, ["tools", "logprobs", "user"]);
  });
});
