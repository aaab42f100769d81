/**
 * Responses that the early script (src/early/early-script.ts) requested while the page's code was still loading. The first
 * call for the same data and account uses the response, unless it is more than a few seconds old.
 */
import { ACCOUNT_HEADER } from "./account-header.ts";

export interface PrefetchedResponse {
  /** The ID of the account that the request named, if any. */
  account: string | undefined;
  /** When the request was sent, by the page's clock (`performance.now`). */
  askedAtMs: number;
  answer: Promise<Response>;
}

declare global {
  /** Early responses by URL. Set by the early script; absent if that script did not load. */
  var tollgateEarly: Map<string, PrefetchedResponse> | undefined;
}

const OLD_MS = 10_000;

/**
 * Returns the early response. Undefined if there is none, or if it was requested for another account or too long ago.
 */
export function takePrefetchedResponse(
  address: string,
  { method = "GET", headers }: RequestInit,
): Promise<Response> | undefined {
  const early = globalThis.tollgateEarly?.get(address);
  if (early === undefined || method !== "GET") return undefined;
  globalThis.tollgateEarly?.delete(address);
  const account = new Headers(headers).get(ACCOUNT_HEADER) ?? undefined;
  const isFresh = performance.now() - early.askedAtMs < OLD_MS;
  return isFresh && account === early.account ? early.answer : undefined;
}
