/**
 * Answers requested while the page's code was still loading (src/early/early.ts). The first call for the same data of the same account uses
 * the answer; after a few seconds it is too old.
 */
import { ACCOUNT_HEADER } from "./account-header.ts";

export interface EarlyAnswer {
  /** The account of the request, if it named one. */
  account: string | undefined;
  /** The time of the request by the page's clock (`performance.now`). */
  askedAtMs: number;
  answer: Promise<Response>;
}

declare global {
  /** Early answers by address. Set by the early script; absent if that did not load. */
  var tollgateEarly: Map<string, EarlyAnswer> | undefined;
}

const OLD_MS = 10_000;

/** Undefined if there was no early request, or it was for another account or too long ago. */
export function takeEarly(address: string, { method = "GET", headers }: RequestInit): Promise<Response> | undefined {
  const early = globalThis.tollgateEarly?.get(address);
  if (early === undefined || method !== "GET") return undefined;
  globalThis.tollgateEarly?.delete(address);
  const account = new Headers(headers).get(ACCOUNT_HEADER) ?? undefined;
  const isFresh = performance.now() - early.askedAtMs < OLD_MS;
  return isFresh && account === early.account ? early.answer : undefined;
}
