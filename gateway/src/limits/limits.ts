/**
 * The interface for limits of keys and models, and the pure rules that every implementation follows.
 *
 * Requests and tokens are counted per calendar minute. Checks have a fixed order, which is part of the API's contract:
 * requests, tokens, in flight. A request that exceeds the request limit is not counted; one that exceeds the token
 * limit or the requests in flight is. Tokens are added when a request ends, in that minute. So a large request may
 * exceed the token limit, and the next one is refused. A limit of 0 refuses every request.
 *
 * A key's slots and a model's places are leases. The process that took one renews it while the request runs, and the
 * leases of a dead process expire.
 */
import type { Dependency } from "../base/dependency.ts";
import { invariant } from "../base/invariant.ts";
import type { LimitOutcome } from "../base/stored-enumerations.ts";
import { HOUR_MS, MINUTE_MS } from "../base/time.ts";

/** The longest time until the slots of a dead gateway are free, in ms. */
export const SLOT_LEASE_MS = 60_000;
/** The renewal interval in ms. Three renewals may fail before a running request loses its slot. */
export const LEASE_RENEWAL_INTERVAL_MS = 15_000;
const IN_FLIGHT_RETRY_S = 1;

export interface KeyLimits {
  requestsPerMinute: number;
  tokensPerMinute: number;
  inFlight: number;
}

export const DEFAULT_KEY_LIMITS: KeyLimits = { requestsPerMinute: 600, tokensPerMinute: 2_000_000, inFlight: 64 };

/** Limits that were set for one key. Null: the default applies. */
type SetLimits = { [Name in keyof KeyLimits]: number | null };

/** The limits that apply: an operator's limits replace the platform's, and the owner's apply if they are lower. */
export function computeEffectiveLimits(set: { overrides: SetLimits | null; own: SetLimits | null }): KeyLimits {
  const ceiling = findHighestOwnerLimits(set.overrides);
  return {
    requestsPerMinute: Math.min(ceiling.requestsPerMinute, set.own?.requestsPerMinute ?? Number.POSITIVE_INFINITY),
    tokensPerMinute: Math.min(ceiling.tokensPerMinute, set.own?.tokensPerMinute ?? Number.POSITIVE_INFINITY),
    inFlight: Math.min(ceiling.inFlight, set.own?.inFlight ?? Number.POSITIVE_INFINITY),
  };
}

/** The highest limits that an owner may set. */
export function findHighestOwnerLimits(overrides: SetLimits | null): KeyLimits {
  return {
    requestsPerMinute: overrides?.requestsPerMinute ?? DEFAULT_KEY_LIMITS.requestsPerMinute,
    tokensPerMinute: overrides?.tokensPerMinute ?? DEFAULT_KEY_LIMITS.tokensPerMinute,
    inFlight: overrides?.inFlight ?? DEFAULT_KEY_LIMITS.inFlight,
  };
}

/** The key's use and limits after a check, for the `x-ratelimit-*` headers. */
interface Standing {
  limitRequests: number;
  remainingRequests: number;
  resetRequestsMs: number;
  limitTokens: number;
  remainingTokens: number;
  resetTokensMs: number;
}

/** The reasons for which a key's limits refuse a request. The model's limit is not included. */
export type LimitRefusal = Exclude<LimitOutcome, "rate_limit_sku_capacity">;

export type LimitEntry =
  | { admitted: true; standing: Standing }
  | { admitted: false; code: LimitRefusal; retryAfterS: number; standing: Standing };

export interface Limits {
  /** Whether the limits server is reachable. */
  readonly health: Dependency;
  /** Whether the limits server deletes counters when its memory is short. Undefined if unknown, or without a server. */
  readonly evicts?: boolean | undefined;
  /**
   * Checks the limits, counts the request and takes a slot that is leased to `id`, in one round trip. If `id` already
   * holds a slot, the request is admitted and nothing is counted. Rejects with `LimitsUnavailable`.
   */
  enter(keyId: string, id: string, limits: KeyLimits): Promise<LimitEntry>;
  /** Returns the key's use without counting a request. Rejects with `LimitsUnavailable`. */
  standing(keyId: string, limits: KeyLimits): Promise<Standing>;
  /**
   * Returns the slot and adds the tokens to the current minute, in one round trip. Never rejects. Does nothing for an
   * `id` that this process did not enter or has already returned.
   */
  leave(keyId: string, id: string, tokens: number): Promise<void>;
  /**
   * Takes one of the model's places, which limit the queued and running requests of the whole platform. Returns false
   * at the model's limit, or if the account already has its share while places are scarce (`mayAdmitRequestToModel`).
   * Rejects with `LimitsUnavailable`.
   */
  enterModel(model: string, id: string, ceiling: number, account?: string): Promise<boolean>;
  leaveModel(model: string, id: string): Promise<void>;
  /** Stops the renewals. Leases that were not returned expire. */
  close(): Promise<void>;
}

