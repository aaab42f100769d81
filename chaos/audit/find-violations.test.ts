/** Tests the auditor itself: it reports nothing for a correct run and detects each kind of error. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RequestObservation } from "@tollgate/stage/load/observation.ts";
import {
  type AuditRule,
  type FaultEpisode,
  findViolations,
  isViolationCounted,
  type Violation,
} from "./find-violations.ts";
import type { LedgerRecord, LedgerState } from "./ledger-state.ts";

const ACCOUNT = "00000000-0000-7000-8000-0000000000aa";
const PRICES = { in: 20_000n, out: 40_000n };
const TEXT = "time people water";
const PROMPT_TOKENS = 10;
/** The charge in picodollars: prompt tokens × input price + 3 output tokens × output price. */
const CHARGE = 320_000n;
const CAP = 300;
const EPOCH = 1_700_000_000_000;

/**
 * Makes the request's public ID (`req_…`) from a small number. `uuidOf` below makes the database's UUID from the same
 * number.
 */
const idOf = (n: number): string => `req_${String(n).padStart(26, "0")}`;
const uuidOf = (n: number): string => `00000000-0000-0000-0000-${String(n).padStart(12, "0")}`;

const sight = (changes: Partial<RequestObservation> = {}): RequestObservation => ({
  ...{ kind: "stream", endpoint: "chat", account: ACCOUNT, model: "tiny-3b", stream: true, cap: CAP },
  ...{ text: TEXT, hangUpAfterMs: null, isPoor: false, beganAt: 1_000, endedAt: 2_000, end: "complete" },
  ...{ requestId: idOf(1), status: 200, code: null, received: TEXT },
  usage: { prompt: PROMPT_TOKENS, completion: 3 },
  ...changes,
});

const record = (changes: Partial<LedgerRecord> = {}): LedgerRecord => {
  const whole: LedgerRecord = {
    ...{
      id: uuidOf(1),
      account: ACCOUNT,
      endpoint: "chat",
      model: "tiny-3b",
      stream: true,
      outcome: "ok",
      status: 200,
    },
    ...{
      promptTokens: PROMPT_TOKENS,
      completionTokens: 3,
      hold: 12_200_000n,
      charge: CHARGE,
      short: 0n,
      hostShare: 0n,
    },
    ...{ hasHost: true, prices: PRICES, ...changes },
  };
  return { ...whole, hostShare: changes.hostShare ?? (whole.hasHost ? (whole.charge * 7n) / 10n : 0n) };
};

/** Returns a ledger state that agrees with these records, with optional changes. */
function ledgerWith(records: LedgerRecord[], changes: Partial<LedgerState> = {}): LedgerState {
  const charged = records.filter(({ charge }) => charge > 0n);
  const spent = charged.reduce((sum, { charge }) => sum + charge, 0n);
  const [granted, balance] = [1_000_000_000n, 1_000_000_000n - spent];
  return {
    records,
    operations: [
      { id: uuidOf(999), charges: 0, charged: 0n, sum: 0n },
      ...charged.map(({ id, charge }) => ({ id, charges: 1, charged: charge, sum: 0n })),
    ],
    transfers: [uuidOf(999)],
    accounts: [{ id: ACCOUNT, kind: "builder", balance, held: 0n, sum: balance, granted }],
    ...{ holds: [], quarantines: [], ledgerCheck: null, ...changes },
  };
}

const episode = (changes: Partial<FaultEpisode> = {}): FaultEpisode => ({
  ...{ fault: "a fault", struckAt: 500, healedAt: 1_500, calmAt: 5_000, mayShow: [], mayWait: false, mayBar: false },
  ...{ recovered: true, recoversWithinMs: 45_000, ...changes },
});

const found = (sights: RequestObservation[], kept: LedgerState, episodes: FaultEpisode[] = []): AuditRule[] =>
  findViolations({ sights, ledgerState: kept, episodes, epoch: EPOCH }).map(({ rule }) => rule);

