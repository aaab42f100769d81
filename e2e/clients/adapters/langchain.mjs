/** LangChain's OpenAI package. */
import { ChatOpenAI, OpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { readError } from "./openai.mjs";

const options = ({ baseURL, apiKey, maxRetries }, { model, maxTokens }) => ({
  model,
  apiKey,
  configuration: { baseURL },
  maxRetries,
  ...(maxTokens && { maxTokens }),
});

export async function load() {
  return {
    async chat(at, ask) {
      const answer = await new ChatOpenAI({ ...options(at, ask), __includeRawResponse: true }).invoke(ask.prompt);
      const [{ message, finish_reason: finish }] = answer.additional_kwargs.__raw_response.choices;
      const reasoning = message.vendor_reasoning_content;
      return { text: answer.content, finish, reasoning, tokens: answer.usage_metadata.output_tokens };
    },
    async stream(at, ask, onText) {
      for await (const chunk of await new ChatOpenAI(options(at, ask)).stream(ask.prompt)) {
        if (chunk.content) onText(chunk.content);
      }
    },
    async streamUsage(at, ask) {
      let tokens;
      for await (const { usage_metadata } of await new ChatOpenAI(options(at, ask)).stream(ask.prompt)) {
        tokens = usage_metadata?.output_tokens ?? tokens;
      }
      return tokens;
    },
    async cancel(at, ask) {
      const leaving = new AbortController();
      const stream = await new ChatOpenAI(options(at, ask)).stream(ask.prompt, { signal: leaving.signal });
      for await (const chunk of stream) if (chunk.content) break;
      leaving.abort();
    },
    structured: (at, ask, schema) =>
      new ChatOpenAI(options(at, ask))
        .withStructuredOutput(schema, { name: "number", method: "jsonSchema" })
        .invoke(ask.prompt),
    responses: (at, ask) => new ChatOpenAI({ ...options(at, ask), useResponsesApi: true }).invoke(ask.prompt),
    complete: (at, ask) => new OpenAI(options(at, ask)).invoke(ask.prompt),
    embed: (at, { model, input }) => new OpenAIEmbeddings(options(at, { model })).embedDocuments(input),
    /** Its own retries, told not to repeat what was billed. */
    chatCarefully: (at, ask) =>
      new ChatOpenAI({
        ...options(at, ask),
        onFailedAttempt(error) {
          if (error.code === "upstream_failed" || error.code === "upstream_stall") throw error;
        },
      }).invoke(ask.prompt),
    seen: readError,
  };
}
