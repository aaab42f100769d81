/**
 * Test helper: payments on a real database with the real library and the demo provider. Two receivers have their own
 * connection pools.
 */

import assert from "node:assert/strict";
import { type DemoPaymentProvider, openDemoPaymentProvider } from "@tollgate/demo-provider/demo-provider.ts";
import type { SaleRecord } from "@tollgate/demo-provider/sale-record.ts";
import type pg from "pg";
import { openAccounts } from "../accounts/accounts.ts";
import type { Email } from "../accounts/mail-sender.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { type NewId, newIds, type Uuid } from "../base/ids.ts";
import { createLog, type Log } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import { timeoutFreeClock } from "../base/testing.ts";
import { openPool } from "../db/pool.ts";
import { enableRowValidation } from "../db/rows.ts";
import { openTestDatabase, TEST_CONNECTION_TIMEOUT_MS, type TestDatabase } from "../db/testing.ts";
import { checkLedger } from "../ledger/check.ts";
import { type Ledger, openLedger } from "../ledger/ledger.ts";
import type { Deliverer } from "../notifications/deliverer.ts";
import type { Notify } from "../notifications/notify.ts";
import { openTestNotifications } from "../notifications/testing-notifications.ts";
import type { PaymentProvider } from "./payment-provider.ts";
import { openPayments, type Payments } from "./payments.ts";
import { stripeProvider } from "./stripe.ts";

const RECEIVERS = 2;

export interface TestPayments {
  db: TestDatabase;
  pools: pg.Pool[];
  ledger: Ledger;
  newId: NewId;
  demo: DemoPaymentProvider;
  /** Two gateways' payments on one database. */
  receivers: [Payments, Payments];
  notify: Notify;
  deliverer: Deliverer;
  /** The emails that were sent. */
  mailed: Email[];
  /** The parsed log lines. */
  logged: Record<string, unknown>[];
  openBuilder(): Promise<Uuid>;
  /** Opens a checkout, which is not paid yet, with its sale at the demo provider. */
  start(accountId: Uuid, packId?: string): Promise<{ id: Uuid; sale: SaleRecord }>;
  balance(accountId: Uuid): Promise<bigint>;
  close(): Promise<void>;
}

interface TestPaymentsOptions {
  clock?: Clock;
  /** Replaces the payment provider of both receivers. `real` is the usual one, which calls the demo provider. */
  provider?: (real: PaymentProvider) => PaymentProvider;
  /** Runs before an email counts as sent. */
  mailing?: (letter: Email) => Promise<void>;
}

export async function openTestPayments(options: TestPaymentsOptions = {}): Promise<TestPayments> {
  const { clock = systemClock, provider = (real) => real, mailing = async () => {} } = options;
  const db = await openTestDatabase();
  const random = systemRandom();
  const newId = newIds(clock, random);
  const logged: Record<string, unknown>[] = [];
  const log = createLog("info", { write: (line) => void logged.push(JSON.parse(line)) });
  const demo = await openDemoPaymentProvider({ clock: systemClock, random, log });
  const mailed: Email[] = [];
  const mail = {
    delivers: true,
    async send(letter: Email) {
      await mailing(letter);
      mailed.push(letter);
    },
  };
  const { notify, deliverer } = openTestNotifications({ pool: db.pool, clock, newId, log, mail });
  const pools = Array.from({ length: RECEIVERS }, () =>
    enableRowValidation(
      openPool(db.connection, { log: createLog("silent"), sizeMax: 8, connectMsMax: TEST_CONNECTION_TIMEOUT_MS }),
    ),
  );
  const receivers = pools.map((pool) =>
    openPayments({ pool, provider: provider(createStripeProviderAt(demo)), notify, clock, newId, log }),
  );
  const ledger = openLedger({ pool: db.pool, clock: timeoutFreeClock, gatewayId: "test" });
  const accounts = openAccounts({ pool: db.pool, newId });
  return {
    db,
    pools,
    ledger,
    newId,
    demo,
    receivers: receivers as [Payments, Payments],
    notify,
    deliverer,
    mailed,
    logged,
    openBuilder: () => accounts.open("builder", "A builder"),
    async start(accountId, packId = "pack_20") {
      const { id } = await (receivers[0] as Payments).checkout({
        accountId,
        what: { packId },
        successUrl: () => "http://console.test/done",
        cancelUrl: () => "http://console.test/back",
      });
      return { id, sale: demo.shop.sales.at(-1) as SaleRecord };
    },
    async balance(accountId) {
      return (await ledger.balance(accountId))?.balance as bigint;
    },
    async close() {
      await demo.close();
      await Promise.all(pools.map((pool) => pool.end()));
      await db.close();
    },
  };
}

/** Configures the gateway's Stripe client with the demo provider's URL. */
export function createStripeProviderAt(demo: Pick<DemoPaymentProvider, "url" | "secretKey" | "webhookSecret">) {
  const { url: apiBase, secretKey, webhookSecret } = demo;
  return stripeProvider({ apiBase, secretKey, webhookSecrets: [webhookSecret], clock: systemClock });
}

let events = 0;

/** Formats an event's body as the provider would. */
export function buildEventBody(
  type: string,
  object: object,
  more: { id?: string; created?: number; livemode?: boolean } = {},
): string {
  const { id = `evt_test_${++events}`, created = 1_900_000_000, livemode = false } = more;
  return JSON.stringify({ object: "event", id, type, created, livemode, data: { object } });
}

/** Signs an event and delivers it. */
export const deliverSignedEvent = (to: Payments, demo: DemoPaymentProvider, body: string): Promise<void> =>
  to.receive(Buffer.from(body), demo.deliveries.sign(body));

export async function assertLedgerBalances(db: TestDatabase): Promise<void> {
  const differing = (await checkLedger(db.pool)).filter(({ differences }) => differences.length > 0);
  assert.deepEqual(differing, []);
  // Asserts that the recorded moves of payments equal the ledger's transfers.
  const { rows } = await db.pool.query(
    `select m.transfer_id from payment_move m join transfer t on t.id = m.transfer_id
       join payment_checkout c on c.id = m.checkout_id
      where t.account_id <> c.account_id or t.amount <> abs(m.amount)
         or t.kind <> case when m.amount > 0 then 'purchase' else m.kind end
     union all
     select id from transfer where kind in ('purchase', 'refund', 'dispute')
        and id not in (select transfer_id from payment_move)`,
  );
  assert.deepEqual(rows, []);
}

export const silentLog = (): Log => createLog("silent");