const REFUSED: Partial<RequestObservation> = {
  end: "refused",
  status: 503,
  code: "no_capacity",
  received: "",
  usage: null,
};
const STALLED: Partial<RequestObservation> = {
  end: "event",
  code: "upstream_stall",
  received: "time people",
  usage: null,
};
const SHOWS = [episode({ mayShow: ["503 no_capacity", "event upstream_stall", "connection lost"] })];

test("the auditor reports nothing for a correct run", () => {
  const sights = [
    sight(),
    sight({ ...REFUSED, requestId: idOf(2) }),
    // An error that the load balancer itself returned, so without a request ID and without a record. The record with
    // the same `cap` belongs to the request below whose connection broke.
    sight({ ...REFUSED, requestId: null, cap: 301 }),
    sight({ ...STALLED, requestId: idOf(3) }),
    sight({ end: "lost", status: null, requestId: null, received: "", usage: null, cap: 301 }),
    // Refused before any hold. The refusal did not reach the client.
    sight({ end: "lost", status: null, requestId: null, received: "", usage: null, cap: 302 }),
    sight({ end: "lost", requestId: idOf(5), received: "time", usage: null }),
    sight({ end: "hung up", requestId: idOf(6), received: "time", usage: null }),
    sight({ ...REFUSED, status: 402, code: "insufficient_credits", isPoor: true, requestId: idOf(7) }),
    // Settled late, when the account had no credit left, so the settlement is short.
    sight({ isPoor: true, requestId: idOf(9) }),
    sight({ kind: "models", endpoint: "reading", account: null, requestId: idOf(8), received: "" }),
  ];
  const free = { charge: 0n, completionTokens: 0 };
  const records = [
    record(),
    record({ id: uuidOf(2), outcome: "no_capacity", ...free }),
    record({ id: uuidOf(3), outcome: "plane_lost", completionTokens: 2, charge: 280_000n }),
    record({ id: uuidOf(4), outcome: "gateway_lost", hold: 12_240_000n, hasHost: false, ...free }),
    record({ id: uuidOf(10), outcome: "rate_limit_sku_capacity", hold: 0n, prices: null, hasHost: false, ...free }),
    record({ id: uuidOf(5) }),
    record({ id: uuidOf(6), outcome: "client_closed", completionTokens: 2, charge: 280_000n }),
    record({ id: uuidOf(9), charge: 1n, short: CHARGE - 1n }),
  ];
  assert.deepEqual(findViolations({ sights, ledgerState: ledgerWith(records), episodes: SHOWS, epoch: EPOCH }), []);
});

