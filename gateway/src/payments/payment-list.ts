/** An account's payments, newest first: purchases, automatic top-ups, refunds and disputes. */
import { PAYMENT_KINDS, PAYMENT_STATES } from "@tollgate/api/enumerations.ts";
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { column, queryRow, queryRows, row } from "../db/rows.ts";
import { AUTOMATIC_PACK } from "./credit-packs.ts";

const Payment = row({
  /** The payment's cursor (position) in the list. */
  place: z.string(),
  kind: z.enum(PAYMENT_KINDS),
  state: z.enum(PAYMENT_STATES),
  amount: column.pico,
  /** The ID of the purchase, or of the purchase that was refunded or disputed. */
  purchaseId: column.uuid,
  /** The provider's ID of the refund or dispute; null for a purchase. */
  providerId: z.string().nullable(),
  pack: z.string(),
  at: column.moment,
});
export type Payment = z.infer<typeof Payment>;

const Paid = row({ session: z.string().nullable(), payment: z.string().nullable() });
type Paid = z.infer<typeof Paid>;

/** The cursor consists of the time in microseconds and the ID, so that simultaneous payments have a fixed order. */
const PLACE = "lpad((extract(epoch from at) * 1000000)::bigint::text, 18, '0') || ' ' || id";

export function listPayments(
  pool: pg.Pool,
  accountId: Uuid,
  { before, limit }: { before: string | undefined; limit: number },
): Promise<Payment[]> {
  return queryRows(
    pool,
    Payment,
    `select ${PLACE} as place, kind, state, amount, purchase as "purchaseId", provider as "providerId", pack, at
       from (select c.id::text, case when pack = '${AUTOMATIC_PACK}' then 'automatic' else 'purchase' end as kind, c.state,
                    c.amount, c.id as purchase, null as provider, pack, c.created_at as at
               from payment_checkout c
              -- Pages that nobody paid on are no payments.
              where c.account_id = $1 and (pack = '${AUTOMATIC_PACK}' or c.state not in ('open', 'expired'))
             union all
             select r.id, r.kind,
                    case when r.status in ('pending', 'requires_action') then 'pending'
                         when r.status = 'succeeded' then 'paid'
                         when r.status in ('failed', 'canceled') then 'failed'
                         when r.status in ('won', 'prevented', 'warning_closed') then 'won'
                         when r.status = 'lost' then 'lost'
                         else 'open' end,
                    r.amount, c.id, r.id, pack, r.created_at
               from payment_checkout c join payment_reversal r on r.payment_id = c.provider_payment
              where c.account_id = $1) all_of_them
      where $2::text is null or ${PLACE} collate "C" < $2
      order by ${PLACE} collate "C" desc limit $3`,
    [accountId, before ?? null, limit],
  );
}

/** Finds an account's purchase with the ID that the provider needs to find its receipt. */
export const findPaidPurchase = (pool: pg.Pool, accountId: Uuid, id: Uuid): Promise<Paid | undefined> =>
  queryRow(
    pool,
    Paid,
    `select provider_session as session, case when state = 'paid' then provider_payment end as payment
       from payment_checkout where id = $1 and account_id = $2`,
    [id, accountId],
  );
