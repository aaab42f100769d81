/** Lists the keys whose requests were refused for lack of credit. */
import type { UnfundedRequests } from "../api/answer-types.ts";
import { formatWholeNumber } from "../locale.ts";

const KEYS_MAX = 3;

export const sumRequests = (rows: Pick<UnfundedRequests, "requests">[]): number =>
  rows.reduce((total, { requests }) => total + requests, 0);

/**
 * For example "production: 12, staging: 3, nightly: 1 and 2 more keys", most refusals first. Grouped by name, because
 * the playground has one key per session.
 */
export function describeKeysRefusedForCredit(
  rows: Pick<UnfundedRequests, "key" | "requests">[],
  nameOf: (id: string) => string,
): string {
  const most = [...Map.groupBy(rows, ({ key }) => nameOf(key))]
    .map(([name, of]) => ({ name, requests: sumRequests(of) }))
    .sort((a, b) => b.requests - a.requests);
  const named = most.slice(0, KEYS_MAX).map(({ name, requests }) => `${name}: ${formatWholeNumber(requests)}`);
  const more = most.length - named.length;
  return `${named.join(", ")}${more === 0 ? "" : ` and ${more} more ${more === 1 ? "key" : "keys"}`}`;
}
