import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { buildCheckoutSession } from "@tollgate/demo-provider/api-objects.ts";
import { dollars } from "../base/money.ts";
import {
  assertLedgerBalances,
  buildEventBody,
  deliverSignedEvent,
  openTestPayments,
  type TestPayments,
} from "./testing-payments.ts";

let t: TestPayments;
before(async () => {
  t = await openTestPayments();
});
after(() => t.close());

test("payment events older than 400 days are deleted, unless they need attention; a repeated event moves no money", async () => {
  const account = await t.openBuilder();
  const { sale } = await t.start(account);
  const paid = { ...sale, state: "paid", payment: "pi_1", charge: "ch_1" } as const;
  const send = (id: string, object: object) =>
    deliverSignedEvent(t.receivers[0], t.demo, buildEventBody("checkout.session.completed", object, { id }));
  const complete = buildCheckoutSession(paid);
  await send("evt_old", complete);
  await send("evt_young", complete);
  await send("evt_mismatch", { ...complete, amount_total: 1 });
  const age = (id: string, days: number) =>
    t.db.pool.query(
      "update payment_event set received_at = now() - make_interval(days => $2) where provider_event = $1",
      [id, days],
    );
  await age("evt_old", 401);
  await age("evt_young", 399);
  await age("evt_mismatch", 401);
  assert.equal(await t.receivers[0].sweep(), 1);
  assert.equal(await t.receivers[0].sweep(), 0);
  const { rows } = await t.db.pool.query("select provider_event as id, outcome from payment_event order by 1");
  assert.deepEqual(rows, [
    { id: "evt_mismatch", outcome: "mismatch" },
    { id: "evt_young", outcome: "applied" },
  ]);
  await send("evt_old", complete);
  assert.equal(await t.balance(account), dollars(20));
  await assertLedgerBalances(t.db);
});
