/**
 * Defines a history: every operation of a run with the times of its call and return, in milliseconds since the run
 * began. Chats are recorded as `RequestObservation`s (see ../../stage/load); the other operations are defined here.
 * Amounts are in picodollars.
 */
import type { RequestObservation } from "@tollgate/stage/load/observation.ts";

interface Call {
  calledAt: number;
  returnedAt: number;
  /**
   * `unknown`: the connection broke or the response was a 5xx, so the operation may or may not have been carried out.
   */
  outcome: "done" | "refused" | "unknown";
}

/**
 * Added credit: an operator's grant, or a purchase, whose event the payment provider repeats until a gateway accepts
 * it.
 */
export interface CreditCall extends Call {
  kind: "grant" | "purchase";
  account: string;
  amount: bigint;
  /** Identifies the credit in the ledger: a grant's reason, or the ID of a purchase's checkout. */
  mark: string;
}

export interface BudgetCall extends Call {
  key: string;
  dayMax: bigint;
}

export interface BalanceCall extends Call {
  account: string;
  /** The balance in the response; null unless `outcome` is `done`. */
  found: { balance: bigint; held: bigint } | null;
}

export interface History {
  chats: readonly RequestObservation[];
  credits: readonly CreditCall[];
  budgets: readonly BudgetCall[];
  balances: readonly BalanceCall[];
}

/** Formats a history: one line per operation, sorted by the time of the call. */
export function formatHistory({ chats, credits, budgets, balances }: History): string {
  const all = [
    ...chats.map((sight) => ({ op: "chat", ...sight, calledAt: sight.beganAt })),
    ...credits.map((call) => ({ op: "credit", ...call })),
    ...budgets.map((call) => ({ op: "budget", ...call })),
    ...balances.map((call) => ({ op: "balance", ...call })),
  ];
  all.sort((a, b) => a.calledAt - b.calledAt);
  const text = (_: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value);
  return all.map((call) => `${JSON.stringify(call, text)}\n`).join("");
}
