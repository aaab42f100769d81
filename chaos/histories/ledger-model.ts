/**
 * A model of the ledger, computed only from the history. An account has its added credit minus the cost of its answers;
 * a key has spent the cost of its requests. For calls with an unknown outcome, the ledger shows whether they were
 * carried out, at most once. A pure function that shares no code with the product. The auditor (../audit/audit.ts)
 * checks the charge of each single chat.
 */
import type { RequestObservation } from "@tollgate/stage/load/observation.ts";
import type { LedgerRecord, LedgerState } from "../audit/ledger-state.ts";
import { matchRequests } from "../audit/match-requests.ts";
import type { BalanceCall, CreditCall, History } from "./recorded-calls.ts";

export type LedgerViolationKind =
  /** An acknowledged operation that is missing in the ledger. */
  | "lost"
  /** An operation that is in the ledger twice, or although it was refused or never called. */
  | "double"
  /** A final balance that differs from the history. */
  | "balance"
  /** Spending of more credit than had been added. */
  | "overspent"
  /** A key's spending above all budgets that it ever had. */
  | "budget"
  /** A balance that was read, but that no order of the calls explains. */
  | "read";

export interface ModelViolation {
  rule: LedgerViolationKind;
  what: string;
}

/** Added credit in the ledger, with the mark of the call that added it. */
export interface LedgerCredit {
  mark: string;
  kind: string;
  account: string;
  amount: bigint;
}

export interface FinalLedger extends Pick<LedgerState, "records" | "accounts"> {
  credits: readonly LedgerCredit[];
  /** The ID of the key of each record, by the record's ID. */
  keys: ReadonlyMap<string, string>;
  /** The IDs of records that were settled after their leases had expired. */
  late: ReadonlySet<string>;
}

interface Charge {
  sight: RequestObservation;
  record: LedgerRecord;
  amount: bigint;
}

export function checkHistory(history: History, ledger: FinalLedger): ModelViolation[] {
  const { found, credits } = checkCredits(history.credits, ledger.credits);
  const { pairs } = matchRequests(history.chats, ledger.records);
  const charges = pairs.flatMap(({ sight, record }): Charge[] =>
    record === undefined ? [] : [{ sight, record, amount: costOf(sight, record) }],
  );
  // Late settlements are left out: they may be charged from credit that arrived after the answer.
  const answeredFirst = charges
    .filter(({ sight, record }) => sight.end === "complete" && !ledger.late.has(record.id))
    .sort((a, b) => a.sight.endedAt - b.sight.endedAt);
  for (const { id, balance } of ledger.accounts.filter(({ kind }) => kind === "builder")) {
    const [incoming, spent] = [credits.filter(({ account }) => account === id), ofAccount(charges, id)];
    const due = sum(incoming) - sum(spent);
    if (balance !== due)
      found.push({ rule: "balance", what: `${id} has ${balance}, and the history leaves it ${due}` });
    found.push(
      ...checkSpending(ofAccount(answeredFirst, id), (at) => sum(incoming.filter(({ calledAt }) => calledAt < at)), {
        rule: "overspent",
        who: id,
      }),
      ...history.balances
        .filter(({ account }) => account === id)
        .flatMap((read) => checkRead(read, { incoming, charges: spent })),
    );
  }
  return [...found, ...checkBudgets(history, answeredFirst, ledger.keys)];
}

/** Compares added credit in the ledger with the calls. Returns the errors, and the calls that were carried out. */
function checkCredits(
  calls: readonly CreditCall[],
  entered: readonly LedgerCredit[],
): { found: ModelViolation[]; credits: CreditCall[] } {
  const found: ModelViolation[] = [];
  const byMark = Map.groupBy(entered, ({ mark }) => mark);
  const credits = calls.filter((call) => {
    const same = byMark.get(call.mark) ?? [];
    byMark.delete(call.mark);
    const name = `${call.kind} ${call.mark} of ${call.amount}`;
    if (same.length > 1) found.push({ rule: "double", what: `${name} was entered ${same.length} times` });
    if (call.outcome === "refused" && same.length > 0)
      found.push({ rule: "double", what: `${name} was refused, and entered` });
    if (call.outcome === "done" && same.length === 0)
      found.push({ rule: "lost", what: `${name} was acknowledged, and is not there` });
    for (const { kind, account, amount } of same)
      if (kind !== call.kind || account !== call.account || amount !== call.amount)
        found.push({ rule: "double", what: `${name} was entered as ${kind} of ${amount} for ${account}` });
    return call.outcome === "done" || (call.outcome === "unknown" && same.length > 0);
  });
  for (const mark of byMark.keys()) found.push({ rule: "double", what: `nobody called for the credit ${mark}` });
  return { found, credits };
}

