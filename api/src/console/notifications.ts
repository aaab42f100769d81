/** An account's notifications: the list, the channels for each kind of notification, and the deliveries. */
import { z } from "zod";
import { NOTIFICATION_TESTS_PER_HOUR } from "../api-limits.ts";
import { Count, Id, IdField, makeListSchema, makeSampleId, SAMPLE_TIME, sampleList, Time } from "../common-schemas.ts";
import {
  BUILDER_NOTIFICATIONS,
  DELIVERY_CHANNELS,
  DELIVERY_STATES,
  HOST_NOTIFICATIONS,
  type NOTIFICATION_CHANNELS,
  NOTIFICATION_KINDS,
} from "../enumerations.ts";
import { refusal, refusalsOfCodes } from "../faults.ts";
import { PageQuery } from "../list-query-fields.ts";
import { declareRoutes } from "../route-declaration.ts";

const KINDS = [...BUILDER_NOTIFICATIONS, ...HOST_NOTIFICATIONS] as const;
const URL_CHARS_MAX = 2000;

const Choice = z.boolean("must be true or false").optional();
const Choices = z.object(
  { console: Choice, email: Choice, webhook: Choice, slack: Choice } satisfies Record<
    (typeof NOTIFICATION_CHANNELS)[number],
    unknown
  >,
  "must be an object",
);
const Address = z
  .string("must be a URL or null")
  .trim()
  .min(1, "must be a URL or null")
  .max(URL_CHARS_MAX, `must have at most ${URL_CHARS_MAX} characters`)
  .nullable()
  .optional();

const SettingsFields = z.object({
  kinds: z
    .partialRecord(z.enum(KINDS), Choices, `must be an object with only the fields ${KINDS.join(", ")}`)
    .default({}),
  webhook_url: Address,
  slack_url: Address,
});
const TestFields = z.object({
  channel: z.enum(
    DELIVERY_CHANNELS,
    `must be ${DELIVERY_CHANNELS.slice(0, -1).join(", ")} or ${DELIVERY_CHANNELS.at(-1)}`,
  ),
});
const READ_MAX = 100;
const ReadFields = z.object({
  ids: z
    .array(IdField("ntf", "must be IDs of notifications (ntf_…)"), "must be a list of IDs of notifications")
    .max(READ_MAX, `must contain at most ${READ_MAX} notification IDs`)
    .optional(),
});

const WORDS_OF_KINDS =
  "`low_credit`: the balance dropped below the alert threshold. `budget_reached`: a key's daily or monthly budget refused a request, told once per key and day or month. `top_up_failed`: automatic top-up turned itself off. `key_expiring`: an API key expires within 7 days. `node_quarantined`: a node gets no more requests. `payout_sent`: a payout was sent. `test`: sent by the test button.";
const Kind = z.enum(NOTIFICATION_KINDS).describe(WORDS_OF_KINDS);

const Channels = z.strictObject({ console: z.boolean(), email: z.boolean(), webhook: z.boolean(), slack: z.boolean() });

export const NotificationSettings = z.strictObject({
  object: z.literal("notification_settings"),
  kinds: z
    .array(z.strictObject({ kind: Kind, channels: Channels }))
    .describe("The kinds that the account can have, each with the channels that it is sent to."),
  can_mail: z.boolean().describe("Whether this deployment can send email. Owners get the emails."),
  webhook_url: z.string().nullable().describe("Where signed webhooks are sent; null: nowhere."),
  slack_url: z
    .string()
    .nullable()
    .describe("The start of the Slack-compatible address, which is a secret of its own; null: none is set."),
  webhook_secret: z
    .string()
    .nullable()
    .describe("The secret that signs webhooks, `whsec_…`, if this request made it. Shown only once."),
});

export const Notification = z.strictObject({
  object: z.literal("notification"),
  id: Id("ntf"),
  kind: Kind,
  title: z.string(),
  text: z.string(),
  page: z.string().describe("The page of the console that it is about, after `/console/`."),
  read: z.boolean().describe("Whether the caller has read it."),
  created_at: Time,
});
const NotificationList = makeListSchema(Notification, {
  unread: Count.describe("How many the caller has not read, at most 100."),
});

const MarkedRead = z.strictObject({ unread: Count });

export const Delivery = z.strictObject({
  object: z.literal("delivery"),
  id: Id("dlv"),
  notification_id: Id("ntf"),
  kind: Kind.nullable().describe("null: an email from before version 0.2."),
  channel: z.enum(DELIVERY_CHANNELS),
  to: z.string().nullable().describe("For email: the address."),
  state: z.enum(DELIVERY_STATES).describe("`pending`: not delivered yet. `failed`: given up."),
  tries: Count,
  answer_status: z.int().nullable().describe("The HTTP status of the last response; null if there was none."),
  problem: z.string().nullable().describe("What went wrong in the last try; null if there was a response."),
  next_try_at: Time.nullable().describe("When it is tried again; null once it has ended."),
  created_at: Time,
  ended_at: Time.nullable(),
});
const DeliveryList = makeListSchema(Delivery);

const TestSent = z.strictObject({ sent: z.literal(true) });

