/**
 * An account's saved card for automatic top-ups. The buyer saves it on the provider's page. The gateway stores only the
 * provider's ID, the brand and the last four digits.
 */
import { OPEN_CHECKOUTS_MAX } from "@tollgate/api/api-limits.ts";
import type pg from "pg";
import { z } from "zod";
import type { Clock } from "../base/clock.ts";
import { type NewId, publicId, type Uuid } from "../base/ids.ts";
import { inTransaction } from "../db/pool.ts";
import { column, queryOne, queryRow, row } from "../db/rows.ts";
import type { PaymentProvider, SavedPaymentMethod } from "./payment-provider.ts";
import { disableTopUp } from "./top-up-settings.ts";

const WINDOW_S = 3600;

const SavedCard = row({ method: z.string(), brand: z.string(), last4: z.string().nullable() });
export type SavedCard = z.infer<typeof SavedCard>;

const Customer = row({ customer: z.string() });
const Setups = row({ setups: column.count, wait: z.int() });

interface SetupPage {
  successUrl: string;
  cancelUrl: string;
}

interface PaymentMethods {
  of(accountId: Uuid): Promise<SavedCard | undefined>;
  /**
   * Returns the URL of the page that saves a card, or the seconds to wait if too many pages were opened within the
   * hour.
   */
  openSetup(accountId: Uuid, page: SetupPage): Promise<{ url: string } | { waitS: number }>;
  /** Whether the provider's customer belongs to an account of this platform. */
  isOurs(customer: string): Promise<boolean>;
  /** Removes the card here and at the provider, and turns top-ups off. Returns false if there was none. */
  remove(accountId: Uuid): Promise<boolean>;
}

interface MethodsOptions {
  pool: pg.Pool;
  provider: PaymentProvider;
  clock: Clock;
  newId: NewId;
}

export function openPaymentMethods({ pool, provider, clock, newId }: MethodsOptions): PaymentMethods {
  const { live } = provider;
  const customerOf = async (accountId: Uuid): Promise<string> => {
    const find = () =>
      queryRow(
        pool,
        Customer,
        "select provider_customer as customer from payment_customer where account_id = $1 and live = $2",
        [accountId, live],
      );
    const found = await find();
    if (found !== undefined) return found.customer;
    const opened = await provider.openCustomer(publicId("acc", accountId));
    await pool.query(
      "insert into payment_customer (account_id, live, provider_customer) values ($1, $2, $3) on conflict do nothing",
      [accountId, live, opened],
    );
    // If two gateways create a customer concurrently, both use the one stored first.
    return (await find())?.customer ?? opened;
  };

  const find = (accountId: Uuid): Promise<SavedCard | undefined> =>
    queryRow(
      pool,
      SavedCard,
      `select provider_method as method, brand, last4 from payment_customer
        where account_id = $1 and live = $2 and provider_method is not null`,
      [accountId, live],
    );

  return {
    of: find,
    async openSetup(accountId, page) {
      const customer = await customerOf(accountId);
      const { setups, wait } = await queryOne(
        pool,
        Setups,
        // Uses no joined table: after waiting for another update of the row, PostgreSQL reads only this row again, and
        // joined tables as they were before the wait.
        `update payment_customer
            set setups = case when setups_since > $3::timestamptz - make_interval(secs => $4) then setups + 1 else 1 end,
                setups_since = case when setups_since > $3::timestamptz - make_interval(secs => $4) then setups_since else $3 end
          where account_id = $1 and live = $2
          returning setups, greatest(1, ceil($4 - extract(epoch from $3 - setups_since)))::int as wait`,
        [accountId, live, new Date(clock.now()), WINDOW_S],
      );
      if (setups > OPEN_CHECKOUTS_MAX) return { waitS: wait };
      const [reference, account] = [publicId("pay", newId()), publicId("acc", accountId)];
      return await provider.openSetup({ reference, account, customer, ...page });
    },
    async isOurs(customer) {
      const text = "select provider_customer as customer from payment_customer where provider_customer = $1";
      return (await queryRow(pool, Customer, text, [customer])) !== undefined;
    },
    async remove(accountId) {
      const saved = await find(accountId);
      if (saved === undefined) return false;
      await provider.forgetMethod(saved.method);
      await inTransaction(pool, async (client) => {
        await disableTopUp(client, accountId);
        // `as_of` is cut to whole seconds, the resolution of the provider's times, with which it is compared.
        await client.query(
          `update payment_customer
              set provider_method = null, brand = null, last4 = null, as_of = date_trunc('second', $3::timestamptz)
            where account_id = $1 and live = $2 and provider_method = $4`,
          [accountId, live, new Date(clock.now()), saved.method],
        );
      });
      return true;
    },
  };
}

/**
 * Stores a saved card. An event that is older than the stored state, or repeated after the card was removed, changes
 * nothing.
 */
export async function storePaymentMethod(
  client: pg.PoolClient,
  saved: SavedPaymentMethod,
  asOf: Date,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `update payment_customer set provider_method = $2, brand = $3, last4 = $4, as_of = $5
      where provider_customer = $1 and (as_of is null or as_of <= $5)`,
    [saved.customer, saved.method, saved.brand, saved.last4, asOf],
  );
  return rowCount === 1;
}