/** An account shares a model's places with all accounts that sent a request within this time (ms), admitted or not. */
export const MODEL_SHARING_WINDOW_MS = 10_000;

/**
 * Whether an account may take another of the model's places. An account that has its equal share cannot take any of the
 * second half of the places while other accounts sent requests recently. An account alone may take all places.
 */
export function mayAdmitRequestToModel(
  held: { places: number; own: number },
  ceiling: number,
  accounts: number,
): boolean {
  const each = Math.max(1, Math.floor(ceiling / Math.max(1, accounts)));
  if (held.places >= ceiling) return false;
  return held.own < each || held.places < Math.floor(ceiling / 2);
}

/** Why the counts are unavailable: no answer in time, no connection, or an error answer. */
export type UnavailableCause = "timeout" | "disconnected" | "error";

/** Thrown when the limits cannot be checked, so that the request must be refused. */
export class LimitsUnavailable extends Error {
  override name = "LimitsUnavailable";
  /** Whether the server may have executed the operation, although no answer came. */
  readonly maybeDone: boolean;

  constructor(cause: unknown, { maybeDone }: { maybeDone: boolean }) {
    super("could not check the rate limits", { cause });
    this.maybeDone = maybeDone;
  }
}

/** A key's counts in this minute, and its requests in flight. */
interface Usage {
  requests: number;
  tokens: number;
  inFlight: number;
}

/** Returns the first limit that another request would exceed, or null. */
export function findExceededLimit(used: Usage, limits: KeyLimits): LimitRefusal | null {
  if (used.requests >= limits.requestsPerMinute) return "rate_limit_requests";
  if (used.tokens >= limits.tokensPerMinute) return "rate_limit_tokens";
  if (used.inFlight >= limits.inFlight) return "rate_limit_streams";
  return null;
}

/** Whether a request with this result counts toward the request limit of the minute. */
export const countsTowardRequestLimit = (refusal: LimitRefusal | null): boolean => refusal !== "rate_limit_requests";

/** The result of a check. `used`: the counts after it. `resetMs`: the time until the minute ends. */
export function makeAdmissionResult(
  refusal: LimitRefusal | null,
  used: { requests: number; tokens: number; resetMs: number },
  limits: KeyLimits,
): LimitEntry {
  const standing: Standing = {
    limitRequests: limits.requestsPerMinute,
    remainingRequests: Math.max(0, limits.requestsPerMinute - used.requests),
    resetRequestsMs: used.resetMs,
    limitTokens: limits.tokensPerMinute,
    remainingTokens: Math.max(0, limits.tokensPerMinute - used.tokens),
    resetTokensMs: used.resetMs,
  };
  if (refusal === null) return { admitted: true, standing };
  const retryAfterS =
    refusal === "rate_limit_streams" ? IN_FLIGHT_RETRY_S : Math.max(1, Math.ceil(used.resetMs / 1000));
  return { admitted: false, code: refusal, retryAfterS, standing };
}

export function assertValidLimits({ requestsPerMinute, tokensPerMinute, inFlight }: KeyLimits): void {
  assertValidCount("requestsPerMinute", requestsPerMinute);
  assertValidCount("tokensPerMinute", tokensPerMinute);
  assertValidCount("inFlight", inFlight);
}

export function assertValidCount(name: string, value: number): void {
  // Builds the message only on failure, because this check runs several times per request.
  if (!Number.isSafeInteger(value) || value < 0) invariant(false, `${name} is not a count: ${value}`);
}

export function rateLimitHeaders(standing: Standing): Record<string, string> {
  const { resetRequestsMs, resetTokensMs } = standing;
  const reset = formatResetDelay(resetRequestsMs);
  return {
    "x-ratelimit-limit-requests": String(standing.limitRequests),
    "x-ratelimit-remaining-requests": String(standing.remainingRequests),
    "x-ratelimit-reset-requests": reset,
    "x-ratelimit-limit-tokens": String(standing.limitTokens),
    "x-ratelimit-remaining-tokens": String(standing.remainingTokens),
    "x-ratelimit-reset-tokens": resetTokensMs === resetRequestsMs ? reset : formatResetDelay(resetTokensMs),
  };
}

/** Formats a duration as OpenAI clients parse it: `12ms`, `1s`, `8.64s`, `6m0s`, `1h0m0s`. */
export function formatResetDelay(durationMs: number): string {
  const ms = Math.ceil(durationMs);
  if (ms > 0 && ms < 1000) return `${ms}ms`;
  const hours = Math.floor(ms / HOUR_MS);
  const minutes = Math.floor((ms % HOUR_MS) / MINUTE_MS);
  const seconds = `${(ms % MINUTE_MS) / 1000}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}
