/** Counts whole prompts on the calling thread. */
import { invariant } from "../base/invariant.ts";
import { BpeCounter } from "./bpe/counter.ts";
import { CappedOutput, noOutput } from "./capped-output.ts";
import { type ChatTemplate, SPECIAL_TOKEN_SEGMENT } from "./chat-templates.ts";
import type { ChatMessage, OutputTokenMeter, Prompt, PromptCount } from "./token-meter.ts";
import type { Tokenizer, TokenizerTables } from "./tokenizers.ts";
import { UnigramCounter } from "./unigram/counter.ts";

/**
 * Counting continues up to this multiple of the limit, so that the error can say by how much the prompt exceeds the
 * limit.
 */
const TELL_TIMES = 2;

export interface PromptCounter {
  /** Refuses a chat whose number of messages alone exceeds the limit. Returns null for other prompts. */
  refuse(prompt: Prompt, limit: number): PromptCount | null;
  /** `payer`: the account whose cached counts are used. Undefined: no cache. */
  count(prompt: Prompt, limit: number, payer?: string): PromptCount;
  openOutput(tokensMax: number): OutputTokenMeter;
}

/** Returns the number of tokens of a text, including special tokens. A result above `limit` is only a lower bound. */
type CountText = (text: string, limit: number, payer: string | undefined) => number;

export function openPromptCounter(tokenizer: Tokenizer, tables: TokenizerTables): PromptCounter {
  if (tables.kind === "unigram") {
    const counter = new UnigramCounter(tables);
    return promptCounter(
      tokenizer,
      (text, limit) => counter.count(text, limit),
      () => noOutput,
    );
  }
  const counter = new BpeCounter(tables);
  return promptCounter(
    tokenizer,
    (text, limit, payer) => counter.count(text, limit, payer),
    (tokensMax) => new CappedOutput(tokensMax, () => counter.openStream()),
  );
}

function promptCounter(
  { chat, textTokensAdded }: Tokenizer,
  countWhose: CountText,
  openOutput: PromptCounter["openOutput"],
): PromptCounter {
  const refuse: PromptCounter["refuse"] = (prompt, limit) => {
    const tokens = prompt.kind === "chat" ? prompt.messages.length * (chat?.messageTokensMin ?? 0) : 0;
    return tokens > limit ? { tokens, over: { index: 0, tokens, isExact: false } } : null;
  };
  return {
    refuse,
    count(prompt, limit, payer) {
      const countText = (text: string, tokensMax: number): number => countWhose(text, tokensMax, payer);
      if (prompt.kind === "text") return countTexts(textTokensAdded, countText, [prompt.text], limit);
      if (prompt.kind === "texts") return countTexts(textTokensAdded, countText, prompt.texts, limit);
      invariant(chat !== null, "this tokenizer has no chat template");
      return refuse(prompt, limit) ?? countChat(chat, countText, prompt.messages, limit);
    },
    openOutput,
  };
}

type CountOne = (text: string, limit: number) => number;

function countChat(chat: ChatTemplate, countText: CountOne, messages: ChatMessage[], limit: number): PromptCount {
  const tellMax = limit * TELL_TIMES;
  let tokens = 0;
  for (const segment of chat.segments(messages)) {
    tokens += segment === SPECIAL_TOKEN_SEGMENT ? 1 : countText(segment, tellMax - tokens);
    if (tokens > tellMax) break;
  }
  return { tokens, over: tokens > limit ? { index: 0, tokens, isExact: tokens <= tellMax } : null };
}

function countTexts(added: number, countText: CountOne, texts: string[], limit: number): PromptCount {
  const tellMax = limit * TELL_TIMES;
  let tokens = 0;
  for (const [index, text] of texts.entries()) {
    const count = added + countText(text, tellMax - added);
    tokens += count;
    if (count > limit) return { tokens, over: { index, tokens: count, isExact: count <= tellMax } };
  }
  return { tokens, over: null };
}
