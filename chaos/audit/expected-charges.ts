/**
 * Computes which charges a record may have, from its outcome by the rules of charging (docs/billing.md), without the
 * product's code.
 */
import type { LedgerRecord } from "./ledger-state.ts";

type Rule = (record: LedgerRecord) => "all" | "nothing" | "either";

const hadOutput: Rule = ({ completionTokens }) => (completionTokens > 0 ? "all" : "nothing");
const reachedClient: Rule = (record) => (record.stream ? hadOutput(record) : "nothing");
const free: Rule = () => "nothing";

const BY_OUTCOME: Record<string, Rule> = {
  ok: () => "all",
  upstream_stall: hadOutput,
  plane_lost: reachedClient,
  gateway_stopped: reachedClient,
  // The prompt is charged if a node had accepted the request. The auditor cannot see whether one had, so it allows
  // both.
  client_closed: (record) => (record.completionTokens > 0 ? "all" : "either"),
  upstream_failed: () => "either",
  no_capacity: free,
  gateway_lost: free,
};

/** Describes the error in a record's charge; undefined if the charge is correct. */
export function describeWrongCharge(record: LedgerRecord): string | undefined {
  const { outcome, charge, short, hold, promptTokens, completionTokens, prices } = record;
  const rule = BY_OUTCOME[outcome] ?? (outcome.startsWith("rate_limit_") ? free : undefined);
  if (rule === undefined) return `has the unknown outcome ${outcome}`;
  const all = prices === null ? 0n : BigInt(promptTokens) * prices.in + BigInt(completionTokens) * prices.out;
  const due = { all: [all], nothing: [0n], either: [0n, all] }[rule(record)];
  if (!due.includes(charge + short)) return `(${outcome}) cost ${charge + short}, and not ${due.join(" or ")}`;
  if (charge > hold) return `(${outcome}) cost ${charge}, and only ${hold} was held`;
  const share = record.hasHost ? (charge * 7n) / 10n : 0n;
  if (record.hostShare !== share) return `(${outcome}) paid the host ${record.hostShare}, and not ${share}`;
  if ((outcome === "upstream_failed" || outcome === "upstream_stall") && record.hasHost)
    return `(${outcome}) paid a host whose node failed`;
  if (outcome === "ok" && !record.hasHost) return "was answered by nobody who is paid";
  return undefined;
}

/** Computes the request's `max_tokens` from its hold; null if the request had none, or if there was no hold. */
export function computeOutputCap({ endpoint, hold, promptTokens, prices }: LedgerRecord): number | null {
  if (endpoint === "embedding" || prices === null || prices.out === 0n) return null;
  return Number((hold - BigInt(promptTokens) * prices.in) / prices.out);
}
