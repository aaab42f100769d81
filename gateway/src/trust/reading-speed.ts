/** Finds nodes that answer a new prompt sooner than any machine could have read it. Pure. */
import type { UnpaidJobResult } from "../inference/unpaid-job.ts";
import type { ActiveModel } from "../metering/catalogue.ts";
import type { QuarantineVerdict } from "./reliability.ts";

/**
 * The most prompt tokens that may be cached: the template, the system prompt and an opening that other prompts share.
 */
const CACHED_TOKENS_MAX = 256;
/**
 * The minimum number of new prompt tokens from which a reading speed is judged as too fast to be real. Any machine
 * reads a shorter prompt quickly.
 */
const READ_TOKENS_MIN = 768;

/**
 * Compares the time to first token with the time that reading the prompt takes. The prompts are new, so that no node
 * can have cached them; tokens that they share with other prompts are not counted. The time is measured from the offer,
 * so that delays cannot make an honest node look fast.
 */
export function findImpossibleReadingSpeed(
  model: ActiveModel,
  { end, promptTokens, ttftMs }: UnpaidJobResult,
): QuarantineVerdict["evidence"] | undefined {
  const tokens = promptTokens - CACHED_TOKENS_MAX;
  if (ttftMs === null || (end !== "finished" && end !== "enough") || tokens < READ_TOKENS_MIN) return undefined;
  const tokensPerSecond = Math.round((tokens * 1000) / Math.max(ttftMs, 1));
  if (tokensPerSecond <= model.readingSpeedMax) return undefined;
  const ceiling = model.readingSpeedMax;
  return {
    model: model.id,
    prompt_tokens: tokens,
    first_token_ms: ttftMs,
    prompt_tokens_per_second: tokensPerSecond,
    ceiling,
  };
}
