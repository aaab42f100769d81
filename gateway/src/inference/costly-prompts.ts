/**
 * Refuses prompts that cost an engine much more than their tokens say. The measurements are in bench/metering. Long runs
 * of one character are refused too, in long-character-runs.ts.
 *
 * - Padding: a token of spaces can have a hundred characters, and an embedding model's tokenizer drops most white space.
 *   The work of tokenizers grows with the characters: 1 MB of spaces took llama.cpp 158 times as long as prose with
 *   the same 8,192 tokens. Prose has 4 characters per token, code 3, and tables with wide columns at most 8.
 * - Spelled-out special tokens such as `<|eot_id|>`: engines that read them as such see one token, and others, which read
 *   them as text, see five to ten.
 */
import { ruleViolation } from "../faults.ts";
import type { Prompt } from "../metering/token-meter.ts";
import type { ParsedRequest } from "./endpoint.ts";

/** The number of characters that every prompt may have. Each of its tokens allows 16 more. */
export const PROMPT_CHARS_FREE = 65_536;
const PROMPT_CHARS_PER_TOKEN_MAX = 16;
export const SPECIAL_TOKENS_MAX = 256;
const SPECIAL_TOKEN = /<(?:\|[a-z0-9_]{1,64}\||\/?tool_call)>/g;
/** The shortest special token. */
const SPECIAL_TOKEN_CHARS_MIN = "<|a|>".length;

type AskedPrompt = Pick<ParsedRequest, "prompt" | "promptField">;

/** Throws a 400 if the prompt is mostly padding. `tokens`: the counted tokens of the whole prompt. */
export function refusePadding({ prompt, promptField }: AskedPrompt, tokens: number): void {
  const chars = textsOf(prompt).reduce((sum, text) => sum + text.length, 0);
  if (chars <= PROMPT_CHARS_FREE + PROMPT_CHARS_PER_TOKEN_MAX * tokens) return;
  throw ruleViolation(
    promptField,
    `must have at most ${PROMPT_CHARS_FREE} characters, and ${PROMPT_CHARS_PER_TOKEN_MAX} more for each token. It has ${chars} characters in ${tokens} tokens. Remove padding such as spaces.`,
  );
}

/** Throws a 400 if the prompt spells out too many special tokens. */
export function refuseManySpecialTokens({ prompt, promptField }: AskedPrompt): void {
  let left = SPECIAL_TOKENS_MAX;
  for (const text of textsOf(prompt)) {
    if (text.length < SPECIAL_TOKEN_CHARS_MIN || !text.includes("<")) continue;
    for (const _ of text.matchAll(SPECIAL_TOKEN)) {
      left -= 1;
      if (left < 0)
        throw ruleViolation(
          promptField,
          `must not have more than ${SPECIAL_TOKENS_MAX} special tokens such as <|eot_id|> in its text. Remove some.`,
        );
    }
  }
}

function textsOf(prompt: Prompt): readonly string[] {
  if (prompt.kind === "text") return [prompt.text];
  return prompt.kind === "chat" ? prompt.messages.map(({ content }) => content) : prompt.texts;
}
