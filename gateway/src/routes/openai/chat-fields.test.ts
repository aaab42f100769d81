/** The fields of a chat request: which values are refused, and what the others mean. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { chat } from "./chat.ts";
import { completions } from "./completions.ts";
import { parseRefusedRequest, VALID_CHAT_REQUEST, VALID_MESSAGES } from "./testing-chat-request.ts";

describe("chat fields", () => {
  for (const [name, body, param, rule] of [
    ["no object", [], undefined, /JSON object/],
    ["no model", { messages: VALID_MESSAGES }, "model", /"model" is required and must be a string/],
    ["empty model", { ...VALID_CHAT_REQUEST, model: "" }, "model", /must not be empty/],
    ["no messages", { model: "m" }, "messages", /"messages" is required/],
    ["no message", { ...VALID_CHAT_REQUEST, messages: [] }, "messages", /at least one/],
    ["an invalid message", { ...VALID_CHAT_REQUEST, messages: ["hi"] }, "messages[0]", /must be an object/],
    [
      "unknown role",
      { ...VALID_CHAT_REQUEST, messages: [...VALID_MESSAGES, { role: "boss", content: "x" }] },
      "messages[1].role",
      /one of system/,
    ],
    [
      "content of the wrong type",
      { ...VALID_CHAT_REQUEST, messages: [{ role: "user", content: 5 }] },
      "messages[0].content",
      /string or an array/,
    ],
    [
      "no content",
      { ...VALID_CHAT_REQUEST, messages: [{ role: "user" }] },
      "messages[0].content",
      /string or an array/,
    ],
    [
      "null content without tool calls",
      { ...VALID_CHAT_REQUEST, messages: [{ role: "assistant", content: null }] },
      "messages[0].content",
      /./,
    ],
    [
      "an image part",
      {
        ...VALID_CHAT_REQUEST,
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "a" },
              { type: "image_url", image_url: {} },
            ],
          },
        ],
      },
      "messages[0].content[1].type",
      /must be "text"/,
    ],
    ["max_tokens 0", { ...VALID_CHAT_REQUEST, max_tokens: 0 }, "max_tokens", /1 or more/],
    ["max_tokens 1.5", { ...VALID_CHAT_REQUEST, max_tokens: 1.5 }, "max_tokens", /integer/],
    [
      "max_completion_tokens -1",
      { ...VALID_CHAT_REQUEST, max_completion_tokens: -1 },
      "max_completion_tokens",
      /1 or more/,
    ],
    ["temperature 2.1", { ...VALID_CHAT_REQUEST, temperature: 2.1 }, "temperature", /between 0 and 2/],
    ["temperature text", { ...VALID_CHAT_REQUEST, temperature: "hot" }, "temperature", /number between 0 and 2/],
    ["top_p 2", { ...VALID_CHAT_REQUEST, top_p: 2 }, "top_p", /between 0 and 1/],
    ["presence_penalty -3", { ...VALID_CHAT_REQUEST, presence_penalty: -3 }, "presence_penalty", /between -2 and 2/],
    ["seed 1.5", { ...VALID_CHAT_REQUEST, seed: 1.5 }, "seed", /integer/],
    ["empty stop", { ...VALID_CHAT_REQUEST, stop: "" }, "stop", /must not be empty/],
    ["five stops", { ...VALID_CHAT_REQUEST, stop: ["a", "b", "c", "d", "e"] }, "stop", /at most 4/],
    ["an empty stop among others", { ...VALID_CHAT_REQUEST, stop: ["a", ""] }, "stop[1]", /must not be empty/],
    ["an endless stop string", { ...VALID_CHAT_REQUEST, stop: "x".repeat(2049) }, "stop", /at most 2048 characters/],
    [
      "an endless stop string among others",
      { ...VALID_CHAT_REQUEST, stop: ["a", "x".repeat(2049)] },
      "stop[1]",
      /at most 2048 characters/,
    ],
    [
      "an invalid part",
      { ...VALID_CHAT_REQUEST, messages: [{ role: "user", content: [1] }] },
      "messages[0].content[0]",
      /an object with type and text/,
    ],
    [
      "invalid tool calls",
      { ...VALID_CHAT_REQUEST, messages: [{ role: "assistant", tool_calls: 1 }] },
      "messages[0].tool_calls",
      /must be an array/,
    ],
    ["n 2", { ...VALID_CHAT_REQUEST, n: 2 }, "n", /must be 1/],
    ["stream yes", { ...VALID_CHAT_REQUEST, stream: "yes" }, "stream", /true or false/],
    [
      "include_usage 1",
      { ...VALID_CHAT_REQUEST, stream: true, stream_options: { include_usage: 1 } },
      "stream_options.include_usage",
      /true or false/,
    ],
    [
      "stream_options 1 of a stream",
      { ...VALID_CHAT_REQUEST, stream: true, stream_options: 1 },
      "stream_options",
      /must be an object/,
    ],
    [
      "tool_choice required",
      { ...VALID_CHAT_REQUEST, tool_choice: "required" },
      "tool_choice",
      /tool calls are not supported/,
    ],
    [
      "tool_choice with a tool's name",
      { ...VALID_CHAT_REQUEST, tool_choice: { type: "function", function: { name: "f" } } },
      "tool_choice",
      /must be "auto" or "none": tool calls are not supported/,
    ],
    [
      "function_call required",
      { ...VALID_CHAT_REQUEST, function_call: "required" },
      "function_call",
      /tool calls are not supported/,
    ],
    [
      "function_call with a function's name",
      { ...VALID_CHAT_REQUEST, function_call: { name: "f" } },
      "function_call",
      /tool calls are not supported/,
    ],
    [
      "null content without a function call",
      { ...VALID_CHAT_REQUEST, messages: [{ role: "assistant", content: null, function_call: null }] },
      "messages[0].content",
      /./,
    ],
    [
      "an invalid function call",
      { ...VALID_CHAT_REQUEST, messages: [{ role: "assistant", function_call: "f" }] },
      "messages[0].function_call",
      /must be an object/,
    ],
    ["tool_choice 1", { ...VALID_CHAT_REQUEST, tool_choice: 1 }, "tool_choice", /tool calls are not supported/],
  ] as [string, unknown, string | undefined, RegExp][]) {
    test(`${name} is refused, naming ${param ?? "the body"}`, () => {
      const refused = parseRefusedRequest(chat.parse, body);
      assert.equal(refused.param, param);
      assert.match(refused.message, rule);
      if (param !== undefined) assert.ok(refused.message.startsWith(`"${param}" `), refused.message);
    });
  }

  test("treat null as absent, ignore unknown fields, and prefer max_completion_tokens to max_tokens", () => {
    const ask = chat.parse({
      ...VALID_CHAT_REQUEST,
      temperature: null,
      stop: null,
      max_tokens: 5,
      max_completion_tokens: 7,
      tools: [{}],
      user: 4,
      whatever: true,
    });
    assert.equal(ask.outputTokensMax, 7);
    assert.deepEqual(ask.sampling, {});
    assert.equal(ask.stream, false);
  });

  test("join text parts, and allow null content in an assistant message with tool calls", () => {
    const ask = chat.parse({
      ...VALID_CHAT_REQUEST,
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "a" },
            { type: "text", text: "b" },
          ],
        },
        { role: "assistant", content: null, tool_calls: [{}] },
        { role: "assistant", content: null, function_call: { name: "f", arguments: "{}" } },
      ],
    });
    assert.deepEqual(ask.body, {
      messages: [
        { role: "user", content: "ab" },
        { role: "assistant", content: "" },
        { role: "assistant", content: "" },
      ],
    });
  });

  test("read stream_options only for streams", () => {
    const options = { stream_options: { include_usage: true } };
    assert.equal(chat.parse({ ...VALID_CHAT_REQUEST, ...options }).includeUsage, false);
    assert.equal(chat.parse({ ...VALID_CHAT_REQUEST, ...options, stream: true }).includeUsage, true);
    for (const stream_options of [7, "x", [], { include_usage: "yes" }]) {
      for (const stream of [undefined, null, false]) {
        assert.equal(chat.parse({ ...VALID_CHAT_REQUEST, stream, stream_options }).includeUsage, false);
        assert.equal(completions.parse({ model: "m", stream, stream_options }).includeUsage, false);
      }
    }
  });

  test("allow tool_choice without tools, and ignore it", () => {
    const { ignored: _, ...plain } = chat.parse(VALID_CHAT_REQUEST);
    for (const field of ["tool_choice", "function_call"]) {
      for (const choice of ["auto", "none", null]) {
        const { ignored, ...ask } = chat.parse({ ...VALID_CHAT_REQUEST, [field]: choice });
        assert.deepEqual(ask, plain);
        assert.deepEqual(ignored, choice === null ? [] : [field]);
      }
    }
  });
});
