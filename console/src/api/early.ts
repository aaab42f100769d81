/**
 * Answers requested while the page's code was still loading (src/early/early.ts). The first call for the same data of the same account uses
 * the answer; after a few seconds it is too old.
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