const cases: [
  what: string,
  rules: AuditRule[],
  sights: RequestObservation[],
  ledgerState: LedgerState,
  episodes?: FaultEpisode[],
][] = [
  ["an answer without a record", ["lost"], [sight()], ledgerWith([])],
  [
    "an answer whose hold expired with its lease",
    ["lost"],
    [sight()],
    ledgerWith([record({ outcome: "gateway_lost", completionTokens: 0, charge: 0n, hasHost: false })]),
  ],
  [
    "a late charge below what the builder could pay",
    ["lost"],
    [sight()],
    ledgerWith([record({ charge: CHARGE - 1n, short: 1n })]),
  ],
  ["a missing word of the answer", ["text"], [sight({ received: "time people" })], ledgerWith([record()])],
  ["a charge that is a picodollar too high", ["charge"], [sight()], ledgerWith([record({ charge: CHARGE + 1n })])],
  [
    "a charge above the balance",
    ["tokens", "tokens"],
    [sight()],
    ledgerWith([record({ completionTokens: 4, charge: 360_000n })]),
  ],
  [
    "token counts that differ from the client's",
    ["tokens"],
    [sight({ usage: { prompt: 9, completion: 3 } })],
    ledgerWith([record()]),
  ],
  ["a host that is paid too little", ["charge"], [sight()], ledgerWith([record({ hostShare: 1n })])],
  ["a charge above the hold", ["charge"], [sight()], ledgerWith([record({ hold: 1n })])],
  [
    "a charge for a refused request",
    ["charge", "charge"],
    [sight(REFUSED)],
    ledgerWith([record({ outcome: "no_capacity" })]),
    SHOWS,
  ],
  [
    "a full charge after the plane was lost",
    ["charge", "charge"],
    [sight({ ...REFUSED, stream: false })],
    ledgerWith([record({ outcome: "plane_lost", stream: false, completionTokens: 0, charge: 200_000n })]),
    [episode({ mayShow: ["503 no_capacity"] })],
  ],
  [
    "a charge for more than reached the stream's client",
    ["tokens"],
    [sight(STALLED)],
    ledgerWith([record({ outcome: "upstream_stall", hasHost: false })]),
    SHOWS,
  ],
  [
    "a payment to a host whose node fell silent",
    ["charge"],
    [sight(STALLED)],
    ledgerWith([record({ outcome: "upstream_stall", completionTokens: 2, charge: 280_000n })]),
    SHOWS,
  ],
  [
    "a free stream with output",
    ["charge", "lost"],
    [sight(STALLED)],
    ledgerWith([record({ outcome: "gateway_stopped", completionTokens: 2, charge: 0n })]),
    SHOWS,
  ],
  ["a stream that broke off with the outcome ok", ["charge"], [sight(STALLED)], ledgerWith([record()]), SHOWS],
  ["an unknown outcome", ["charge"], [sight({ end: "hung up" })], ledgerWith([record({ outcome: "mystery" })])],
  ["a record without a request", ["double"], [], ledgerWith([record()])],
  [
    "two records of a request without an ID",
    ["double"],
    [sight({ end: "lost", requestId: null, received: "" })],
    ledgerWith([record(), record({ id: uuidOf(2) })]),
    SHOWS,
  ],
  [
    "a request that is charged twice",
    ["double", "ledger"],
    [sight()],
    ledgerWith([record()], { operations: [{ id: uuidOf(1), charges: 2, charged: 2n * CHARGE, sum: 0n }] }),
  ],
  [
    "entries that are all zero",
    ["double"],
    [],
    ledgerWith([], { operations: [{ id: uuidOf(5), charges: 1, charged: 5n, sum: 0n }] }),
  ],
  [
    "entries that do not balance",
    ["ledger"],
    [],
    ledgerWith([], { operations: [{ id: uuidOf(999), charges: 0, charged: 0n, sum: 1n }] }),
  ],
  ["a charge without an entry", ["ledger"], [sight()], ledgerWith([record()], { operations: [] })],
  [
    "a balance that is not the sum of its entries",
    ["ledger"],
    [],
    ledgerWith([], { accounts: [{ id: ACCOUNT, kind: "host", balance: 5n, held: 0n, sum: 4n, granted: 0n }] }),
  ],
  [
    "a builder who paid more than was charged",
    ["ledger"],
    [],
    ledgerWith([], { accounts: [{ id: ACCOUNT, kind: "builder", balance: 4n, held: 0n, sum: 4n, granted: 5n }] }),
  ],
  [
    "a hold that is left over",
    ["hold", "hold"],
    [],
    ledgerWith([], {
      accounts: [{ id: ACCOUNT, kind: "builder", balance: 5n, held: 1n, sum: 5n, granted: 5n }],
      holds: [{ id: uuidOf(1), account: ACCOUNT, isPastLease: true }],
    }),
  ],
  ["a failed ledger check", ["ledger"], [], ledgerWith([], { ledgerCheck: "balances DIFFER" })],
  [
    "a quarantined honest node",
    ["quarantine"],
    [],
    ledgerWith([], { quarantines: [{ node: "n1", reason: "failures", at: EPOCH + 1_000 }] }),
    [episode()],
  ],
  ["a 500 response", ["answer"], [sight({ ...REFUSED, status: 500, code: "internal_error" })], ledgerWith([]), SHOWS],
  ["a refusal without a fault", ["refused"], [sight(REFUSED)], ledgerWith([])],
  [
    "a refusal that this fault must not cause",
    ["refused"],
    [sight(REFUSED)],
    ledgerWith([]),
    [episode({ mayShow: ["connection lost"] })],
  ],
  ["a refusal before the fault", ["refused"], [sight({ ...REFUSED, endedAt: 400 })], ledgerWith([]), SHOWS],
  [
    "a builder with credit who gets a 402",
    ["answer"],
    [sight({ ...REFUSED, status: 402, code: "insufficient_credits" })],
    ledgerWith([]),
    SHOWS,
  ],
  ["a refusal that took 12 s", ["wait"], [sight({ ...REFUSED, endedAt: 13_100 })], ledgerWith([]), SHOWS],
  [
    "a request without a recorded end",
    ["answer", "wait"],
    [sight({ ...REFUSED, end: "gave up", endedAt: 61_000 })],
    ledgerWith([]),
    SHOWS,
  ],
  [
    "a lost connection without a fault",
    ["answer"],
    [sight({ end: "lost", requestId: null, received: "", usage: null })],
    ledgerWith([]),
  ],
  ["a recovery that takes too long", ["late"], [], ledgerWith([]), [episode({ calmAt: 46_501 })]],
  ["a fault without a recovery", ["not recovered"], [], ledgerWith([]), [episode({ recovered: false })]],
];
for (const [what, rules, sights, kept, episodes = []] of cases) {
  test(`the auditor detects ${what}`, () => {
    assert.deepEqual(found(sights, kept, episodes).sort(), rules.toSorted());
  });
}

