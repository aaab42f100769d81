/** The console's list of notifications, with a read mark per person. */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { column, queryOne, queryRows, row } from "../db/rows.ts";
import type { StoredNotificationContent } from "./notification-texts.ts";

/** The highest displayed count of unread notifications. */
const UNREAD_MAX = 100;

const Listed = row({
  id: column.uuid,
  kind: z.string(),
  data: column.json,
  createdAt: column.moment,
  isRead: z.boolean(),
});
const Unread = row({ unread: column.count });

export interface ListedNotification {
  id: Uuid;
  fact: StoredNotificationContent;
  createdAt: Date;
  isRead: boolean;
}

interface Reader {
  accountId: Uuid;
  identityId: Uuid;
}

export interface Inbox {
  /** Lists notifications, newest first. */
  list(reader: Reader, page: { before?: Uuid | undefined; limit: number }): Promise<ListedNotification[]>;
  /** The number of unread notifications, up to 100. */
  unread(reader: Reader): Promise<number>;
  /** Marks these notifications as read, or all if undefined. */
  read(reader: Reader, ids: Uuid[] | undefined): Promise<void>;
}

export function openInbox({ pool }: { pool: pg.Pool }): Inbox {
  const isRead = "exists (select from notification_read r where r.notification_id = n.id and r.identity_id = $2)";
  return {
    async list({ accountId, identityId }, { before, limit }) {
      const rows = await queryRows(
        pool,
        Listed,
        `select n.id, n.kind, n.data, n.created_at as "createdAt", ${isRead} as "isRead"
           from notification n
          where n.account_id = $1 and n.listed and ($3::uuid is null or n.id < $3) order by n.id desc limit $4`,
        [accountId, identityId, before ?? null, limit],
      );
      return rows.map(({ kind, data, ...rest }) => ({ ...rest, fact: { kind, data } as StoredNotificationContent }));
    },
    async unread({ accountId, identityId }) {
      const text = `select count(*)::int as unread from (
          select from notification n where n.account_id = $1 and n.listed and not ${isRead} limit ${UNREAD_MAX}) one`;
      return (await queryOne(pool, Unread, text, [accountId, identityId])).unread;
    },
    async read({ accountId, identityId }, ids) {
      await pool.query(
        `insert into notification_read (notification_id, identity_id)
         select n.id, $2 from notification n
          where n.account_id = $1 and n.listed and ($3::uuid[] is null or n.id = any ($3)) and not ${isRead}
         on conflict do nothing`,
        [accountId, identityId, ids ?? null],
      );
    },
  };
}
