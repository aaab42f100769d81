/**
 * A history: every operation of a run with the times of its call and its return, in milliseconds since the run began.
 * Chats are the observations of ../../stage/load; the other operations are here. Amounts are picodollars.
 */
import type { Sight } from "@tollgate/stage/load/sight.ts";

interface Call {
  calledAt: number;
  returnedAt: number;
  /** `unknown`: the connection broke or the answer was a 5xx, so the operation may or may not have been done. */
  outcome: "done" | "refused" | "unknown";
}

/**
 * Incoming credit: a grant of an operator, or a purchase that the payment provider reports until a gateway accepts the
 * event.
 */
export interface CreditCall extends Call {
  kind: "grant" | "purchase";
  account: string;
  amount: bigint;
  /** What identifies the credit in the ledger: a grant's reason, or a purchase's checkout. */
  mark: string;
}

export interface BudgetCall extends Call {
  key: string;
  dayMax: bigint;
}

export interface BalanceCall extends Call {
  account: string;
  /** Null unless the call was done. */
  found: { balance: bigint; held: bigint } | null;
}

export interface History {
  chats: readonly Sight[];
  credits: readonly CreditCall[];
  budgets: readonly BudgetCall[];
  balances: readonly BalanceCall[];
}

/** One line per operation, sorted by the time of the call. */
export function historyLines({ chats, credits, budgets, balances }: History): string {
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
