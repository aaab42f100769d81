/** An account's notification settings and webhook addresses. */
import type pg from "pg";
import { z } from "zod";
import { makeBase62, type Uuid } from "../base/ids.ts";
import type { Random } from "../base/random.ts";
import type { NotificationChannel, NotificationKind } from "../base/stored-enumerations.ts";
import { inTransaction } from "../db/pool.ts";
import { column, queryOne, queryRow, row } from "../db/rows.ts";

const SECRET_CHARS = 43;

const Settings = row({
  muted: z.array(z.string()),
  webhookUrl: z.string().nullable(),
  webhookSecret: z.string().nullable(),
  slackUrl: z.string().nullable(),
});
type Settings = z.infer<typeof Settings>;
const AccountId = row({ id: column.uuid });

/** The settings of an account that has configured nothing, also used while the database lacks the tables. */
export const UNCONFIGURED_SETTINGS: Settings = { muted: [], webhookUrl: null, webhookSecret: null, slackUrl: null };

type Choice = { kind: NotificationKind; channel: NotificationChannel; on: boolean };

interface SettingsChange {
  choices: Choice[];
  /** Null removes the URL; undefined leaves it unchanged. */
  webhookUrl?: string | null | undefined;
  slackUrl?: string | null | undefined;
}

export interface NotificationSettings {
  of(accountId: Uuid): Promise<Settings>;
  /**
   * Changes the settings. Returns the webhook's secret if the change created one, which is the only time it is shown.
   */
  change(accountId: Uuid, change: SettingsChange): Promise<string | null>;
  /** Creates a new secret, used from the next delivery on. Returns undefined without a webhook. */
  replaceSecret(accountId: Uuid): Promise<string | undefined>;
}

export const isNotificationOn = (
  { muted }: Pick<Settings, "muted">,
  kind: NotificationKind,
  channel: NotificationChannel,
) => !muted.includes(nameOf(kind, channel));

const nameOf = (kind: NotificationKind, channel: NotificationChannel): string => `${kind}:${channel}`;

export function openNotificationSettings({ pool, random }: { pool: pg.Pool; random: Random }): NotificationSettings {
  const newSecret = (): string => `whsec_${makeBase62(random, SECRET_CHARS)}`;
  return {
    of: async (accountId) =>
      (await queryRow(
        pool,
        Settings,
        `select muted, webhook_url as "webhookUrl", webhook_secret as "webhookSecret", slack_url as "slackUrl"
           from notification_settings where account_id = $1`,
        [accountId],
      )) ?? UNCONFIGURED_SETTINGS,

    change: (accountId, { choices, webhookUrl, slackUrl }) =>
      inTransaction(pool, async (client) => {
        await client.query("insert into notification_settings (account_id) values ($1) on conflict do nothing", [
          accountId,
        ]);
        const before = await queryOne(
          client,
          Settings,
          `select muted, webhook_url as "webhookUrl", webhook_secret as "webhookSecret", slack_url as "slackUrl"
             from notification_settings where account_id = $1 for update`,
          [accountId],
        );
        const muted = new Set(before.muted);
        for (const { kind, channel, on } of choices) muted[on ? "delete" : "add"](nameOf(kind, channel));
        const url = webhookUrl === undefined ? before.webhookUrl : webhookUrl;
        const secret = url === null ? null : (before.webhookSecret ?? newSecret());
        await client.query(
          `update notification_settings set muted = $2, webhook_url = $3, webhook_secret = $4, slack_url = $5
            where account_id = $1`,
          [accountId, [...muted].sort(), url, secret, slackUrl === undefined ? before.slackUrl : slackUrl],
        );
        return secret === before.webhookSecret ? null : secret;
      }),

    async replaceSecret(accountId) {
      const secret = newSecret();
      const replaced = await queryRow(
        pool,
        AccountId,
        `update notification_settings set webhook_secret = $2 where account_id = $1 and webhook_url is not null
         returning account_id as id`,
        [accountId, secret],
      );
      return replaced && secret;
    },
  };
}