/**
 * Returns the cost of a request. A complete answer costs its usage at the record's prices; for other endings the
 * record's charge is used. A gateway that was unreachable for longer than its lease settles late and charges only the
 * remaining credit (`short` is the rest). The auditor checks that this happens only to accounts with little credit.
 */
function costOf({ end, usage }: RequestObservation, { prices, charge, short }: LedgerRecord): bigint {
  if (end !== "complete" || usage === null || prices === null) return charge;
  return BigInt(usage.prompt) * prices.in + BigInt(usage.completion) * prices.out - short;
}

/**
 * Checks that the sum of the charges never exceeded `mostBefore`, the credit or budget at that time. Adds the charges
 * in the order in which the answers returned.
 */
function checkSpending(
  answered: readonly Charge[],
  mostBefore: (at: number) => bigint,
  { rule, who }: { rule: LedgerViolationKind; who: string },
): ModelViolation[] {
  let spent = 0n;
  for (const { sight, amount } of answered) {
    spent += amount;
    const most = mostBefore(sight.endedAt);
    if (spent > most)
      return [{ rule, what: `${who}: ${spent} was spent when ${sight.requestId} was answered, of at most ${most}` }];
  }
  return [];
}

/**
 * Checks a balance that was read. It must be at least all credit that certainly was added minus all possible charges,
 * and at most all credit that may have been added. Charges do not lower the maximum, because settlements may still be
 * on a gateway's disk.
 */
function checkRead(
  { found, calledAt, returnedAt, account }: BalanceCall,
  { incoming, charges }: { incoming: readonly CreditCall[]; charges: readonly Charge[] },
): ModelViolation[] {
  if (found === null) return [];
  const { balance, held } = found;
  const say = (what: string): ModelViolation[] => [
    { rule: "read", what: `${account} had ${balance}, ${held} held: ${what}` },
  ];
  if (balance < 0n || held < 0n || held > balance) return say("spending took it below zero");
  const certain = incoming.filter((call) => call.outcome === "done" && call.returnedAt < calledAt);
  const least = sum(certain) - sum(charges.filter(({ sight }) => sight.beganAt < returnedAt));
  if (balance < least) return say(`at least ${least} had to be there`);
  const most = sum(incoming.filter((call) => call.calledAt < returnedAt));
  return balance > most ? say(`at most ${most} could be there`) : [];
}

/**
 * Checks each key's spending per day. Budgets are only raised, so the limit is the highest budget requested before the
 * answer.
 */
function checkBudgets({ budgets }: History, answered: readonly Charge[], keys: FinalLedger["keys"]): ModelViolation[] {
  return [...Map.groupBy(budgets, ({ key }) => key)].flatMap(([key, calls]) => {
    const mostBefore = (at: number): bigint =>
      calls.filter(({ calledAt }) => calledAt < at).reduce((most, { dayMax }) => (dayMax > most ? dayMax : most), 0n);
    const own = answered.filter(({ record }) => keys.get(record.id) === key);
    return [...Map.groupBy(own, ({ record }) => dayOf(record.id))].flatMap(([day, charges]) =>
      checkSpending(charges, mostBefore, { rule: "budget", who: `key ${key} on day ${day}` }),
    );
  });
}

/** Returns the day of a request (in days since 1970) from the time in its UUID. */
const dayOf = (uuid: string): number =>
  Math.floor(Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16) / 86_400_000);
const ofAccount = (charges: readonly Charge[], id: string): Charge[] =>
  charges.filter(({ record }) => record.account === id);
const sum = (amounts: readonly { amount: bigint }[]): bigint =>
  amounts.reduce((total, { amount }) => total + amount, 0n);
