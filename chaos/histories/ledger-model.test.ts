/** Tests the model of the ledger itself: it accepts a correct history and detects each kind of error. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RequestObservation } from "@tollgate/stage/load/observation.ts";
import type { LedgerRecord } from "../audit/ledger-state.ts";
import { checkHistory, type FinalLedger, type LedgerViolationKind } from "./ledger-model.ts";
import type { BalanceCall, BudgetCall, CreditCall, History } from "./recorded-calls.ts";

const ACCOUNT = "00000000-0000-7000-8000-0000000000aa";
const KEY = "00000000-0000-7000-8000-0000000000bb";
/** The charge in picodollars: 10 prompt tokens at 20, and 3 output tokens at 40. */
const CHARGE = 320n;
const idOf = (n: number): string => `req_${String(n).padStart(26, "0")}`;
const uuidOf = (n: number): string => `00000000-0000-0000-0000-${String(n).padStart(12, "0")}`;

const chat = (n: number, changes: Partial<RequestObservation> = {}): RequestObservation => ({
  ...{ kind: "chat", endpoint: "chat", account: ACCOUNT, model: "tiny-3b", stream: false, cap: 30 },
  ...{ text: "time people water", hangUpAfterMs: null, isPoor: false, beganAt: 100, endedAt: 200, end: "complete" },
  ...{ requestId: idOf(n), status: 200, code: null, received: "time people water" },
  usage: { prompt: 10, completion: 3 },
  ...changes,
});

const record = (n: number, changes: Partial<LedgerRecord> = {}): LedgerRecord => ({
  ...{ id: uuidOf(n), account: ACCOUNT, endpoint: "chat", model: "tiny-3b", stream: false, outcome: "ok", status: 200 },
  ...{ promptTokens: 10, completionTokens: 3, hold: 1_400n, charge: CHARGE, short: 0n, hostShare: 224n, hasHost: true },
  prices: { in: 20n, out: 40n },
  ...changes,
});

const credit = (changes: Partial<CreditCall> = {}): CreditCall => ({
  ...{ kind: "grant", account: ACCOUNT, amount: 1_000n, mark: "first", calledAt: 10, returnedAt: 20, outcome: "done" },
  ...changes,
});
const budget = (dayMax: bigint, calledAt: number): BudgetCall => ({
  ...{ key: KEY, dayMax, calledAt, returnedAt: calledAt + 5, outcome: "done" },
});
const read = (balance: bigint, changes: Partial<BalanceCall> = {}, held = 0n): BalanceCall => ({
  ...{ account: ACCOUNT, calledAt: 300, returnedAt: 310, outcome: "done", found: { balance, held } },
  ...changes,
});

const history = (changes: Partial<History> = {}): History => ({
  ...{ chats: [chat(1)], credits: [credit()], budgets: [], balances: [] },
  ...changes,
});

/** Returns a ledger in which all operations of the history were carried out, with optional changes. */
function ledger(changes: Partial<FinalLedger> & { balance?: bigint } = {}): FinalLedger {
  const { balance = 1_000n - CHARGE, ...more } = changes;
  const records = more.records ?? [record(1)];
  return {
    accounts: [{ id: ACCOUNT, kind: "builder", balance, held: 0n, sum: balance, granted: 1_000n }],
    credits: [{ mark: "first", kind: "grant", account: ACCOUNT, amount: 1_000n }],
    keys: new Map(records.map(({ id }) => [id, KEY])),
    late: new Set(),
    records,
    ...more,
  };
}

const found = (calls: History, kept: FinalLedger): LedgerViolationKind[] =>
  checkHistory(calls, kept).map(({ rule }) => rule);
const SECOND = { mark: "second", kind: "grant", account: ACCOUNT, amount: 5n };

