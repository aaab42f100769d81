/**
 * Estimates a request's hold (reserved credit) from its prompt and its longest possible answer. The prompt's tokens are
 * estimated ("about") until the gateway has counted them. Pure.
 */
import { computeTokenCost } from "../../dollar-amounts.ts";
import type { Prices } from "./answer-state.ts";

/** English text has about four bytes per token. */
const BYTES_A_TOKEN = 4;
/** The tokens that a chat template adds: once per request, and per message. */
const TEMPLATE_TOKENS = 30;
const MESSAGE_TOKENS = 5;

interface Hold {
  promptTokens: number;
  outputTokens: number;
  pico: bigint;
}

interface Asked {
  messages: { content: string }[];
  /** The limit of output tokens. Without one, the model's whole context is reserved. */
  max_tokens?: unknown;
}

export function estimateHold(asked: Asked, model: Prices & { context_limit: number | null }): Hold {
  const bytes = asked.messages.reduce((sum, { content }) => sum + new TextEncoder().encode(content).length, 0);
  const promptTokens = Math.ceil(bytes / BYTES_A_TOKEN) + TEMPLATE_TOKENS + MESSAGE_TOKENS * asked.messages.length;
  const context = model.context_limit ?? 0;
  const outputTokens = typeof asked.max_tokens === "number" ? Math.min(asked.max_tokens, context) : context;
  return {
    promptTokens,
    outputTokens,
    pico:
      computeTokenCost(promptTokens, model.price_in_micro_1m ?? 0) +
      computeTokenCost(outputTokens, model.price_out_micro_1m ?? 0),
  };
}
