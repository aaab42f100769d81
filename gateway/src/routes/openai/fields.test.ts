import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { IGNORED_EMBEDDING_FIELDS, IGNORED_FIELDS } from "@tollgate/api/public/ignored-fields.ts";
import { Fault } from "../../faults.ts";
import type { Endpoint } from "../../inference/endpoint.ts";
import { chat } from "./chat.ts";
import { completions } from "./completions.ts";
import { embeddings, embeddingsEndpoint } from "./embeddings.ts";

const messages = [{ role: "user", content: "hi" }];
const good = { model: "tiny-3b", messages };

function refusal(parse: (body: unknown) => unknown, body: unknown): { param: unknown; message: string } {
  try {
    parse(body);
  } catch (error) {
    assert.ok(error instanceof Fault, String(error));
    const { error: shown } = error.body();
    assert.equal(error.status, 400);
    assert.equal(shown.type, "invalid_request_error");
    assert.ok(!("code" in shown));
    return { param: shown.param, message: shown.message };
  }
  throw new Error("nothing was refused");
}

describe("chat fields", () => {
  for (const [name, body, param, rule] of [
    ["no object", [], undefined, /JSON object/],
    ["no model", { messages }, "model", /"model" is required and must be a string/],
    ["empty model", { ...good, model: "" }, "model", /must not be empty/],
    ["no messages", { model: "m" }, "messages", /"messages" is required/],
    ["no message", { ...good, messages: [] }, "messages", /at least one/],
    ["an invalid message", { ...good, messages: ["hi"] }, "messages[0]", /must be an object/],
    [
      "unknown role",
      { ...good, messages: [...messages, { role: "boss", content: "x" }] },
      "messages[1].role",
      /one of system/,
    ],
    [
      "content of the wrong type",
      { ...good, messages: [{ role: "user", content: 5 }] },
      "messages[0].content",
      /string or an array/,
    ],
    ["no content", { ...good, messages: [{ role: "user" }] }, "messages[0].content", /string or an array/],
    [
      "null content without tool calls",
      { ...good, messages: [{ role: "assistant", content: null }] },
      "messages[0].content",
      /./,
    ],
    [
      "an image part",
      {
        ...good,
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
    ["max_tokens 0", { ...good, max_tokens: 0 }, "max_tokens", /1 or more/],
    ["max_tokens 1.5", { ...good, max_tokens: 1.5 }, "max_tokens", /integer/],
    ["max_completion_tokens -1", { ...good, max_completion_tokens: -1 }, "max_completion_tokens", /1 or more/],
    ["temperature 2.1", { ...good, temperature: 2.1 }, "temperature", /between 0 and 2/],
    ["temperature text", { ...good, temperature: "hot" }, "temperature", /number between 0 and 2/],
    ["top_p 2", { ...good, top_p: 2 }, "top_p", /between 0 and 1/],
    ["presence_penalty -3", { ...good, presence_penalty: -3 }, "presence_penalty", /between -2 and 2/],
    ["seed 1.5", { ...good, seed: 1.5 }, "seed", /integer/],
    ["empty stop", { ...good, stop: "" }, "stop", /must not be empty/],
    ["five stops", { ...good, stop: ["a", "b", "c", "d", "e"] }, "stop", /at most 4/],
    ["an empty stop among others", { ...good, stop: ["a", ""] }, "stop[1]", /must not be empty/],
    ["an endless stop string", { ...good, stop: "x".repeat(2049) }, "stop", /at most 2048 characters/],
    [
      "an endless stop string among others",
      { ...good, stop: ["a", "x".repeat(2049)] },
      "stop[1]",
      /at most 2048 characters/,
    ],
    [
      "an invalid part",
      { ...good, messages: [{ role: "user", content: [1] }] },
      "messages[0].content[0]",
      /an object with type and text/,
    ],
    [
      "invalid tool calls",
      { ...good, messages: [{ role: "assistant", tool_calls: 1 }] },
      "messages[0].tool_calls",
      /must be an array/,
    ],
    ["n 2", { ...good, n: 2 }, "n", /must be 1/],
    ["stream yes", { ...good, stream: "yes" }, "stream", /true or false/],
    [
      "include_usage 1",
      { ...good, stream: true, stream_options: { include_usage: 1 } },
      "stream_options.include_usage",
      /true or false/,
    ],
    [
      "stream_options 1 of a stream",
      { ...good, stream: true, stream_options: 1 },
      "stream_options",
      /must be an object/,
    ],
    ["tool_choice required", { ...good, tool_choice: "required" }, "tool_choice", /tool calls are not supported/],
    [
      "tool_choice with a tool's name",
      { ...good, tool_choice: { type: "function", function: { name: "f" } } },
      "tool_choice",
      /must be "auto" or "none": tool calls are not supported/,
    ],
    ["function_call required", { ...good, function_call: "required" }, "function_call", /tool calls are not supported/],
    [
      "function_call with a function's name",
      { ...good, function_call: { name: "f" } },
      "function_call",
      /tool calls are not supported/,
    ],
    [
      "null content without a function call",
      { ...good, messages: [{ role: "assistant", content: null, function_call: null }] },
      "messages[0].content",
      /./,
    ],
    [
      "an invalid function call",
      { ...good, messages: [{ role: "assistant", function_call: "f" }] },
      "messages[0].function_call",
      /must be an object/,
    ],
    ["tool_choice 1", { ...good, tool_choice: 1 }, "tool_choice", /tool calls are not supported/],
  ] as [string, unknown, string | undefined, RegExp][]) {
    test(`${name} is refused, naming ${param ?? "the body"}`, () => {
      const refused = refusal(chat.parse, body);
      assert.equal(refused.param, param);
      assert.match(refused.message, rule);
      if (param !== undefined) assert.ok(refused.message.startsWith(`"${param}" `), refused.message);
    });
  }

  test("treat null as absent, ignore unknown fields, and prefer max_completion_tokens to max_tokens", () => {
    const ask = chat.parse({
      ...good,
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
      ...good,
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
    assert.equal(chat.parse({ ...good, ...options }).includeUsage, false);
    assert.equal(chat.parse({ ...good, ...options, stream: true }).includeUsage, true);
    for (const stream_options of [7, "x", [], { include_usage: "yes" }]) {
      for (const stream of [undefined, null, false]) {
        assert.equal(chat.parse({ ...good, stream, stream_options }).includeUsage, false);
        assert.equal(completions.parse({ model: "m", stream, stream_options }).includeUsage, false);
      }
    }
  });

  test("allow tool_choice without tools, and ignore it", () => {
    const { ignored: _, ...plain } = chat.parse(good);
    for (const field of ["tool_choice", "function_call"]) {
      for (const choice of ["auto", "none", null]) {
        const { ignored, ...ask } = chat.parse({ ...good, [field]: choice });
        assert.deepEqual(ask, plain);
        assert.deepEqual(ignored, choice === null ? [] : [field]);
      }
    }
  });
});

describe("response_format", () => {
  const asks = (response_format: unknown) => ({ ...good, response_format });
  const schemaOf = (json_schema: unknown) => asks({ type: "json_schema", json_schema });
  /** A schema with this number of nested levels; `{}` is one level. */
  const nested = (levels: number): object => (levels === 1 ? {} : { not: nested(levels - 1) });
  /** A schema whose JSON has this length in bytes. */
  const long = (bytes: number): object => ({ const: "x".repeat(bytes - '{"const":""}'.length) });
  /** A schema of less than 3 KB, which would expand to 2^40 alternatives. */
  const doubling = {
    anyOf: [{ $ref: "#/$defs/d0" }, { $ref: "#/$defs/d0" }],
    $defs: Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => {
        const next = i === 39 ? { type: "null" } : { $ref: `#/$defs/d${i + 1}` };
        return [`d${i}`, { anyOf: [next, next] }];
      }),
    ),
  };
  const SCHEMA = "response_format.json_schema.schema";

  for (const [name, body, param, rule] of [
    ["no format", asks("json_object"), "response_format", /must be an object with type/],
    ["a list of formats", asks([{ type: "text" }]), "response_format", /must be an object with type/],
    ["a format without a type", asks({}), "response_format.type", /one of text, json_object, json_schema/],
    ["an unknown type", asks({ type: "grammar" }), "response_format.type", /one of text, json_object, json_schema/],
    ["no json_schema", asks({ type: "json_schema" }), "response_format.json_schema", /with name and schema/],
    ["no name", schemaOf({ schema: {} }), "response_format.json_schema.name", /1 to 64 characters/],
    ["an empty name", schemaOf({ name: "", schema: {} }), "response_format.json_schema.name", /1 to 64 characters/],
    [
      "a long name",
      schemaOf({ name: "x".repeat(65), schema: {} }),
      "response_format.json_schema.name",
      /1 to 64 characters/,
    ],
    ["a name with a space", schemaOf({ name: "a b", schema: {} }), "response_format.json_schema.name", /A-Z, a-z/],
    ["no schema", schemaOf({ name: "a" }), SCHEMA, /must be a JSON Schema object/],
    ["a schema that is true", schemaOf({ name: "a", schema: true }), SCHEMA, /must be a JSON Schema object/],
    ["a schema that is a list", schemaOf({ name: "a", schema: [] }), SCHEMA, /must be a JSON Schema object/],
    [
      "no valid schema",
      schemaOf({ name: "a", schema: { type: "objet" } }),
      SCHEMA,
      /at #\/type: must be one of object/,
    ],
    [
      "an invalid part",
      schemaOf({ name: "a", schema: { properties: { a: 1 } } }),
      SCHEMA,
      /at #\/properties\/a: must be/,
    ],
    [
      "a reference without a target",
      schemaOf({ name: "a", schema: { $ref: "#/$defs/a" } }),
      SCHEMA,
      /at #\/\$ref: must be/,
    ],
    ["definitions that double", schemaOf({ name: "a", schema: doubling }), SCHEMA, /at most 10000 schema parts/],
    ["101 levels", schemaOf({ name: "a", schema: nested(101) }), SCHEMA, /at most 100 levels deep/],
    ["1000 levels", schemaOf({ name: "a", schema: nested(1000) }), SCHEMA, /at most 100 levels deep/],
    ["one byte more than 64 KiB", schemaOf({ name: "a", schema: long(65_537) }), SCHEMA, /at most 64 KiB/],
    [
      "64 Ki characters of more than 64 KiB",
      schemaOf({ name: "a", schema: { const: "é".repeat(40_000) } }),
      SCHEMA,
      /at most 64 KiB/,
    ],
    [
      "strict as text",
      schemaOf({ name: "a", schema: {}, strict: "yes" }),
      "response_format.json_schema.strict",
      /true or false/,
    ],
  ] as [string, object, string, RegExp][]) {
    test(`with ${name} is refused on both generation endpoints, naming ${param}`, () => {
      for (const { parse } of [chat, completions]) {
        const refused = refusal(parse, { prompt: "hi", ...body });
        assert.equal(refused.param, param);
        assert.match(refused.message, rule);
        assert.ok(refused.message.startsWith(`"${param}" `), refused.message);
      }
    });
  }

  test("is sent in the job's body, only to nodes that support the format", () => {
    const schema = { type: "object", properties: { b: {}, a: {} } };
    const use = (keyword: string) => ({ needs: keyword, keyword, place: "#" });
    for (const [response_format, format] of [
      [{ type: "json_object" }, { type: "json_object" }],
      [
        { type: "json_schema", json_schema: { name: "x", schema, description: "ignored" } },
        { type: "json_schema", name: "x", schema },
      ],
      [
        { type: "json_schema", json_schema: { name: "x", schema, strict: null } },
        { type: "json_schema", name: "x", schema },
      ],
      [
        { type: "json_schema", json_schema: { name: "x", schema, strict: false } },
        { type: "json_schema", name: "x", schema, strict: false },
      ],
    ]) {
      const ask = chat.parse({ ...good, response_format });
      const keywords = format?.type === "json_object" ? [] : [use("type"), use("properties")];
      assert.deepEqual(ask, { ...chat.parse(good), body: { messages, format }, formatted: true, keywords });
      const text = { model: "m", prompt: "hi" };
      const completion = completions.parse({ ...text, response_format });
      const body = { prompt: "hi", format };
      assert.deepEqual(completion, { ...completions.parse(text), body, formatted: true, keywords });
    }
  });

  test("has no effect if it is text or null", () => {
    for (const response_format of [{ type: "text" }, { type: "text", json_schema: 7 }, null]) {
      assert.deepEqual(chat.parse({ ...good, response_format }), chat.parse(good));
    }
    assert.equal(chat.parse(good).formatted, false);
    assert.equal(
      embeddings.parse({ model: "m", input: "a", response_format: { type: "json_object" } }).formatted,
      false,
    );
  });

  test("limits a schema to 64 KiB and 100 levels", () => {
    assert.ok(chat.parse(schemaOf({ name: "x".repeat(64), schema: nested(100), strict: true })));
    assert.ok(chat.parse(schemaOf({ name: "A-z_0", schema: long(65_536) })));
  });
});

describe("completion fields", () => {
  test("use an empty prompt by default, and join an array of prompts into one prompt", () => {
    assert.deepEqual(completions.parse({ model: "m" }).body, { prompt: "" });
    assert.deepEqual(completions.parse({ model: "m", prompt: ["a", "b"] }).body, { prompt: "a\nb" });
  });
  test("refuse token IDs", () => {
    assert.equal(refusal(completions.parse, { model: "m", prompt: [1, 2] }).param, "prompt[0]");
    assert.equal(refusal(completions.parse, { model: "m", prompt: 7 }).param, "prompt");
  });
});

describe("embedding fields", () => {
  test("treat a string as one input element, and ignore encoding_format and dimensions", () => {
    assert.deepEqual(embeddings.parse({ model: "m", input: "a", encoding_format: "base64", dimensions: 3 }).body, {
      input: ["a"],
    });
  });
  for (const [input, param] of [
    [undefined, "input"],
    ["", "input"],
    [[], "input"],
    [["a", ""], "input[1]"],
    [[1, 2], "input[0]"],
    [[[1, 2], [3]], "input[0]"],
    [Array(2049).fill("x"), "input"],
  ] as const) {
    test(`refuse the input ${JSON.stringify(input)?.slice(0, 20)}, naming ${param}`, () => {
      assert.equal(refusal(embeddings.parse, { model: "m", input }).param, param);
    });
  }
});

describe("token IDs for embeddings", () => {
  test("are refused with an error that names a client's setting for sending text instead", () => {
    for (const input of [
      [1, 2],
      [[1, 2], [3]],
    ]) {
      const { message } = refusal(embeddings.parse, { model: "m", input });
      assert.match(message, /token IDs are not supported/);
      assert.match(message, /LangChain for Python, set check_embedding_ctx_length=False/);
    }
    assert.equal(refusal(embeddings.parse, { model: "m", input: [{}] }).message, '"input[0]" must be a string');
  });
});

describe("embeddings for clients that cannot decode floats", () => {
  const vectors = [Float32Array.of(0.5, -1)];
  const answer = {
    text: "",
    reasoning: undefined,
    finish: "stop",
    vectors,
    usage: { promptTokens: 1, completionTokens: 0 },
  } as const;
  const meta = { suffix: "x", created: 0, model: "m" };
  const shown = (
    compat: boolean,
    version: string,
    more: object = { encoding_format: "base64" },
    language = "js",
  ): unknown => {
    const endpoint = embeddingsEndpoint({ base64Compat: compat });
    const ask = endpoint.parse({ model: "m", input: "a", ...more }, { language, version });
    return JSON.parse(endpoint.whole(meta, { ...answer, vectors: [...vectors] }, ask)).data[0].embedding;
  };
  const encoded = Buffer.from(new Float32Array([0.5, -1]).buffer).toString("base64");

  test("are sent as base64 if the client asks for base64, its version requires it and the operator allows it", () => {
    for (const version of ["4.91.0", "5.0.0", "6.49.0", "7.11.9"]) assert.equal(shown(true, version), encoded, version);
    for (const version of ["4.90.9", "7.12.0", "8.0.0", "nonsense"])
      assert.deepEqual(shown(true, version), [0.5, -1], version);
    assert.deepEqual(shown(false, "5.0.0"), [0.5, -1]);
    const asked = { model: "m", input: "a", encoding_format: "base64", dimensions: 3 };
    const endpoint = embeddingsEndpoint({ base64Compat: true });
    assert.deepEqual(endpoint.parse(asked, { language: "js", version: "5.0.0" }).ignored, ["dimensions"]);
    assert.deepEqual(shown(true, "5.0.0", {}), [0.5, -1]);
    assert.deepEqual(shown(true, "5.0.0", { encoding_format: "base64" }, "python"), [0.5, -1]);
  });
});

/** OpenAI fields that clients send and the gateway ignores, copied from the service specification. */
const DIALECT =
  "tools functions logprobs top_logprobs logit_bias user store metadata reasoning_effort parallel_tool_calls echo best_of suffix service_tier verbosity modalities audio prediction web_search_options safety_identifier prompt_cache_key".split(
    " ",
  );
const VALUES = [true, 7, "x", "", [{}], {}, Array(33_000).fill(1), [{ content: Array(33_000).fill(1) }]];

describe("the request parsers", () => {
  test("accept a value that equals its limit", () => {
    for (const [least, most] of [
      [{ temperature: 0 }, { temperature: 2 }],
      [{ top_p: 0 }, { top_p: 1 }],
      [{ presence_penalty: -2 }, { presence_penalty: 2 }],
      [{ frequency_penalty: -2 }, { frequency_penalty: 2 }],
      [{ seed: -(2 ** 53) }, { seed: 2 ** 53 }],
    ]) {
      assert.deepEqual(chat.parse({ ...good, ...least }).sampling, least);
      assert.deepEqual(completions.parse({ model: "m", ...most }).sampling, most);
    }
    assert.equal(chat.parse({ ...good, max_tokens: 1 }).outputTokensMax, 1);
    assert.deepEqual(chat.parse({ ...good, stop: [] }).sampling, {}, "an empty list is absent");
    assert.deepEqual(chat.parse({ ...good, stop: "x".repeat(2048) }).sampling, { stop: ["x".repeat(2048)] });
    assert.deepEqual(chat.parse({ ...good, stop: "a" }).sampling, { stop: ["a"] });
    assert.deepEqual(chat.parse({ ...good, stop: ["a", "b", "c", "d"] }).sampling, { stop: ["a", "b", "c", "d"] });
    assert.ok(chat.parse({ ...good, n: 1, response_format: { type: "text" } }));
  });

  test("allow 1 to 2,048 input elements for embeddings", () => {
    for (const count of [1, 2048]) {
      const input = Array(count).fill("x");
      assert.deepEqual(embeddings.parse({ model: "m", input }).body, { input });
    }
    for (const count of [0, 2049]) {
      const input = Array(count).fill("x");
      assert.equal(refusal(embeddings.parse, { model: "m", input }).param, "input");
    }
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
      assert.equal(refusal(chat.parse, { ...good, ...fields }).param, field);
      assert.equal(refusal(completions.parse, { model: "m", ...fields }).param, field);
    }
  });

  test("accept every message role of the OpenAI API", () => {
    for (const role of ["system", "developer", "user", "assistant", "tool", "function"]) {
      assert.ok(chat.parse({ ...good, messages: [{ role, content: "x" }] }), role);
    }
  });

  test("ignore OpenAI fields that the gateway does not support, whatever their value, and list them", () => {
    const asked: [Endpoint, object][] = [
      [chat, good],
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
      const ask = chat.parse({ ...good, ...sent });
      assert.deepEqual([ask.label, ask.labelField], [label, field], JSON.stringify(sent));
    }
  });

  test("list ignored fields in a fixed order, including stream_options if the request does not stream", () => {
    const body = { ...good, logprobs: true, tools: [], user: "me", stream_options: { include_usage: true } };
    assert.deepEqual(chat.parse(body).ignored, ["tools", "logprobs", "user", "stream_options"]);
    assert.deepEqual(chat.parse({ ...body, stream: true }).ignored, ["tools", "logprobs", "user"]);
  });
});
