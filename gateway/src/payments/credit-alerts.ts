/**
 * The low-credit alert: owners get one email each time the balance falls below the threshold. A job finds these
 * accounts, so requests do not wait. One row update claims the alert, so only one of several gateways sends it. A
 * transfer that raises the balance resets the alert (`ledger_transfer`).
 */
import type pg from "pg";
import { z } from "zod";
import type { NewId, Uuid } from "../base/ids.ts";
import { formatExactMicrodollars, type Pico } from "../base/money.ts";
import { inTransaction } from "../db/pool.ts";
import { column, queryRow, queryRows, row } from "../db/rows.ts";
import type { Notify } from "../notifications/notify.ts";

const LOOKED_AT_MAX = 500;

const CreditAlert = row({ mark: column.pico, fallen: z.boolean() });
type CreditAlert = z.infer<typeof CreditAlert>;

const Low = row({
  id: column.uuid,
  mark: column.pico,
  balance: column.pico,
  rises: z.int(),
});

export interface CreditAlerts {
  of(accountId: Uuid): Promise<CreditAlert | undefined>;
  /** Sets the threshold; null removes it. A threshold above the current balance applies to the next fall. */
  set(accountId: Uuid, mark: Pico | null): Promise<void>;
  /** Sends due alerts, and returns their number. */
  look(): Promise<number>;
}

export const readCreditAlert = (pool: pg.Pool, accountId: Uuid): Promise<CreditAlert | undefined> =>
  queryRow(pool, CreditAlert, "select mark, fallen from credit_alert where account_id = $1", [accountId]);

export async function setCreditAlert(pool: pg.Pool, accountId: Uuid, mark: Pico | null): Promise<void> {
  if (mark === null) {
    await pool.query("delete from credit_alert where account_id = $1", [accountId]);
    return;
  }
  await pool.query(
    `insert into credit_alert (account_id, mark, fallen)
     select id, $2::bigint, balance < $2::bigint from ledger_account where id = $1
     on conflict (account_id) do update
       set mark = excluded.mark, fallen = excluded.fallen, rises = credit_alert.rises + 1
     where credit_alert.mark <> excluded.mark`,
    [accountId, mark.toString()],
  );
}

export function openCreditAlerts({
  pool,
  notify,
  newId,
}: {
  pool: pg.Pool;
  notify: Notify;
  newId: NewId;
}): CreditAlerts {
  /**
   * Claims and sends the alert. Returns false if another gateway claimed it first, or if the balance rose meanwhile.
   */
  const tell = ({ id, mark, balance, rises }: z.infer<typeof Low>): Promise<boolean> =>
    inTransaction(pool, async (client) => {
      const { rowCount } = await client.query(
        "update credit_alert set fallen = true where account_id = $1 and not fallen and mark = $2 and rises = $3",
        [id, mark.toString(), rises],
      );
      if (rowCount !== 1) return false;
      return await notify(client, {
        accountId: id,
        kind: "low_credit",
        // Any unique value will do, because the update above lets only one gateway notify.
        about: newId(),
        data: { balance_micro: formatExactMicrodollars(balance), threshold_micro: formatExactMicrodollars(mark) },
      });
    });
  return {
    of: (accountId) => readCreditAlert(pool, accountId),
    set: (accountId, mark) => setCreditAlert(pool, accountId, mark),
    async look() {
      const low = await queryRows(
        pool,
        Low,
        `select c.account_id as id, c.mark, l.balance, c.rises
           from credit_alert c join ledger_account l on l.id = c.account_id
          where not c.fallen and l.balance < c.mark limit $1`,
        [LOOKED_AT_MAX],
      );
      let told = 0;
      for (const one of low) if (await tell(one)) told += 1;
      return told;
    },
  };
}
