/** An account's notifications: the list, the channels, and the deliveries. */
import { NOTIFICATION_TESTS_PER_HOUR } from "@tollgate/api/api-limits.ts";
import type {
  Delivery,
  Notification,
  NotificationSettings,
  notificationRoutes,
} from "@tollgate/api/console/notifications.ts";
import type { z } from "zod";
import type { AccountServices } from "../../accounts/services.ts";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import {
  BUILDER_NOTIFICATIONS,
  HOST_NOTIFICATIONS,
  NOTIFICATION_CHANNELS,
  NOTIFICATION_KINDS,
  type NotificationChannel,
  type NotificationKind,
} from "../../base/stored-enumerations.ts";
import { HOUR_MS, toUnixSeconds } from "../../base/time.ts";
import { ruleViolation } from "../../faults.ts";
import { listPage, singlePage } from "../../http/lists/list-pages.ts";
import type { Handlers } from "../../http/serve-routes.ts";
import type { ShownDelivery } from "../../notifications/deliveries.ts";
import type { ListedNotification } from "../../notifications/inbox.ts";
import { createLocalizedFormat, type LocalizedFormat } from "../../notifications/localized-format.ts";
import { isNotificationOn, UNCONFIGURED_SETTINGS } from "../../notifications/notification-settings.ts";
import { writeNotificationTexts } from "../../notifications/notification-texts.ts";
import type { NotificationServices } from "../../notifications/services.ts";
import { findUrlMistake } from "../../notifications/webhook-addresses.ts";
import type { SiteServices } from "../services.ts";

const SLACK_SHOWN_CHARS = 8;

type Settings = z.input<typeof NotificationSettings>;

export function notificationHandlers(
  parts: NotificationServices & Pick<AccountServices, "identities"> & Pick<SiteServices, "cursors" | "now" | "newId">,
): Handlers<typeof notificationRoutes> {
  const { identities, sendsMail, loopbackWebhooks, cursors, now, newId } = parts;
  const { settings, inbox, deliveries, tell, soon, isThere } = parts.notifications;

  const shown = async (
    { id, kind }: { id: Uuid; kind: "builder" | "host" },
    secret: string | null,
  ): Promise<Settings> => {
    const found = isThere() ? await settings.of(id) : UNCONFIGURED_SETTINGS;
    const kinds = kind === "builder" ? BUILDER_NOTIFICATIONS : HOST_NOTIFICATIONS;
    return {
      object: "notification_settings",
      kinds: kinds.map((of) => ({
        kind: of,
        channels: Object.fromEntries(
          NOTIFICATION_CHANNELS.map((channel) => [channel, isNotificationOn(found, of, channel)]),
        ) as Record<NotificationChannel, boolean>,
      })),
      can_mail: sendsMail,
      webhook_url: found.webhookUrl,
      slack_url: found.slackUrl && startOf(found.slackUrl),
      webhook_secret: secret,
    };
  };
  const checked = (field: string, url: string | null | undefined): string | null | undefined => {
    const mistake = url == null ? undefined : findUrlMistake(url, { allowLoopback: loopbackWebhooks });
    if (mistake !== undefined) throw ruleViolation(field, mistake);
    return url;
  };

  return {
    getNotificationSettings: ({ account }) => shown(account, null),

    async setNotifications({ account, body }) {
      const { kinds, webhook_url, slack_url } = body();
      const choices = Object.entries(kinds).flatMap(([kind, channels]) =>
        Object.entries(channels ?? {}).flatMap(([channel, on]) =>
          on === undefined ? [] : [{ kind: kind as NotificationKind, channel: channel as NotificationChannel, on }],
        ),
      );
      const change = {
        choices,
        webhookUrl: checked("webhook_url", webhook_url),
        slackUrl: checked("slack_url", slack_url),
      };
      return await shown(account, await settings.change(account.id, change));
    },

    async replaceNotificationSecret({ account, refuse }) {
      const secret = await settings.replaceSecret(account.id);
      if (secret === undefined) throw refuse("not_found");
      return await shown(account, secret);
    },

    async testNotification({ account, body, refuse }) {
      const { channel } = body();
      const found = await settings.of(account.id);
      const hasAddress = { email: sendsMail, webhook: found.webhookUrl !== null, slack: found.slackUrl !== null };
      if (!hasAddress[channel]) throw refuse("not_found");
      const sent = await deliveries.testsSince(account.id, new Date(now() - HOUR_MS));
      if (sent >= NOTIFICATION_TESTS_PER_HOUR) throw refuse("rate_limit_requests");
      await tell({ accountId: account.id, kind: "test", about: newId(), data: {} }, channel);
      soon();
      return { sent: true };
    },

    listDeliveries: async ({ account }) =>
      singlePage(isThere() ? (await deliveries.log(account.id)).map(deliveryObject) : []),

    async listNotifications({ who, account, query }) {
      if (!isThere()) return { ...singlePage([]), unread: 0 };
      const reader = { accountId: account.id, identityId: who.identityId };
      const style = createLocalizedFormat(await identities.preferences.of(who.identityId));
      const [list, unread] = await Promise.all([
        listPage({
          cursors,
          list: `notifications ${account.id}`,
          query,
          read: (before, limit) => inbox.list(reader, { before: before as Uuid | undefined, limit }),
          position: ({ id }) => id,
          show: (one) => notificationObject(one, account, style),
        }),
        inbox.unread(reader),
      ]);
      return { ...list, unread };
    },

    async readNotifications({ who, account, body }) {
      const { ids } = body();
      const reader = { accountId: account.id, identityId: who.identityId };
      await inbox.read(
        reader,
        ids?.flatMap((id) => parseId("ntf", id) ?? []),
      );
      return { unread: await inbox.unread(reader) };
    },
  };
}

function notificationObject(
  { id, fact, createdAt, isRead }: ListedNotification,
  account: { id: Uuid; name: string },
  style: LocalizedFormat,
): z.input<typeof Notification> {
  const { title, text, page: about } = writeNotificationTexts(fact, account, style);
  return {
    object: "notification",
    id: publicId("ntf", id),
    kind: fact.kind as NotificationKind,
    title,
    text,
    page: about,
    read: isRead,
    created_at: toUnixSeconds(createdAt),
  };
}

function deliveryObject(delivery: ShownDelivery): z.input<typeof Delivery> {
  const { id, notificationId, kind, channel, email, state, attempts, nextAt, createdAt, endedAt } = delivery;
  return {
    object: "delivery",
    id: publicId("dlv", id),
    notification_id: publicId("ntf", notificationId),
    kind: NOTIFICATION_KINDS.find((known) => known === kind) ?? null,
    channel,
    to: email,
    state,
    tries: attempts,
    answer_status: delivery.answerStatus,
    problem: delivery.problem,
    next_try_at: nextAt && toUnixSeconds(nextAt),
    created_at: toUnixSeconds(createdAt),
    ended_at: endedAt && toUnixSeconds(endedAt),
  };
}

/** Hides the end of a webhook URL, because anyone who has the whole URL can post to the channel. */
function startOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname.slice(0, SLACK_SHOWN_CHARS)}…`;
}
