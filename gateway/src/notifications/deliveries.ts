/**
 * The outbox: delivery rows written in the same transaction as their events. A gateway claims a row by postponing its
 * next attempt. If the gateway dies, another one claims the row. After a crash between sending and recording, a
 * delivery is repeated with the same ID.
 */
import type pg from "pg";
import { z } from "zod";
import { PREFERENCE_COLUMNS } from "../accounts/preferences.ts";
import type { Clock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import { DELIVERY_CHANNELS, DELIVERY_STATES, type DeliveryChannel } from "../base/stored-enumerations.ts";
import { DAY_MS } from "../base/time.ts";
import { column, queryRows, row } from "../db/rows.ts";
import type { StoredNotificationContent } from "./notification-texts.ts";

/** After this time, another gateway may claim a delivery. Longer than one attempt takes. */
const TAKEN_S = 120;
const AT_ONCE_MAX = 20;
/** The limit of concurrent deliveries per account, so that one slow address does not delay other accounts. */
const AT_ONCE_PER_ACCOUNT_MAX = 4;
const SHOWN_MAX = 50;
const KEPT_MS = 90 * DAY_MS;
const EMAIL_KEPT_MS = 3 * DAY_MS;

const Id = row({ id: column.uuid });
const TakenRow = row({
  id: column.uuid,
  notificationId: column.uuid,
  accountId: column.uuid,
  accountName: z.string(),
  kind: z.string(),
  data: column.json,
  channel: z.enum(DELIVERY_CHANNELS),
  attempts: column.count,
  createdAt: column.moment,
  happenedAt: column.moment,
  email: z.string().nullable(),
  locale: z.string().nullable(),
  timeZone: z.string().nullable(),
  webhookUrl: z.string().nullable(),
  webhookSecret: z.string().nullable(),
  slackUrl: z.string().nullable(),
});
export type ClaimedDelivery = Omit<z.infer<typeof TakenRow>, "kind" | "data"> & { fact: StoredNotificationContent };

const Shown = row({
  id: column.uuid,
  notificationId: column.uuid,
  kind: z.string(),
  channel: z.enum(DELIVERY_CHANNELS),
  email: z.string().nullable(),
  state: z.enum(DELIVERY_STATES),
  attempts: column.count,
  nextAt: column.moment.nullable(),
  answerStatus: column.count.nullable(),
  problem: z.string().nullable(),
  createdAt: column.moment,
  endedAt: column.moment.nullable(),
});
export type ShownDelivery = z.infer<typeof Shown>;

/** The result of an attempt. */
export interface AttemptOutcome {
  state: "delivered" | "failed" | "pending";
  nextAt: Date | null;
  answerStatus: number | null;
  problem: string | null;
}

export interface Deliveries {
  /** Claims due deliveries of these channels. */
  take(channels: readonly DeliveryChannel[]): Promise<ClaimedDelivery[]>;
  tried(taken: Pick<ClaimedDelivery, "id" | "attempts">, how: AttemptOutcome): Promise<void>;
  /** The account's latest deliveries, newest first. */
  log(accountId: Uuid): Promise<ShownDelivery[]>;
  /** The number of test deliveries that the account has requested since a given time. */
  testsSince(accountId: Uuid, since: Date): Promise<number>;
  /** Abandons emails that no gateway can send, and deletes notifications with their deliveries after 90 days. */
  prune(): Promise<void>;
}

export function openDeliveries({ pool, clock }: { pool: pg.Pool; clock: Clock }): Deliveries {
  const now = (): Date => new Date(clock.now());
  return {
    async take(channels) {
      const taken = await queryRows(
        pool,
        Id,
        `update notification_delivery d
            set attempts = d.attempts + 1, next_at = $1::timestamptz + make_interval(secs => ${TAKEN_S})
           from (select x.id
                   from (select distinct account_id from notification_delivery
                          where state = 'pending' and next_at <= $1 and channel = any ($2)) a
                  cross join lateral (
                    select id from notification_delivery
                     where account_id = a.account_id and state = 'pending' and next_at <= $1 and channel = any ($2)
                     order by next_at limit ${AT_ONCE_PER_ACCOUNT_MAX} for update skip locked) x
                  limit ${AT_ONCE_MAX}) due
          where d.id = due.id
          returning d.id`,
        [now(), channels],
      );
      if (taken.length === 0) return [];
      const rows = await queryRows(
        pool,
        TakenRow,
        `select d.id, d.notification_id as "notificationId", d.account_id as "accountId", a.name as "accountName", n.kind, n.data,
                d.channel, d.attempts, d.created_at as "createdAt", n.created_at as "happenedAt", i.email, ${PREFERENCE_COLUMNS},
                s.webhook_url as "webhookUrl", s.webhook_secret as "webhookSecret", s.slack_url as "slackUrl"
           from notification_delivery d join notification n on n.id = d.notification_id join account a on a.id = d.account_id
           left join identity i on i.id = d.identity_id left join notification_settings s on s.account_id = d.account_id
          where d.id = any ($1)`,
        [taken.map(({ id }) => id)],
      );
      return rows.map(({ kind, data, ...rest }) => ({ ...rest, fact: { kind, data } as StoredNotificationContent }));
    },
    async tried({ id, attempts }, { state, nextAt, answerStatus, problem }) {
      // Has no effect if another gateway has claimed the delivery meanwhile.
      await pool.query(
        `update notification_delivery
            set state = $3, next_at = $4, answer_status = $5, problem = $6, ended_at = case when $3 = 'pending' then null else $7::timestamptz end
          where id = $1 and attempts = $2 and state = 'pending'`,
        [id, attempts, state, nextAt, answerStatus, problem, now()],
      );
    },
    log: (accountId) =>
      queryRows(
        pool,
        Shown,
        `select d.id, d.notification_id as "notificationId", n.kind, d.channel, i.email, d.state, d.attempts, d.next_at as "nextAt",
                d.answer_status as "answerStatus", d.problem, d.created_at as "createdAt", d.ended_at as "endedAt"
           from notification_delivery d join notification n on n.id = d.notification_id left join identity i on i.id = d.identity_id
          where d.account_id = $1 order by d.created_at desc, d.id limit ${SHOWN_MAX}`,
        [accountId],
      ),
    async testsSince(accountId, since) {
      const text = `select id from notification where account_id = $1 and kind = 'test' and created_at > $2`;
      return (await queryRows(pool, Id, text, [accountId, since])).length;
    },
    async prune() {
      await pool.query(
        `update notification_delivery set state = 'failed', next_at = null, ended_at = $1, problem = 'this platform sends no email'
          where state = 'pending' and channel = 'email' and attempts = 0 and created_at < $2`,
        [now(), new Date(clock.now() - EMAIL_KEPT_MS)],
      );
      await pool.query("delete from notification where created_at < $1", [new Date(clock.now() - KEPT_MS)]);
    },
  };
}
