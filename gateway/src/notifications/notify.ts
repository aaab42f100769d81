/**
 * Records an event with one delivery per configured destination, in the caller's transaction. The event's key makes it
 * unique.
 */
import type pg from "pg";
import { z } from "zod";
import type { Clock } from "../base/clock.ts";
import type { NewId, Uuid } from "../base/ids.ts";
import type { DeliveryChannel } from "../base/stored-enumerations.ts";
import { column, queryOne, queryRow, row } from "../db/rows.ts";
import { DEFAULT_FORMAT } from "./localized-format.ts";
import { type NotificationContent, writeNotificationEmail } from "./notification-texts.ts";

/** The number of the migration that creates the tables. */
export const NOTIFICATIONS_MIGRATION = 48;

const Id = row({ id: column.uuid });
const There = row({ isThere: z.boolean() });
const Named = row({ name: z.string() });

export type NotificationEvent = NotificationContent & {
  accountId: Uuid;
  /** Identifies the event among those of its kind and account. */
  about: string;
};

/** Records the event. Returns false if its notification already exists. */
export type Notify = (
  client: pg.Pool | pg.PoolClient,
  event: NotificationEvent,
  only?: DeliveryChannel,
) => Promise<boolean>;

interface NotifyOptions {
  newId: NewId;
  clock: Clock;
  /** The URL at which browsers reach the gateway, for links. */
  origin: string;
}

export function openNotifier({ newId, clock, origin }: NotifyOptions): Notify {
  let isThere = false;
  return async (client, event, only) => {
    const { accountId, about, kind, data } = event;
    const now = new Date(clock.now());
    if (!isThere) {
      const text = `select to_regclass('notification') is not null as "isThere"`;
      ({ isThere } = await queryOne(client, There, text));
    }
    if (!isThere) {
      await writeEmails(client, event, { now, origin });
      return true;
    }
    const told = await queryRow(
      client,
      Id,
      `with muted as (select muted from notification_settings where account_id = $2),
            event as (
              insert into notification (id, account_id, kind, about, data, listed, created_at)
              select $1, $2, $3, $4, $5, $7::text is null and not coalesce($3 || ':console' = any (muted), false), $6::timestamptz
                from (select 1) one left join muted on true
              on conflict (account_id, kind, about) do nothing returning id),
            places as (
              select 'email' as channel, identity_id from account_owner where account_id = $2
              union all select 'webhook', null from notification_settings where account_id = $2 and webhook_url is not null
              union all select 'slack', null from notification_settings where account_id = $2 and slack_url is not null),
            sent as (
              insert into notification_delivery (notification_id, account_id, channel, identity_id, next_at, created_at)
              select e.id, $2, p.channel, p.identity_id, $6, $6
                from event e cross join places p left join muted on true
               where case when $7::text is null then not coalesce($3 || ':' || p.channel = any (muted), false)
                          else p.channel = $7 end)
       select id from event`,
      [newId(), accountId, kind, about, data, now, only ?? null],
    );
    return told !== undefined;
  };
}

/** For databases before migration 0048: stores an email to each owner, which the migration turns into a delivery. */
async function writeEmails(
  client: pg.Pool | pg.PoolClient,
  { accountId, ...fact }: NotificationEvent,
  { now, origin }: { now: Date; origin: string },
): Promise<void> {
  const { name } = await queryOne(client, Named, "select name from account where id = $1", [accountId]);
  const { subject, text } = writeNotificationEmail(fact, { id: accountId, name }, origin, DEFAULT_FORMAT);
  await client.query(
    `insert into letter (id, identity_id, subject, text, next_at, created_at)
     select gen_random_uuid(), identity_id, $2, $3, $4, $4 from account_owner where account_id = $1`,
    [accountId, subject, text, now],
  );
}
