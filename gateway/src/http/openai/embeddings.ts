/** POST /v1/embeddings. Vectors are float arrays at the model's native width, one per input, in order. */
import type { Endpoint } from "../../inference/endpoint.ts";
import { parseFields } from "../fields.ts";
import { EmbeddingRequest } from "./fields.ts";

export const embeddings: Endpoint = {
  name: "embedding",
  kind: "embedding",

  parse(body) {
    const { model, input } = parseFields(EmbeddingRequest, body);
    const texts = typeof input === "string" ? [input] : input;
    return {
      model,
      prompt: { kind: "texts", texts },
      promptField: "input",
      body: { input: texts },
      stream: false,
      includeUsage: false,
      outputTokensMax: undefined,
      sampling: {},
    };
  },

  whole(meta, { vectors, usage }) {
    return JSON.stringify({
      object: "list",
      data: vectors.map((vector, index) => ({ object: "embedding", index, embedding: Array.from(vector) })),
      model: meta.model,
      usage: { prompt_tokens: usage.promptTokens, total_tokens: usage.promptTokens },
    });
  },

  stream: null,
};
