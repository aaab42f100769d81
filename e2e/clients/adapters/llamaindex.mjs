/** LlamaIndex's OpenAI package. */
import { OpenAI, OpenAIEmbedding, OpenAIResponses } from "@llamaindex/openai";
import { readError } from "./openai.mjs";

const options = ({ baseURL, apiKey, maxRetries }, { model, maxTokens }) => ({
  model,
  apiKey,
  baseURL,
  maxRetries,
  ...(maxTokens && { maxTokens }),
});
const messages = ({ prompt }) => [{ role: "user", content: prompt }];

export async function load() {
  return {
    async chat(at, ask) {
      const { message, raw } = await new OpenAI(options(at, ask)).chat({ messages: messages(ask) });
      const [{ message: whole, finish_reason: finish }] = raw.choices;
      const reasoning = whole.vendor_reasoning_content;
      return { text: message.content, finish, reasoning, tokens: raw.usage.completion_tokens };
    },
    async stream(at, ask, onText) {
      for await (const chunk of await new OpenAI(options(at, ask)).chat({ messages: messages(ask), stream: true })) {
        if (chunk.delta) onText(chunk.delta);
      }
    },
    async cancel(at, ask) {
      const stream = await new OpenAI(options(at, ask)).chat({ messages: messages(ask), stream: true });
      for await (const chunk of stream) if (chunk.delta) return;
    },
    async structured(at, ask, schema) {
      const toResponseFormat = { type: "json_schema", json_schema: { name: "number", schema, strict: true } };
      const { message } = await new OpenAI(options(at, ask)).chat({ messages: messages(ask), toResponseFormat });
      return JSON.parse(message.content);
    },
    responses: (at, ask) => new OpenAIResponses(options(at, ask)).chat({ messages: messages(ask) }),
    embed: (at, { model, input }) => new OpenAIEmbedding(options(at, { model })).getTextEmbeddings(input),
    seen: readError,
  };
}
