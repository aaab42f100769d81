/** The list of an account's payments, with their states and receipts. */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { buildCheckoutSession, buildDispute, buildRefund } from "@tollgate/demo-provider/api-objects.ts";
import type { SaleRecord } from "@tollgate/demo-provider/sale-record.ts";
import type { Uuid } from "../base/ids.ts";
import { PICO_PER_DOLLAR } from "../base/money.ts";
import { assertLedgerBalances, buildEventBody, deliverSignedEvent } from "./testing-payments.ts";
import { openTopUpRig, type TopUpRig } from "./testing-top-ups.ts";

let t: TopUpRig;
before(async () => {
  t = await openTopUpRig();
});
afterEach(() => assertLedgerBalances(t.db));
after(() => t.close());

describe("the list of payments", () => {
  test("shows purchases, top-ups, refunds and disputes page by page, with their states and receipts", async () => {
    const id = await t.account();
    await t.run();
    t.clock.advance(1000);
    const { sale } = await t.start(id);
    t.demo.shop.pay(sale);
    const send = (type: string, object: object) =>
      deliverSignedEvent(t.gateway(), t.demo, buildEventBody(type, object));
    await send("checkout.session.completed", buildCheckoutSession(sale));
    const [automatic] = t.intents(id) as [SaleRecord];
    await send("refund.created", buildRefund(automatic, { id: "re_list", cents: 700, status: "succeeded" }));
    await send("charge.dispute.created", buildDispute(sale, { id: "du_list", cents: 2000, status: "needs_response" }));
    await t.start(id);
    const all = await t.gateway().list(id, { before: undefined, limit: 10 });
    const seen = all.map(({ kind, state, amount, providerId }) => [
      kind,
      state,
      Number(amount / PICO_PER_DOLLAR),
      providerId,
    ]);
    assert.deepEqual(
      new Set(seen.map(String)),
      new Set(
        [
          ["purchase", "paid", 20, null],
          ["automatic", "paid", 20, null],
          ["refund", "paid", 7, "re_list"],
          ["dispute", "open", 20, "du_list"],
        ].map(String),
      ),
    );
    const paged: string[] = [];
    for (let before: string | undefined; ; before = paged.at(-1)) {
      const [next] = await t.gateway().list(id, { before, limit: 1 });
      if (next === undefined) break;
      paged.push(next.place);
    }
    assert.deepEqual(
      paged,
      all.map(({ place }) => place),
    );
    for (const { purchaseId } of all) {
      const found = await t.gateway().receipts(id, purchaseId);
      assert.match(String(found?.receipt), /\/receipts\//);
      assert.equal((await fetch(String(found?.receipt))).status, 200);
    }
    assert.equal(await t.gateway().receipts(await t.openBuilder(), all[0]?.purchaseId as Uuid), undefined);
  });
});
