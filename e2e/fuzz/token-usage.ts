/** Reads the token counts (usage) of an answer, streamed or plain. */
import type { ExpectedResponse } from "./expected-response.ts";

export interface Usage {
  prompt_tokens: number;
  /** Missing for embeddings. */
  completion_tokens?: number;
  total_tokens: number;
}

export function findUsageMistakes(
  usage: Usage,
  { outputTokensMax = Number.POSITIVE_INFINITY }: ExpectedResponse,
): string[] {
  const { prompt_tokens: prompt, completion_tokens: output = 0, total_tokens: total } = usage;
  const found: string[] = [];
  if (total !== prompt + output) found.push("the total is not the sum");
  if (output > outputTokensMax) found.push(`${output} output tokens exceed the cap of ${outputTokensMax}`);
  return found;
}
