/**
 * Answers that were asked for while the code of the page was still on its way (src/early/early.ts). Whoever asks the same first, for
 * the same account, takes the answer; what nobody took within seconds is too old to show.
 */
import { ACCOUNT_HEADER } from "./account-header.ts";

export interface EarlyAnswer {
  /** The account that it was asked for, where one was named. */
  account: string | undefined;
  /** By the page's own clock (`performance.now`). */
  askedAtMs: number;
  answer: Promise<Response>;
}

declare global {
  /** By address. Put there by the early script; absent where that was not loaded. */
  var tollgateEarly: Map<string, EarlyAnswer> | undefined;
}

const OLD_MS = 10_000;

/** Undefined where it was not asked for, or of another account, or too long ago. */
export function takeEarly(address: string, { method = "GET", headers }: RequestInit): Promise<Response> | undefined {
  const early = globalThis.tollgateEarly?.get(address);
  if (early === undefined || method !== "GET") return undefined;
  globalThis.tollgateEarly?.delete(address);
  const account = new Headers(headers).get(ACCOUNT_HEADER) ?? undefined;
  const isFresh = performance.now() - early.askedAtMs < OLD_MS;
  return isFresh && account === early.account ? early.answer : undefined;
}
