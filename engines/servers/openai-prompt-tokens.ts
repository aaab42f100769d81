/** Reads the prompt tokens that an OpenAI-compatible engine reports in its usage. */
import type { ChatMessage } from "../engine-under-test.ts";
import { askJson } from "./start-server.ts";

export async function countOpenAiPromptTokens(url: string, model: string, messages: ChatMessage[]): Promise<number> {
  const body = { model, messages, max_tokens: 1, temperature: 0 };
  const answer = await askJson<{ usage: { prompt_tokens: number } }>(`${url}/v1/chat/completions`, body);
  return answer.usage.prompt_tokens;
}
