/**
 * Measures, with a demo payment provider of its own, how often a card is charged again after its owner disputed an
 * automatic purchase.
 */
import { buildCheckoutSession, buildDispute } from "@tollgate/demo-provider/api-objects.ts";
import type { SaleRecord } from "@tollgate/demo-provider/sale-record.ts";
import { dollars } from "../../gateway/src/base/money.ts";
import { manualClock } from "../../gateway/src/base/testing.ts";
import { buildEventBody, deliverSignedEvent, openTestPayments } from "../../gateway/src/payments/testing-payments.ts";

/** The time between two automatic purchases, in milliseconds. */
const APART_MS = 11 * 60_000;
const ROUNDS = 5;

export async function countChargesAfterDispute(): Promise<number> {
  const clock = manualClock(Date.UTC(2031, 4, 15, 12));
  const payments = await openTestPayments({ clock });
  const { demo, receivers, newId, db } = payments;
  const [gateway] = receivers;
  try {
    const accountId = await payments.openBuilder();
    const [identity, email] = [newId(), "owner@example.test"];
    await db.pool.query("insert into identity (id, email, name) values ($1, $2, 'A')", [identity, email]);
    await db.pool.query("insert into account_owner (identity_id, account_id) values ($1, $2)", [identity, accountId]);
    await gateway.openSetup({ accountId, successUrl: "http://a.test/", cancelUrl: "http://a.test/" });
    const setup = demo.shop.sales.at(-1) as SaleRecord;
    demo.shop.save(setup, "4242");
    const created = clock.now() / 1000;
    await deliverSignedEvent(
      gateway,
      demo,
      buildEventBody("checkout.session.completed", buildCheckoutSession(setup), { created }),
    );
    const wanted = { amount: dollars(20), mark: dollars(5), monthMax: dollars(1000), enabled: true };
    await gateway.topUps.set(accountId, wanted);
    const purchases = (): SaleRecord[] =>
      demo.shop.sales.filter(({ mode, state }) => mode === "intent" && state === "paid");
    const topUp = async (): Promise<void> => {
      clock.advance(APART_MS);
      await gateway.topUps.begin();
      await gateway.topUps.ask();
    };
    await topUp();
    for (let i = 0; i < ROUNDS; i++) {
      const sale = purchases().at(-1) as SaleRecord;
      const dispute = { id: `du_${i}`, cents: 2000, status: "needs_response" };
      await deliverSignedEvent(gateway, demo, buildEventBody("charge.dispute.created", buildDispute(sale, dispute)));
      await topUp();
    }
    return purchases().length - 1;
  } finally {
    await payments.close();
  }
}
