/** A stream, shown as it comes and begun again while that is safe: `node stream.ts "Tell me a story about a fox"`. */
import OpenAI from "openai";
import { streamWithRetry } from "./retry-stream.ts";

const model = process.env.MODEL ?? "tiny-3b";
const body = {
  model,
  messages: [{ role: "user" as const, content: process.argv[2] ?? "Tell me a story about a fox" }],
  max_tokens: 300,
  stream_options: { include_usage: true },
};
const onRetry = (error: unknown, waitMs: number): void => {
  const code = error instanceof OpenAI.APIError ? error.code : error;
  console.error(`${code}: again in ${Math.round(waitMs)} ms`);
};
try {
  const chunks = streamWithRetry(new OpenAI(), body, { thinks: model.startsWith("reason-"), onRetry });
  for await (const { choices, usage } of chunks) {
    process.stdout.write(choices[0]?.delta.content ?? "");
    if (usage) console.error(`\n${usage.prompt_tokens} tokens in, ${usage.completion_tokens} out`);
  }
} catch (error) {
  if (!(error instanceof OpenAI.APIError)) throw error;
  // What came before stays yours, and was paid for. Another try is a new, paid request: ask first.
  console.error(`\nbroken off: ${error.code ?? error.status}`);
  process.exitCode = 1;
}
