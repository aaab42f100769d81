/** For tests of automatic top-ups: accounts with a saved card, on two gateways and a clock that the test moves. */
import assert from "node:assert/strict";
import { buildCheckoutSession } from "@tollgate/demo-provider/api-objects.ts";
import type { SaleRecord, SavedCard, TestCardLast4 } from "@tollgate/demo-provider/sale-record.ts";
import { publicId, type Uuid } from "../base/ids.ts";
import { dollars, PICO_PER_DOLLAR, type Pico } from "../base/money.ts";
import { manualClock } from "../base/testing.ts";
import type { PaymentProvider } from "./payment-provider.ts";
import type { Payments } from "./payments.ts";
import { buildEventBody, deliverSignedEvent, openTestPayments } from "./testing-payments.ts";

/** A time in the middle of a month. */
const START = Date.UTC(2031, 4, 15, 12);

interface Wanted {
  amount: Pico;
  mark: Pico;
  monthMax: Pico;
}
export const WANTED_TOP_UP_SETTINGS: Wanted = { amount: dollars(20), mark: dollars(5), monthMax: dollars(1000) };

export type TopUpRig = Awaited<ReturnType<typeof openTopUpRig>>;

export async function openTopUpRig() {
  const clock = manualClock(START);
  /** Overrides the provider's methods for both gateways. */
  const wire: Partial<PaymentProvider> = {};
  const t = await openTestPayments({
    clock,
    provider: (real) => ({ ...real, charge: (order) => (wire.charge ?? real.charge)(order) }),
  });
  const gateway = (n = 0): Payments => t.receivers[n] as Payments;
  /** Saves a card on the provider's page as a person would, and delivers the event. */
  const saveCard = async (
    accountId: Uuid,
    last4: TestCardLast4,
    created = clock.now() / 1000,
  ): Promise<{ sale: SaleRecord; card: SavedCard }> => {
    await gateway().openSetup({ accountId, successUrl: "http://a.test/", cancelUrl: "http://a.test/" });
    const sale = t.demo.shop.sales.at(-1) as SaleRecord;
    const card = t.demo.shop.save(sale, last4);
    await deliverSignedEvent(
      gateway(),
      t.demo,
      buildEventBody("checkout.session.completed", buildCheckoutSession(sale), { created }),
    );
    return { sale, card };
  };
  return {
    ...t,
    clock,
    wire,
    gateway,
    saveCard,
    /** The provider's payments for the account's top-ups. */
    intents: (account: Uuid): SaleRecord[] =>
      t.demo.shop.sales.filter(
        ({ mode, metadata }) => mode === "intent" && metadata.tollgate_account === publicId("acc", account),
      ),
    dollarsOf: async (account: Uuid): Promise<number> =>
      Number(((await t.balance(account)) * 100n) / PICO_PER_DOLLAR) / 100,
    async account({ last4 = "4242", ...wanted }: Partial<Wanted> & { last4?: TestCardLast4 } = {}): Promise<Uuid> {
      const id = await t.openBuilder();
      await t.db.pool.query("insert into identity (id, email, name) values ($1, $2, 'A')", [
        t.newId(),
        `${id}@example.test`,
      ]);
      await t.db.pool.query(
        "insert into account_owner (identity_id, account_id) select id, $1 from identity where email = $2",
        [id, `${id}@example.test`],
      );
      await saveCard(id, last4);
      assert.ok(await gateway().topUps.set(id, { ...WANTED_TOP_UP_SETTINGS, ...wanted, enabled: true }));
      return id;
    },
    /** Runs the top-up job of every gateway at the same time. */
    async run(): Promise<void> {
      await Promise.all(
        [0, 1, 0, 1].map(async (n) => {
          await gateway(n).topUps.begin();
          await gateway(n).topUps.ask();
        }),
      );
    },
    spend: (accountId: Uuid, amount: Pico): Promise<string> =>
      t.ledger.transfer({ id: t.newId(), kind: "payout", accountId, amount, reason: "as if it were spent" }),
    enabled: async (id: Uuid): Promise<boolean | undefined> => (await gateway().topUps.of(id))?.enabled,
  };
}
