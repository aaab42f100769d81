/** Lists open disputes over purchases. An operator answers them at the payment provider. */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { column, queryRows, row } from "../db/rows.ts";

const Dispute = row({
  /** The provider's ID of the dispute. */
  id: z.string(),
  accountId: column.uuid,
  accountName: z.string(),
  amount: column.pico,
  at: column.moment,
});
type Dispute = z.infer<typeof Dispute> & { accountId: Uuid };

export type FindOpenDisputes = (limit: number) => Promise<Dispute[]>;

export const createOpenDisputesQuery =
  ({ pool }: { pool: pg.Pool }): FindOpenDisputes =>
  (limit) =>
    queryRows(
      pool,
      Dispute,
      `select r.id, a.id as "accountId", a.name as "accountName", r.amount, r.created_at as at
         from payment_reversal r join payment_checkout c on c.provider_payment = r.payment_id join account a on a.id = c.account_id
        where r.kind = 'dispute' and r.status not in ('won', 'lost', 'prevented', 'warning_closed')
        order by r.created_at limit $1`,
      [limit],
    );
