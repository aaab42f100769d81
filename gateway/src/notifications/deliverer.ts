/** Sends due deliveries, a limited number at a time, and records each outcome. */
import type { MailSender } from "../accounts/mail-sender.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { DELIVERY_CHANNELS, type DeliveryChannel } from "../base/stored-enumerations.ts";
import type { AttemptOutcome, ClaimedDelivery, Deliveries } from "./deliveries.ts";
import { createLocalizedFormat } from "./localized-format.ts";
import { writeNotificationEmail } from "./notification-texts.ts";
import type { PostWebhook } from "./post-webhook.ts";
import { computeNextAttemptAtMs } from "./retry-schedule.ts";
import { makeSlackBody, makeWebhookBody, SIGNATURE_HEADER, signWebhookBody } from "./webhook-payloads.ts";

const PROBLEM_CHARS_MAX = 200;
const WEBHOOKS: readonly DeliveryChannel[] = ["webhook", "slack"];

export interface Deliverer {
  /** Sends until no delivery is due. Returns the number of successful deliveries. */
  send(): Promise<number>;
}

interface DelivererOptions {
  deliveries: Deliveries;
  post: PostWebhook;
  /** Undefined if this gateway cannot send email. Emails then wait for another gateway until their retries end. */
  mail: MailSender | undefined;
  clock: Clock;
  log: Log;
  origin: string;
  version: string;
}

/** The result of one attempt: the status of a webhook's response, `sent` for an email, or the problem. */
type Outcome = { status: number } | { sent: true } | { problem: string; isFinal?: boolean };

export function openDeliverer({ deliveries, post, mail, clock, log, origin, version }: DelivererOptions): Deliverer {
  const sendMail = async (
    through: MailSender,
    { id, fact, email, locale, timeZone, ...taken }: ClaimedDelivery,
  ): Promise<Outcome> => {
    if (email === null) return { problem: "the recipient no longer has a user account", isFinal: true };
    const { accountId, accountName } = taken;
    const style = createLocalizedFormat({ locale, timeZone });
    await through.send({
      id,
      to: email,
      ...writeNotificationEmail(fact, { id: accountId, name: accountName }, origin, style),
    });
    return { sent: true };
  };
  const sendHook = async (taken: ClaimedDelivery): Promise<Outcome> => {
    const { channel, fact, accountId, accountName, webhookUrl, webhookSecret, slackUrl, happenedAt } = taken;
    const told = {
      ...{ id: taken.notificationId, fact, origin, createdAt: happenedAt },
      account: { id: accountId, name: accountName },
    };
    const agent = { "user-agent": `Tollgate/${version}` };
    if (channel === "slack") {
      if (slackUrl === null) return REMOVED;
      return { status: await post(slackUrl, { headers: agent, body: makeSlackBody(told) }) };
    }
    if (webhookUrl === null || webhookSecret === null) return REMOVED;
    const body = makeWebhookBody(told);
    const unixSeconds = Math.floor(clock.now() / 1000);
    const signature = { [SIGNATURE_HEADER]: signWebhookBody(body, { secret: webhookSecret, unixSeconds }) };
    return { status: await post(webhookUrl, { headers: { ...agent, ...signature }, body }) };
  };
  const tryOnce = async (taken: ClaimedDelivery): Promise<boolean> => {
    const trying = taken.channel === "email" && mail !== undefined ? sendMail(mail, taken) : sendHook(taken);
    let reason: string | undefined;
    const outcome: Outcome = await trying.catch((error: unknown) => {
      reason = error instanceof Error ? error.message : String(error);
      return { problem: taken.channel === "email" ? MAIL_FAILED : reason };
    });
    const how = judge(outcome, taken, clock.now());
    if (how.state !== "delivered") report(taken, how, reason);
    await deliveries.tried(taken, how);
    return how.state === "delivered";
  };
  /**
   * A failing webhook is the account's problem, a failing mail server the operator's, so they are logged differently.
   */
  const report = (
    { id, channel, attempts }: ClaimedDelivery,
    how: AttemptOutcome,
    reason: string | undefined,
  ): void => {
    const what = { delivery: id, channel, attempts, status: how.answerStatus, reason: reason ?? how.problem };
    const isOurs = channel === "email";
    if (how.state === "failed") log[isOurs ? "error" : "info"](what, "notification not delivered; giving up");
    else log[isOurs ? "warn" : "info"](what, "notification not delivered; retrying");
  };
  return {
    async send() {
      const channels = mail === undefined ? WEBHOOKS : DELIVERY_CHANNELS;
      let arrived = 0;
      for (;;) {
        const taken = await deliveries.take(channels);
        if (taken.length === 0) return arrived;
        arrived += (await Promise.all(taken.map(tryOnce))).filter(Boolean).length;
      }
    },
  };
}

/**
 * The error that accounts see. The mail server's own message may reveal the operator's network, so it is only logged.
 */
const MAIL_FAILED = "the mail server did not accept the email";
const REMOVED: Outcome = { problem: "the webhook address was removed", isFinal: true };

function judge(outcome: Outcome, { channel, attempts, createdAt }: ClaimedDelivery, nowMs: number): AttemptOutcome {
  const answerStatus = "status" in outcome ? outcome.status : null;
  if ("sent" in outcome || (answerStatus !== null && answerStatus >= 200 && answerStatus < 300))
    return { state: "delivered", nextAt: null, answerStatus, problem: null };
  const problem = "problem" in outcome ? outcome.problem.slice(0, PROBLEM_CHARS_MAX) : null;
  const isFinal = "problem" in outcome && outcome.isFinal === true;
  const next = isFinal
    ? undefined
    : computeNextAttemptAtMs({ channel, attempts, createdAtMs: createdAt.getTime(), nowMs });
  if (next === undefined) return { state: "failed", nextAt: null, answerStatus, problem };
  return { state: "pending", nextAt: new Date(next), answerStatus, problem };
}
