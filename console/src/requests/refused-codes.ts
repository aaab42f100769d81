/** Explains the error codes of refused calls, and the next step for each. Pure. */
import type { RefusedCallCounts } from "../api/answer-types.ts";

interface CodeWords {
  /** What was wrong with the call. */
  says: string;
  advice: string;
}

const RATE = "Send fewer requests at the same time, or raise the key's limits.";

const CODES: Record<string, CodeWords> = {
  invalid_api_key: { says: "API key refused", advice: "Check that the key is complete, and not revoked or expired." },
  invalid_request_error: {
    says: "Invalid request",
    advice: "The error message names the invalid field and the rule that it breaks.",
  },
  insufficient_credits: { says: "No credit left", advice: "Add credits." },
  hold_exceeds_balance: {
    says: "Possible cost above the credit or budget",
    advice: "Lower max_tokens, add credits or raise the key's budget.",
  },
  model_not_found: {
    says: "Model not found",
    advice: "The model does not exist, or the key may not use it. The Models page lists all models.",
  },
  request_too_large: { says: "Body too large", advice: "A request body may have up to 10 MiB." },
  rate_limit_requests: { says: "Too many requests this minute", advice: RATE },
  rate_limit_tokens: { says: "Too many tokens this minute", advice: RATE },
  rate_limit_streams: { says: "Too many requests in flight", advice: RATE },
  rate_limit_sku_capacity: { says: "Model busy", advice: "Try again in a second, or use another model." },
};

export const describeRefusedCode = ({ code, status }: Pick<RefusedCallCounts, "code" | "status">): CodeWords =>
  CODES[code] ?? { says: `HTTP ${status}`, advice: "The error message gives the reason." };

const HOUR_S = 3600;

/** Whether the last refused call is over an hour ago, so that no warning is needed. */
export const isRefusalWarningExpired = (codes: Pick<RefusedCallCounts, "last_at">[], nowMs: number): boolean =>
  codes.every(({ last_at }) => last_at < nowMs / 1000 - HOUR_S);
