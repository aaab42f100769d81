/**
 * Compares events in any order with simple models. First: every order of five events, and the balance after each.
 * Second: random histories of a sale at the demo provider, whose events arrive shuffled, repeated and concurrently at
 * two gateways. A failure prints the seed; TEST_SEED repeats it.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { buildCharge, buildCheckoutSession, buildDispute } from "@tollgate/demo-provider/api-objects.ts";
import { computeRefundableCents, computeRefundedCents, type SaleRecord } from "@tollgate/demo-provider/sale-record.ts";
import { ProviderSales } from "@tollgate/demo-provider/sales-and-events.ts";
import fc from "fast-check";
import type { Uuid } from "../base/ids.ts";
import { PICO_PER_DOLLAR } from "../base/money.ts";
import { systemRandom } from "../base/random.ts";
import { manualClock } from "../base/testing.ts";
import {
  assertLedgerBalances,
  buildEventBody,
  deliverSignedEvent,
  openTestPayments,
  type TestPayments,
} from "./testing-payments.ts";

const PICO_PER_CENT = PICO_PER_DOLLAR / 100n;

let t: TestPayments;
before(async () => {
  t = await openTestPayments();
});
after(async () => {
  await assertLedgerBalances(t.db);
  await t.close();
});

const centsOf = async (account: Uuid): Promise<number> => Number((await t.balance(account)) / PICO_PER_CENT);

function permutations<T>(items: T[]): T[][] {
  if (items.length < 2) return [items];
  return items.flatMap((item, i) =>
    permutations([...items.slice(0, i), ...items.slice(i + 1)]).map((rest) => [item, ...rest]),
  );
}

type Name = "completed" | "async_succeeded" | "refunded" | "disputed" | "expired";

for (const paidBy of ["completed", "async_succeeded"] as const) {
  test(`five events of a payment give the same result in every order; paid with ${paidBy}`, async () => {
    const orders = permutations<Name>(["completed", "async_succeeded", "refunded", "disputed", "expired"]);
    assert.equal(orders.length, 120);
    for (const order of orders) {
      const account = await t.openBuilder();
      const { id, sale: opened } = await t.start(account);
      const sale: SaleRecord = { ...opened, payment: `pi_${id}`, charge: `ch_${id}`, state: "paid" };
      const refunds = [{ id: `re_${id}`, cents: 700, status: "succeeded" }];
      const dispute = { id: `du_${id}`, cents: 500, status: "needs_response" };
      const bodies: Record<Name, string> = {
        completed: buildEventBody(
          "checkout.session.completed",
          buildCheckoutSession({ ...sale, state: paidBy === "completed" ? "paid" : "pending" }),
        ),
        async_succeeded: buildEventBody("checkout.session.async_payment_succeeded", buildCheckoutSession(sale)),
        refunded: buildEventBody("charge.refunded", buildCharge({ ...sale, refunds })),
        disputed: buildEventBody("charge.dispute.created", buildDispute(sale, dispute)),
        expired: buildEventBody("checkout.session.expired", buildCheckoutSession({ ...opened, state: "expired" })),
      };
      const seen = new Set<Name>();
      for (const name of order) {
        await deliverSignedEvent(t.receivers[seen.size % 2 ? 1 : 0], t.demo, bodies[name]);
        seen.add(name);
        const paid = seen.has("async_succeeded") || (paidBy === "completed" && seen.has("completed"));
        const model = paid ? 2000 - (seen.has("refunded") ? 700 : 0) - (seen.has("disputed") ? 500 : 0) : 0;
        assert.equal(await centsOf(account), model, `after ${[...seen].join(", ")}`);
      }
    }
  });
}

const step = fc.oneof(
  fc.record({ do: fc.constant("refund" as const), part: fc.integer({ min: 1, max: 100 }) }),
  fc.record({ do: fc.constant("fail-refund" as const), which: fc.nat(5) }),
  fc.record({ do: fc.constant("dispute" as const) }),
  fc.record({ do: fc.constant("close" as const), result: fc.constantFrom("won" as const, "lost" as const) }),
);
const history = fc.record({
  begin: fc.constantFrom("pay", "pay", "later-arrives", "later-arrives", "later-fails", "later", "expire", "nothing"),
  steps: fc.array(fc.record({ step, pauseMs: fc.constantFrom(0, 400, 2000) }), { maxLength: 8 }),
  /** Some webhook endpoints subscribe to only one of the two kinds of refund events. */
  told: fc.constantFrom("both", "both", "totals", "singly"),
  repeats: fc.array(fc.nat(99), { maxLength: 8 }),
  order: fc.array(fc.nat(999), { minLength: 40, maxLength: 40 }),
  atOnce: fc.integer({ min: 1, max: 6 }),
});

