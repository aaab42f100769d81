/** The fields of an embeddings request, and the form in which its vectors are returned. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { embeddings, embeddingsEndpoint } from "./embeddings.ts";
import { parseRefusedRequest } from "./testing-chat-request.ts";

describe("embedding fields", () => {
  test("count a string as one input, whatever encoding_format and dimensions say", () => {
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
      assert.equal(parseRefusedRequest(embeddings.parse, { model: "m", input }).param, param);
    });
  }

  test("allow 1 to 2,048 input elements for embeddings", () => {
    for (const count of [1, 2048]) {
      const input = Array(count).fill("x");
      assert.deepEqual(embeddings.parse({ model: "m", input }).body, { input });
    }
    for (const count of [0, 2049]) {
      const input = Array(count).fill("x");
      assert.equal(parseRefusedRequest(embeddings.parse, { model: "m", input }).param, "input");
    }
  });
});

describe("token IDs for embeddings", () => {
  test("are refused with an error that names a client's setting for sending text instead", () => {
    for (const input of [
      [1, 2],
      [[1, 2], [3]],
    ]) {
      const { message } = parseRefusedRequest(embeddings.parse, { model: "m", input });
      assert.match(message, /token IDs are not supported/);
      assert.match(message, /LangChain for Python, set check_embedding_ctx_length=False/);
    }
    assert.equal(
      parseRefusedRequest(embeddings.parse, { model: "m", input: [{}] }).message,
      '"input[0]" must be a string',
    );
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
