/** Formats webhooks' bodies and computes their signature. Pure. */
import { createHmac } from "node:crypto";
import { publicId, type Uuid } from "../base/ids.ts";
import { DEFAULT_FORMAT } from "./localized-format.ts";
import { makeConsoleLink, type StoredNotificationContent, writeNotificationTexts } from "./notification-texts.ts";

export const SIGNATURE_HEADER = "tollgate-signature";

interface NotificationParts {
  id: Uuid;
  fact: StoredNotificationContent;
  account: { id: Uuid; name: string };
  createdAt: Date;
  /** The URL at which browsers reach the gateway, for links. */
  origin: string;
}

export function makeWebhookBody({ id, fact, account, createdAt, origin }: NotificationParts): string {
  const words = writeNotificationTexts(fact, account, DEFAULT_FORMAT);
  return JSON.stringify({
    id: publicId("ntf", id),
    object: "notification",
    kind: fact.kind,
    account_id: publicId("acc", account.id),
    created_at: Math.floor(createdAt.getTime() / 1000),
    title: words.title,
    text: words.text,
    url: makeConsoleLink(words, origin),
    data: fact.data,
  });
}

/** Signs as Stripe does: the time, and an HMAC-SHA256 over time, dot and body. */
export function signWebhookBody(
  body: string,
  { secret, unixSeconds }: { secret: string; unixSeconds: number },
): string {
  const mac = createHmac("sha256", secret).update(`${unixSeconds}.${body}`).digest("hex");
  return `t=${unixSeconds},v1=${mac}`;
}

/** The body for Slack's incoming webhooks, which Mattermost and others accept too. */
export function makeSlackBody({ fact, account, origin }: NotificationParts): string {
  const words = writeNotificationTexts(fact, account, DEFAULT_FORMAT);
  return JSON.stringify({
    text: `*${escaped(words.title)}*\n${escaped(words.text)}\n<${makeConsoleLink(words, origin)}|Open the console>`,
  });
}

/** Escapes the only three characters that need it: https://docs.slack.dev/messaging/formatting-message-text */
const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
