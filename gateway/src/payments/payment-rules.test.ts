import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { parseId, type Uuid } from "../base/ids.ts";
import { pico } from "../base/money.ts";
import { CHECKOUT_STATES } from "../base/stored-enumerations.ts";
import {
  chooseNewerReversal,
  computeExpectedSums,
  findMissingTransfers,
  type KnownCheckout,
  pickFurthestState,
  type Reversal,
  type TransferredSums,
} from "./payment-rules.ts";
import { deriveTransferId } from "./process-payment-events.ts";

const at = (second: number): Date => new Date(second * 1000);
const refund = (amount: bigint, status: string): Reversal => ({
  kind: "refund",
  amount: pico(amount),
  status,
  asOf: at(0),
});
const dispute = (amount: bigint, status: string): Reversal => ({ ...refund(amount, status), kind: "dispute" });

describe("the expected balance of a payment", () => {
  const rows: [string, Partial<KnownCheckout>, { purchase?: bigint; refund?: bigint; dispute?: bigint }][] = [
    ["credits a paid checkout", {}, { purchase: 100n }],
    ...CHECKOUT_STATES.filter((state) => state !== "paid").map((state): [string, Partial<KnownCheckout>, object] => [
      `${state}: nothing, whatever is told of its payment`,
      { state, refundedTotal: pico(50n), reversals: [refund(50n, "succeeded"), dispute(100n, "lost")] },
      {},
    ]),
    ["debits a refunded total without refunds", { refundedTotal: pico(40n) }, { purchase: 100n, refund: -40n }],
    [
      "debits refunds without a total",
      { reversals: [refund(10n, "succeeded"), refund(20n, "pending")] },
      { purchase: 100n, refund: -30n },
    ],
    [
      "debits the larger of the total and the refunds",
      { refundedTotal: pico(40n), reversals: [refund(10n, "succeeded")] },
      { purchase: 100n, refund: -40n },
    ],
    [
      "credits a failed refund of the total back",
      { refundedTotal: pico(40n), reversals: [refund(10n, "failed")] },
      { purchase: 100n, refund: -30n },
    ],
    [
      "limits failed refunds to the refunded total",
      { refundedTotal: pico(10n), reversals: [refund(10n, "failed"), refund(10n, "canceled")] },
      { purchase: 100n },
    ],
    [
      "debits one of two disputes when one was won",
      { reversals: [dispute(60n, "won"), dispute(40n, "needs_response")] },
      { purchase: 100n, dispute: -40n },
    ],
    [
      "debits a refund and a dispute separately",
      { refundedTotal: pico(100n), reversals: [dispute(100n, "lost")] },
      { purchase: 100n, refund: -100n, dispute: -100n },
    ],
  ];
  for (const [what, known, expected] of rows) {
    test(what, () => {
      const sums = computeExpectedSums({
        state: "paid",
        amount: pico(100n),
        refundedTotal: pico(0n),
        reversals: [],
        ...known,
      });
      assert.deepEqual(sums, { purchase: 0n, refund: 0n, dispute: 0n, ...expected });
    });
  }
});

const statuses = ["warning_needs_response", "needs_response", "under_review", "lost", "appeal_under_review", "won"];
const words = fc.array(
  fc.record(
    {
      kind: fc.constant("dispute" as const),
      amount: fc.bigInt({ min: 1n, max: 3n }).map(pico),
      status: fc.constantFrom(...statuses),
      asOf: fc.nat(3).map(at),
    },
    { noNullPrototype: true },
  ),
  { minLength: 1, maxLength: 8 },
);

test("a dispute's outcome does not depend on the order of its events", () => {
  const last = (all: Reversal[]): Reversal => all.reduce((a, b) => chooseNewerReversal(a, b));
  fc.assert(
    fc.property(
      words.chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }))),
      ([all, shuffled]) => {
        assert.deepEqual(last(shuffled), last(all));
        assert.deepEqual(last([...shuffled, ...all]), last(all));
      },
    ),
  );
});

test("a later dispute event overrides an earlier one; of two in the same second, the more advanced status wins", () => {
  const word = (status: string, second: number): Reversal => ({ ...dispute(1n, status), asOf: at(second) });
  assert.equal(chooseNewerReversal(word("won", 1), word("under_review", 2)).status, "under_review");
  assert.equal(chooseNewerReversal(word("won", 1), word("needs_response", 1)).status, "won");
  assert.equal(chooseNewerReversal(word("lost", 1), word("won", 1)).status, "won");
});

test("a payment never returns to an earlier state, and a successful payment takes precedence", () => {
  for (const a of CHECKOUT_STATES) {
    assert.equal(pickFurthestState(a, "paid"), "paid");
    assert.equal(pickFurthestState("open", a), a);
    for (const b of CHECKOUT_STATES) assert.equal(pickFurthestState(a, b), pickFurthestState(b, a));
  }
});

test("after the missing transfers of a payment are made, its sums are as expected and no transfer is missing", () => {
  const amount = fc.bigInt({ min: -200n, max: 200n }).map(pico);
  const made = fc.record({ purchase: amount, refund: amount, dispute: amount });
  fc.assert(
    fc.property(made, words, fc.constantFrom(...CHECKOUT_STATES), (before, reversals, state) => {
      const known = { state, amount: pico(100n), refundedTotal: pico(7n), reversals };
      const sums: TransferredSums = { ...before };
      for (const move of findMissingTransfers(known, before)) {
        assert.notEqual(move.amount, 0n);
        sums[move.kind] = pico(sums[move.kind] + move.amount);
      }
      assert.deepEqual(sums, computeExpectedSums(known));
      assert.deepEqual(findMissingTransfers(known, sums), []);
    }),
  );
});

test("a transfer's ID is a UUIDv7 derived from its checkout and number, with the checkout's time", () => {
  const checkout = parseId("pay", "pay_06dg3m8q6pfxs3nxrk5mfa3ygc") as Uuid;
  const ids = Array.from({ length: 1000 }, (_, i) => deriveTransferId(checkout, i + 1));
  assert.equal(new Set(ids).size, ids.length);
  assert.equal(deriveTransferId(checkout, 1), ids[0]);
  for (const id of ids) {
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(id.slice(0, 13), checkout.slice(0, 13));
  }
});