test("the model accepts a late settlement that charges only available credit, even credit granted after the response", () => {
  const calls = history({ credits: [credit({ amount: 100n, calledAt: 500, returnedAt: 510 })] });
  const kept = ledger({
    credits: [{ ...SECOND, mark: "first", amount: 100n }],
    records: [record(1, { charge: 100n, short: CHARGE - 100n })],
    late: new Set([uuidOf(1)]),
    balance: 0n,
  });
  assert.deepEqual(checkHistory(calls, kept), []);
});

test("the model accepts a history that agrees with the ledger", () => {
  const calls = history({
    chats: [chat(1), chat(2, { end: "lost", requestId: null, usage: null, received: "", status: null })],
    credits: [
      credit(),
      credit({ mark: "second", amount: 5n, outcome: "unknown" }),
      credit({ mark: "third", amount: 7n, outcome: "unknown" }),
      credit({ mark: "fourth", amount: 9n, outcome: "refused" }),
    ],
    budgets: [budget(CHARGE, 50)],
    balances: [
      read(0n, { calledAt: 1, returnedAt: 2 }),
      read(1_000n, { calledAt: 50, returnedAt: 60 }),
      // This balance does not yet include the charge: the settlement may still be on its gateway's disk.
      read(1_005n),
      read(1_005n - CHARGE),
      { ...read(0n), outcome: "unknown", found: null },
    ],
  });
  const [first] = ledger().credits;
  const kept = ledger({ balance: 1_005n - CHARGE, credits: [first as NonNullable<typeof first>, SECOND] });
  assert.deepEqual(checkHistory(calls, kept), []);
});

const cases: [what: string, rules: LedgerViolationKind[], History, FinalLedger][] = [
  ["an acknowledged grant that is missing", ["lost", "balance"], history(), ledger({ credits: [], balance: -CHARGE })],
  [
    "a grant that was entered twice",
    ["double", "balance"],
    history(),
    ledger({ credits: [...ledger().credits, ...ledger().credits], balance: 2_000n - CHARGE }),
  ],
  [
    "a grant with a wrong amount",
    ["double", "balance"],
    history(),
    ledger({ credits: [{ mark: "first", kind: "grant", account: ACCOUNT, amount: 999n }], balance: 999n - CHARGE }),
  ],
  [
    "a refused grant that was entered",
    ["double", "balance"],
    history({ credits: [credit(), credit({ mark: "second", amount: 5n, outcome: "refused" })] }),
    ledger({ credits: [...ledger().credits, SECOND], balance: 1_005n - CHARGE }),
  ],
  [
    "credit without a grant",
    ["double", "balance"],
    history(),
    ledger({ credits: [...ledger().credits, SECOND], balance: 1_005n - CHARGE }),
  ],
  [
    "a late charge above the balance",
    ["overspent"],
    history({ credits: [credit({ amount: 100n })] }),
    ledger({
      credits: [{ ...SECOND, mark: "first", amount: 100n }],
      records: [record(1, { short: 200n })],
      balance: -20n,
    }),
  ],
  ["a charge lost by a concurrent update", ["balance"], history(), ledger({ balance: 1_000n })],
  [
    "an answer charged below its tokens",
    ["balance"],
    history(),
    ledger({ records: [record(1, { charge: 300n })], balance: 700n }),
  ],
  [
    "spending before the credit arrived",
    ["overspent"],
    history({ credits: [credit({ calledAt: 500, returnedAt: 510 })] }),
    ledger(),
  ],
  [
    "spending above the budget at that time",
    ["budget"],
    history({ budgets: [budget(CHARGE - 1n, 50), budget(CHARGE, 250)] }),
    ledger(),
  ],
  ["a balance below zero", ["read"], history({ balances: [read(-1n)] }), ledger()],
  ["more held than the balance", ["read"], history({ balances: [read(680n, {}, 681n)] }), ledger()],
  ["a balance without an acknowledged grant", ["read"], history({ balances: [read(679n)] }), ledger()],
  ["a balance above all grants", ["read"], history({ balances: [read(1_001n)] }), ledger()],
];
for (const [what, rules, calls, kept] of cases) {
  test(`the model detects ${what}`, () => {
    assert.deepEqual(found(calls, kept), rules);
  });
}
