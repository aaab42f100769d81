/** The Vercel AI SDK with either of its providers. */
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { embedMany, generateText, jsonSchema, Output, RetryError, streamText } from "ai";

globalThis.AI_SDK_LOG_WARNINGS = false;

const providers = {
  "@ai-sdk/openai": ({ baseURL, apiKey }) => {
    const tollgate = createOpenAI({ baseURL, apiKey });
    // tollgate(model) would be the Responses API.
    const { chat, completion, embedding } = tollgate;
    return { chat, completion, embedding, responses: tollgate };
  },
  "@ai-sdk/openai-compatible": ({ baseURL, apiKey }) => {
    const able = { includeUsage: true, supportsStructuredOutputs: true };
    const tollgate = createOpenAICompatible({ name: "tollgate", baseURL, apiKey, ...able });
    const { chatModel, completionModel, embeddingModel } = tollgate;
    return { chat: chatModel, completion: completionModel, embedding: embeddingModel };
  },
};

export async function load(packageName) {
  const connect = providers[packageName];
  const options = ({ maxRetries }, { prompt, maxTokens }) => ({
    prompt,
    maxRetries,
    ...(maxTokens && { maxOutputTokens: maxTokens }),
  });
  const start = (at, ask, more) => streamText({ model: connect(at).chat(ask.model), ...options(at, ask), ...more });
  return {
    async chat(at, ask) {
      const model = connect(at).chat(ask.model);
      const answer = await generateText({ model, ...options(at, ask), include: { responseBody: true } });
      const reasoning = answer.response.body.choices[0].message.vendor_reasoning_content;
      return { text: answer.text, finish: answer.finishReason, reasoning, tokens: answer.usage.outputTokens };
    },
    /** `fullStream` shows the error; see `streamText` below for what `textStream` does. */
    async stream(at, ask, onText) {
      for await (const part of start(at, ask, { onError() {} }).fullStream) {
        if (part.type === "text-delta") onText(part.text);
        if (part.type === "error") throw part.error;
      }
    },
    /** The text alone, what it raises, and what `onError` tells beside it. */
    async streamText(at, ask) {
      const errors = [];
      const result = start(at, ask, { onError: ({ error }) => errors.push(error) });
      let text = "";
      try {
        for await (const piece of result.textStream) text += piece;
      } catch (error) {
        return { text, errors, raised: error.name };
      }
      return { text, errors };
    },
    async streamUsage(at, ask) {
      const result = start(at, ask);
      await result.consumeStream();
      return (await result.usage).outputTokens;
    },
    async cancel(at, ask) {
      const leaving = new AbortController();
      for await (const part of start(at, ask, { abortSignal: leaving.signal, onError() {} }).fullStream) {
        if (part.type === "text-delta") leaving.abort();
      }
    },
    async structured(at, ask, schema) {
      const output = Output.object({ schema: jsonSchema(schema) });
      return (await generateText({ model: connect(at).chat(ask.model), ...options(at, ask), output })).output;
    },
    ...(packageName === "@ai-sdk/openai" && {
      responses: (at, ask) => generateText({ model: connect(at).responses(ask.model), ...options(at, ask) }),
    }),
    async complete(at, ask) {
      return (await generateText({ model: connect(at).completion(ask.model), ...options(at, ask) })).text;
    },
    async embed({ maxRetries, ...at }, { model, input }) {
      return (await embedMany({ model: connect(at).embedding(model), values: input, maxRetries })).embeddings;
    },
    seen: readError,
  };
}

/** A refusal keeps the envelope in `data.error`, an error event inside a stream keeps it in `data`. */
function readError(error) {
  const last = RetryError.isInstance(error) ? error.lastError : error;
  const { error: envelope = last.data } = last.data;
  const required = last.responseBody && JSON.parse(last.responseBody).error?.required_micro;
  return { raised: error.name, status: last.statusCode, code: envelope.code, message: last.message, required };
}
