/**
 * Automatic top-up: buys credit when the balance falls below a threshold. A purchase is recorded under a lock of the
 * account's row before the provider is called. If the gateway dies in between, another gateway repeats the call under
 * the same idempotency key. The payment is credited like any checkout (process-payment-events.ts), by the response or by an event,
 * whichever comes first.
 */
import { TOP_UP_INTERVAL_MIN_S } from "@tollgate/api/api-limits.ts";
import type pg from "pg";
import { z } from "zod";
import type { Clock } from "../base/clock.ts";
import { type NewId, publicId, type Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { formatExactMicrodollars } from "../base/money.ts";
import type { TopUpFailure } from "../base/stored-enumerations.ts";
import { HOUR_MS, startOfMonth } from "../base/time.ts";
import { inTransaction } from "../db/pool.ts";
import { column, queryOne, queryRow, queryRows, row } from "../db/rows.ts";
import type { Notify } from "../notifications/notify.ts";
import { AUTOMATIC_PACK } from "./credit-packs.ts";
import { type PaymentProvider, ProviderUnavailable } from "./payment-provider.ts";
import { type OnTopUpFailed, processChargeAnswer } from "./process-payment-events.ts";
import {
  type AutoTopUp,
  MONTH_SPENT_SQL,
  readTopUp,
  setTopUp,
  TOP_UP_QUERY,
  TopUpRow,
  type TopUpSettings,
} from "./top-up-settings.ts";

const APART_MS = TOP_UP_INTERVAL_MIN_S * 1000;
/** The first pause before another gateway may repeat the provider call of a purchase. Longer than one call takes. */
const FIRST_PAUSE_S = 30;
const PAUSE_S_MAX = 1800;
/**
 * Purchases without a result are abandoned after this time. The provider stores an idempotency key for 24 hours; half
 * of that is a safety margin.
 */
const GIVEN_UP_MS = 12 * HOUR_MS;
const AT_ONCE_MAX = 20;

const Id = row({ id: column.uuid });
const Standing = row({
  balance: column.pico,
  spent: column.pico,
  inFlight: z.boolean(),
  customer: z.string().nullable(),
  method: z.string().nullable(),
});
const Asked = row({
  id: column.uuid,
  accountId: column.uuid,
  amount: column.pico,
  customer: z.string(),
  method: z.string(),
  createdAt: column.moment,
});
const Amount = row({ amount: column.pico });

export interface TopUps {
  /** Undefined if automatic top-up was never configured. */
  of(accountId: Uuid): Promise<AutoTopUp | undefined>;
  /** Returns false if top-up should be turned on but no card is saved. */
  set(accountId: Uuid, settings: TopUpSettings): Promise<boolean>;
  /** Starts due purchases, and returns their number. */
  begin(): Promise<number>;
  /** Repeats the provider call for purchases without a response. */
  ask(): Promise<void>;
}

interface TopUpsOptions {
  pool: pg.Pool;
  provider: PaymentProvider;
  notify: Notify;
  clock: Clock;
  newId: NewId;
  log: Log;
}

/** Turns top-ups off and emails the owners, once per failed, refunded or disputed purchase. */
export const createTopUpFailureHandler =
  ({ notify, newId, clock }: Pick<TopUpsOptions, "notify" | "newId" | "clock">): OnTopUpFailed =>
  async (client, accountId, failure) => {
    const { rowCount } = await client.query(
      // Before migration 0039 the column accepts no value for a reversal, so 'declined' is stored.
      `update auto_topup
          set enabled = false, failed_at = $3,
              failure = case when $4 and to_regclass('withheld_share') is null then 'declined' else $2 end
        where account_id = $1 and (enabled or not $4)`,
      [accountId, failure, new Date(clock.now()), failure === "disputed" || failure === "refunded"],
    );
    if (rowCount !== 1) return;
    const { amount } = await queryOne(client, Amount, "select amount from auto_topup where account_id = $1", [
      accountId,
    ]);
    const data = { amount_micro: formatExactMicrodollars(amount), failure };
    // Only the gateway that updated the row sends the email.
    await notify(client, { accountId, kind: "top_up_failed", about: newId(), data });
  };

export function openTopUps(options: TopUpsOptions): TopUps {
  const { pool, provider, clock, newId, log } = options;
  const onFailed = createTopUpFailureHandler(options);

  const begin = (accountId: Uuid): Promise<boolean> =>
    inTransaction(pool, async (client) => {
      const now = new Date(clock.now());
      const set = await queryRow(client, TopUpRow, `${TOP_UP_QUERY} for update`, [accountId]);
      if (set === undefined || !set.enabled) return false;
      if (set.begunAt !== null && now.getTime() - set.begunAt.getTime() < APART_MS) return false;
      // Read in a single statement, and thus from one snapshot: a purchase is either in flight or in the balance.
      const { balance, spent, inFlight, customer, method } = await queryOne(
        client,
        Standing,
        `select l.balance, ${MONTH_SPENT_SQL} as spent,
                exists (select from payment_checkout where account_id = $1 and pack = '${AUTOMATIC_PACK}'
                           and state in ('open', 'pending')) as "inFlight",
                c.provider_customer as customer, c.provider_method as method
           from ledger_account l left join payment_customer c on c.account_id = l.id and c.live = $3
          where l.id = $1`,
        [accountId, startOfMonth(now.getTime()), provider.live],
      );
      const wanted = balance < set.mark && !inFlight && spent + set.amount <= set.monthMax;
      if (!wanted || customer === null || method === null) return false;
      const id = newId();
      await client.query(
        `insert into payment_checkout (id, account_id, pack, amount, live, created_at, changed_at)
         values ($1, $2, '${AUTOMATIC_PACK}', $3, $4, $5, $5)`,
        [id, accountId, set.amount.toString(), provider.live, now],
      );
      await client.query(
        "insert into payment_automatic (checkout_id, provider_customer, provider_method, next_at) values ($1, $2, $3, $4)",
        [id, customer, method, now],
      );
      await client.query("update auto_topup set begun_at = $2 where account_id = $1", [accountId, now]);
      return true;
    });

  /** Claims due purchases by postponing their next attempt, so that no other gateway calls the provider for them. */
  const take = (): Promise<z.infer<typeof Asked>[]> =>
    queryRows(
      pool,
      Asked,
      `update payment_automatic p
          set attempts = p.attempts + 1,
              next_at = $1::timestamptz + make_interval(secs => least($2::float8 * 2 ^ least(p.attempts, 20), $3))
         from (select checkout_id from payment_automatic where next_at <= $1
                order by next_at limit $4 for update skip locked) due, payment_checkout c
        where p.checkout_id = due.checkout_id and c.id = p.checkout_id and c.live = $5
        returning c.id, c.account_id as "accountId", c.amount, p.provider_customer as customer, p.provider_method as method,
                  c.created_at as "createdAt"`,
      [new Date(clock.now()), FIRST_PAUSE_S, PAUSE_S_MAX, AT_ONCE_MAX, provider.live],
    );

  const ask = async ({ id, accountId, amount, customer, method, createdAt }: z.infer<typeof Asked>): Promise<void> => {
    const reference = publicId("pay", id);
    const failed = (failure: TopUpFailure) =>
      ({ kind: "intent", reference, payment: null, seen: "failed", total: null, failure }) as const;
    try {
      const late = clock.now() - createdAt.getTime() > GIVEN_UP_MS;
      const account = publicId("acc", accountId);
      const order = { reference, account, product: "Automatic top-up of credits", price: amount, customer, method };
      const news = late ? failed("unreachable") : await provider.charge(order);
      const { outcome, moves } = await processChargeAnswer({ pool, onFailed }, { ...news, reference });
      log.info(
        { checkout: reference, seen: news.seen, outcome, moves: moves.length },
        "processed the result of an automatic purchase",
      );
    } catch (cause) {
      if (!(cause instanceof ProviderUnavailable)) throw cause;
      const what = { checkout: reference, reason: cause.message, ...cause.details };
      log.warn(what, "payment provider did not respond to an automatic purchase; retrying");
    }
  };

  return {
    of: (accountId) => readTopUp(pool, accountId, clock.now()),
    set: (accountId, settings) => setTopUp(pool, accountId, settings, provider),
    async begin() {
      const due = await queryRows(
        pool,
        Id,
        `select t.account_id as id
           from auto_topup t join ledger_account l on l.id = t.account_id join account a on a.id = t.account_id
          where t.enabled and l.balance < t.mark and a.suspended_at is null
            and (t.begun_at is null or t.begun_at <= $1)`,
        [new Date(clock.now() - APART_MS)],
      );
      let begun = 0;
      for (const { id } of due) if (await begin(id)) begun += 1;
      return begun;
    },
    async ask() {
      const asking = await Promise.allSettled((await take()).map(ask));
      for (const one of asking) if (one.status === "rejected") throw one.reason;
    },
  };
}