export const notificationResponseSchemas = {
  NotificationSettings,
  Notification,
  NotificationList,
  MarkedRead,
  Delivery,
  DeliveryList,
  TestSent,
};

export const notificationRequestSchemas = {
  NotificationSettingsRequest: {
    fields: SettingsFields,
    words: {
      kinds: "For each kind, the channels to turn on or off. What is not named stays as it is.",
      webhook_url: "Where to send signed webhooks. `null` removes the address and its secret; absent leaves it.",
      slack_url:
        "An incoming webhook of Slack, Mattermost or another Slack-compatible service. `null` removes it; absent leaves it.",
    },
  },
  NotificationTestRequest: { fields: TestFields, words: { channel: "Where to send it." } },
  NotificationReadRequest: { fields: ReadFields, words: { ids: "The notifications to mark; absent: all." } },
};

const EVERYWHERE = { console: true, email: true, webhook: true, slack: true };
const sampleSettings = {
  object: "notification_settings",
  kinds: BUILDER_NOTIFICATIONS.map((kind) => ({ kind, channels: EVERYWHERE })),
  can_mail: true,
  webhook_url: "https://hooks.example.com/tollgate",
  slack_url: null,
  webhook_secret: null,
};
const sampleNotification = {
  object: "notification",
  id: makeSampleId("ntf"),
  kind: "low_credit",
  title: "Your balance is below $5.00",
  text: "The balance of the account “production” (acc_…) is $4.98, below the alert threshold of $5.00.",
  page: "credits",
  read: false,
  created_at: SAMPLE_TIME,
};

const NO_WEBHOOK = refusal("not_found", "This account has no webhook. Set webhook_url first.");

export const notificationRoutes = declareRoutes({
  getNotificationSettings: {
    at: "GET /console/api/notifications",
    summary: "Get where notifications are sent",
    guard: "account",
    answer: {
      description: "Each kind with its channels, and the webhooks' addresses.",
      json: NotificationSettings,
      example: sampleSettings,
    },
  },
  setNotifications: {
    at: "PUT /console/api/notifications",
    summary: "Set where notifications are sent",
    description:
      "Addresses must use https and be on the public internet. Setting the first webhook address creates the webhook's secret, which the response shows once. Changing the address keeps the secret.",
    guard: "account",
    needs: "pay",
    body: {
      fields: SettingsFields,
      example: {
        kinds: { low_credit: { email: true, webhook: true } },
        webhook_url: "https://hooks.example.com/tollgate",
      },
    },
    answer: { description: "The new settings.", json: NotificationSettings, example: sampleSettings },
  },
  replaceNotificationSecret: {
    at: "POST /console/api/notifications/secret",
    summary: "Replace the webhook secret",
    description: "Makes a new secret, which signs every webhook from now on. The old one ends at once.",
    guard: "account",
    needs: "pay",
    answer: {
      description: "The settings with the new secret.",
      json: NotificationSettings,
      example: { ...sampleSettings, webhook_secret: "whsec_…" },
    },
    faults: [NO_WEBHOOK],
  },
  testNotification: {
    at: "POST /console/api/notifications/test",
    summary: "Send a test notification",
    description: `Sends one notification of the kind \`test\`, which is delivered like all others; the list of deliveries shows the outcome. At most ${NOTIFICATION_TESTS_PER_HOUR} per hour.`,
    guard: "account",
    needs: "pay",
    body: { fields: TestFields, example: { channel: "email" } },
    answer: { description: "It is on its way.", json: TestSent, example: { sent: true } },
    faults: [
      refusal("not_found", "This channel has no address. Set one first."),
      refusal(
        "rate_limit_requests",
        `At most ${NOTIFICATION_TESTS_PER_HOUR} tests can be sent per hour. Try again later.`,
      ),
    ],
  },
  listDeliveries: {
    at: "GET /console/api/notifications/deliveries",
    summary: "List deliveries",
    guard: "account",
    answer: {
      description: "The latest 50 emails and webhooks, newest first.",
      json: DeliveryList,
      example: sampleList({
        object: "delivery",
        id: makeSampleId("dlv"),
        notification_id: makeSampleId("ntf"),
        kind: "low_credit",
        channel: "webhook",
        to: null,
        state: "pending",
        tries: 2,
        answer_status: 503,
        problem: null,
        next_try_at: SAMPLE_TIME + 90,
        created_at: SAMPLE_TIME,
        ended_at: null,
      }),
    },
  },
  listNotifications: {
    at: "GET /console/api/notifications/inbox",
    summary: "List notifications",
    guard: "account",
    query: PageQuery,
    answer: {
      description: "A page of notifications, newest first. They are kept for 90 days.",
      json: NotificationList,
      example: { ...sampleList(sampleNotification), unread: 1 },
    },
    faults: refusalsOfCodes("invalid_cursor"),
  },
  readNotifications: {
    at: "POST /console/api/notifications/read",
    summary: "Mark notifications as read",
    description: "Marks them for the caller alone. Others of the account still see them as unread.",
    guard: "account",
    needs: "read",
    body: { fields: ReadFields, example: {} },
    answer: { description: "How many are left.", json: MarkedRead, example: { unread: 0 } },
  },
});
