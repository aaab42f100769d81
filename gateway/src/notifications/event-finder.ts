/**
 * Finds new events in rows that other parts have committed: a quarantine, a paid batch, a refused request, an expiring
 * key. No event is lost if a gateway dies, and the other parts do not depend on notifications.
 */
import type pg from "pg";
import { z } from "zod";
import type { Clock } from "../base/clock.ts";
import { publicId } from "../base/ids.ts";
import { formatExactMicrodollars } from "../base/money.ts";
import { DAY_MS, toUnixSeconds } from "../base/time.ts";
import { column, queryRows, row } from "../db/rows.ts";
import { NOTIFICATIONS_MIGRATION, type NotificationEvent, type Notify } from "./notify.ts";

/** How far back events are searched: longer than all gateways are ever stopped. Older events cause no notification. */
const LOOK_BACK_MS = 3 * DAY_MS;
const FOUND_MAX = 200;
/** How many days ahead a key's expiry is announced, but not before the last quarter of its life. */
const ENDS_WITHIN_DAYS = 7;

const Budget = row({
  accountId: column.uuid,
  keyId: column.uuid,
  keyName: z.string(),
  period: z.enum(["day", "month"]),
  date: z.string(),
  budget: column.pico,
});
const Payout = row({ accountId: column.uuid, id: column.uuid, batchId: column.uuid, amount: column.pico });
const Quarantine = row({
  accountId: column.uuid,
  id: column.uuid,
  nodeId: column.uuid,
  nodeName: z.string(),
  reason: z.string(),
});
const Ending = row({ accountId: column.uuid, id: column.uuid, name: z.string(), expiresAt: column.moment });

/** The start of the search: `$1`, but not before the migration that introduced notifications. */
const SINCE = `greatest($1::timestamptz, (select applied_at from migration where version = ${NOTIFICATIONS_MIGRATION}))`;
const untold = (kind: string, account: string, about: string): string =>
  `not exists (select from notification told where told.account_id = ${account} and told.kind = '${kind}' and told.about = ${about})`;
/** The day or month of the refusal. Together with the key it identifies the exhausted budget. */
const BUDGET_DATE = `to_char(u.hour at time zone 'UTC', case u.reason when 'budget_day' then 'YYYY-MM-DD' else 'YYYY-MM' end)`;

export interface EventFinder {
  /** Creates notifications for new events, and returns their number. */
  find(): Promise<number>;
}

interface EventsOptions {
  pool: pg.Pool;
  clock: Clock;
  notify: Notify;
}

export function openEventFinder({ pool, clock, notify }: EventsOptions): EventFinder {
  const budgets = async (since: Date): Promise<NotificationEvent[]> => {
    const rows = await queryRows(
      pool,
      Budget,
      `select u.account_id as "accountId", u.key_id as "keyId", k.name as "keyName", substr(u.reason, 8) as period,
              ${BUDGET_DATE} as date, case u.reason when 'budget_day' then k.budget_day_pico else k.budget_month_pico end as budget
         from unfunded_hour u join api_key k on k.id = u.key_id
        where u.reason in ('budget_day', 'budget_month') and u.hour > ${SINCE} - interval '1 hour'
          and case u.reason when 'budget_day' then k.budget_day_pico else k.budget_month_pico end is not null
          and ${untold("budget_reached", "u.account_id", `u.key_id || ' ' || ${BUDGET_DATE}`)}
        group by 1, 2, 3, 4, 5, 6 limit ${FOUND_MAX}`,
      [since],
    );
    return rows.map(({ accountId, keyId, keyName, period, date, budget }) => ({
      accountId,
      kind: "budget_reached",
      about: `${keyId} ${date}`,
      data: {
        key_id: publicId("key", keyId),
        key_name: keyName,
        period,
        date,
        budget_micro: formatExactMicrodollars(budget),
      },
    }));
  };
  const payouts = async (since: Date): Promise<NotificationEvent[]> => {
    const rows = await queryRows(
      pool,
      Payout,
      `select p.account_id as "accountId", p.id, b.id as "batchId", p.amount
         from payout_batch b join payout p on p.batch_id = b.id
        where b.paid_at > ${SINCE} and p.amount > 0 and ${untold("payout_sent", "p.account_id", "p.id::text")}
        limit ${FOUND_MAX}`,
      [since],
    );
    return rows.map(({ accountId, id, batchId, amount }) => ({
      accountId,
      kind: "payout_sent",
      about: id,
      data: { payout_id: publicId("pay", batchId), amount_micro: formatExactMicrodollars(amount) },
    }));
  };
  const quarantines = async (since: Date): Promise<NotificationEvent[]> => {
    const rows = await queryRows(
      pool,
      Quarantine,
      `select n.account_id as "accountId", q.id, n.id as "nodeId", n.name as "nodeName", q.reason
         from node_quarantine q join node n on n.id = q.node_id
        where q.at > ${SINCE} and ${untold("node_quarantined", "n.account_id", "q.id::text")}
        limit ${FOUND_MAX}`,
      [since],
    );
    return rows.map(({ accountId, id, nodeId, nodeName, reason }) => ({
      accountId,
      kind: "node_quarantined",
      about: id,
      data: { node_id: publicId("node", nodeId), node_name: nodeName, reason },
    }));
  };
  const endings = async (now: Date): Promise<NotificationEvent[]> => {
    const rows = await queryRows(
      pool,
      Ending,
      `select k.account_id as "accountId", k.id, k.name, k.expires_at as "expiresAt"
         from api_key k
        where k.expires_at > $1 and k.expires_at <= $1::timestamptz + interval '${ENDS_WITHIN_DAYS} days'
          and k.revoked_at is null and k.session_id is null
          and k.expires_at - $1::timestamptz <= (k.expires_at - k.created_at) / 4
          and ${untold("key_expiring", "k.account_id", "k.id || ' ' || floor(extract(epoch from k.expires_at))")}
        limit ${FOUND_MAX}`,
      [now],
    );
    return rows.map(({ accountId, id, name, expiresAt }) => ({
      accountId,
      kind: "key_expiring",
      about: `${id} ${toUnixSeconds(expiresAt)}`,
      data: { key_id: publicId("key", id), key_name: name, expires_at: toUnixSeconds(expiresAt) },
    }));
  };
  return {
    async find() {
      const now = clock.now();
      const since = new Date(now - LOOK_BACK_MS);
      const found = [
        ...(await budgets(since)),
        ...(await payouts(since)),
        ...(await quarantines(since)),
        ...(await endings(new Date(now))),
      ];
      let told = 0;
      for (const event of found) if (await notify(pool, event)) told += 1;
      return told;
    },
  };
}