test("the auditor measures the time limit of requests in flight from the beginning of the fault", () => {
  const shows = { mayShow: ["503 no_capacity"] };
  const [longAgo, since] = [
    sight({ ...REFUSED, beganAt: 1_000, endedAt: 33_000 }),
    episode({ ...shows, calmAt: 40_000 }),
  ];
  assert.deepEqual(found([longAgo], ledgerWith([]), [{ ...since, struckAt: 20_000 }]), []);
  assert.deepEqual(found([longAgo], ledgerWith([]), [{ ...since, struckAt: 19_000 }]), ["wait"]);
});

test("the auditor reports no violation for a faulty node's quarantine or long waits of a killed gateway's clients", () => {
  const quarantines = [{ node: "n1", reason: "failures", at: EPOCH + 1_000 }];
  assert.deepEqual(found([], ledgerWith([], { quarantines }), [episode({ mayBar: true })]), []);
  const late = sight({ ...REFUSED, endedAt: 40_000 });
  assert.deepEqual(found([late], ledgerWith([]), [episode({ mayShow: ["503 no_capacity"], mayWait: true })]), []);
});

test("violations of rules on speed count only with --strict; violations of rules on money and answers always count", () => {
  const rules = (
    strict: boolean,
    sights: RequestObservation[],
    kept: LedgerState,
    episodes: FaultEpisode[],
  ): AuditRule[] =>
    findViolations({ sights, ledgerState: kept, episodes, epoch: EPOCH })
      .filter((violation: Violation) => isViolationCounted(violation, { strict }))
      .map(({ rule }) => rule)
      .sort();
  const slow = [
    sight({ ...REFUSED, requestId: idOf(2), endedAt: 13_100 }),
    sight({ ...STALLED, requestId: idOf(3), beganAt: 100_000, endedAt: 101_000 }),
  ];
  const stalled = record({
    id: uuidOf(3),
    outcome: "upstream_stall",
    completionTokens: 2,
    charge: 280_000n,
    hasHost: false,
  });
  const quarantines = [{ node: "n1", reason: "failures", at: EPOCH + 1_000 }];
  const late = [episode({ calmAt: 60_000 })];
  const kept = ledgerWith([stalled], { quarantines });
  assert.deepEqual(rules(false, slow, kept, late), []);
  assert.deepEqual(rules(true, slow, kept, late), ["late", "quarantine", "refused", "refused", "wait"]);
  const wrong = [sight(), sight({ ...REFUSED, status: 500, code: "internal_error", requestId: idOf(4) })];
  assert.deepEqual(rules(false, wrong, ledgerWith([]), []), ["answer", "lost"]);
});