test("random events of a sale give the right balance when they are shuffled, repeated and concurrent", async () => {
  const seed = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
  await fc.assert(
    fc.asyncProperty(history, async (script) => {
      const account = await t.openBuilder();
      const { sale } = await t.start(account);
      const bodies = play(sale, script);
      const sent = [...bodies, ...script.repeats.flatMap((n) => bodies[n % Math.max(1, bodies.length)] ?? [])]
        .map((body, i) => ({ body, rank: script.order[i] ?? i }))
        .sort((a, b) => a.rank - b.rank);
      for (let i = 0; i < sent.length; i += script.atOnce) {
        const batch = sent.slice(i, i + script.atOnce);
        await Promise.all(batch.map(({ body }, k) => deliverSignedEvent(t.receivers[k % 2 ? 1 : 0], t.demo, body)));
      }
      assert.equal(await centsOf(account), worth(sale));
    }),
    { seed, numRuns: 150, endOnFailure: true },
  );
});

type Script = typeof history extends fc.Arbitrary<infer T> ? T : never;

/** The account's expected balance, computed from the demo provider's records. */
function worth(sale: SaleRecord): number {
  if (sale.state !== "paid") return 0;
  const disputed = sale.disputes.filter(({ status }) => status !== "won").reduce((sum, { cents }) => sum + cents, 0);
  return sale.cents - computeRefundedCents(sale) - disputed;
}

/** Runs the script at a demo provider of its own, and returns the bodies of the sent events. */
function play(sale: SaleRecord, { begin, steps, told }: Script): string[] {
  const clock = manualClock();
  const bodies: string[] = [];
  const emit = (type: string, object: object): void => {
    if (told === "totals" && type.startsWith("refund.")) return;
    if (told === "singly" && type === "charge.refunded") return;
    bodies.push(buildEventBody(type, object, { created: Math.floor(clock.now() / 1000) }));
  };
  const shop = new ProviderSales({ clock, random: systemRandom(), sales: [sale], emit });
  if (begin === "pay") shop.pay(sale);
  if (begin.startsWith("later")) shop.payLater(sale);
  if (begin === "later-arrives") shop.arrive(sale);
  if (begin === "later-fails") shop.fail(sale);
  if (begin === "expire") shop.expire(sale);
  for (const { step, pauseMs } of steps) {
    clock.advance(pauseMs);
    if (sale.state !== "paid") continue;
    const live = sale.refunds.filter(({ status }) => status === "succeeded");
    const open = sale.disputes.find(({ status }) => status === "needs_response");
    const left = computeRefundableCents(sale);
    if (step.do === "refund" && left > 0) shop.refund(sale, Math.max(1, Math.floor((left * step.part) / 100)));
    // Without events about single refunds, the gateway cannot notice a failed refund.
    const failing = told === "totals" ? undefined : live[step.do === "fail-refund" ? step.which % live.length : 0];
    if (step.do === "fail-refund" && failing !== undefined) shop.failRefund(sale, failing);
    if (step.do === "dispute" && sale.disputes.length === 0) shop.dispute(sale);
    if (step.do === "close" && open !== undefined) shop.closeDispute(sale, open, step.result);
  }
  return bodies;
}
