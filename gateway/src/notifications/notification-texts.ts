/** Builds the texts of notifications from their facts when they are shown or sent. Pure. */
import { publicId, type Uuid } from "../base/ids.ts";
import { parseMicroAsPico } from "../base/money.ts";
import type { NotificationKind, TopUpFailure } from "../base/stored-enumerations.ts";
import type { LocalizedFormat } from "./localized-format.ts";

/** The facts of each kind of notification, as stored in the database and sent to webhooks. */
interface Facts {
  low_credit: { balance_micro: string; threshold_micro: string };
  budget_reached: { key_id: string; key_name: string; period: "day" | "month"; date: string; budget_micro: string };
  top_up_failed: { amount_micro: string; failure: TopUpFailure };
  key_expiring: { key_id: string; key_name: string; expires_at: number };
  node_quarantined: { node_id: string; node_name: string; reason: string };
  payout_sent: { payout_id: string; amount_micro: string };
  test: Record<never, never>;
}

/** One notification with its facts. */
export type NotificationContent = { [Kind in NotificationKind]: { kind: Kind; data: Facts[Kind] } }[NotificationKind];

/** A stored notification. `email`: a complete email stored before notifications existed. */
export type StoredNotificationContent =
  | NotificationContent
  | { kind: "email"; data: { subject: string; text: string } };

interface Words {
  title: string;
  text: string;
  /** The next step, and the console page for it. */
  advice: string;
  page: string;
}

const FAILURES: Record<TopUpFailure, string> = {
  declined: "failed: the payment provider declined the saved card",
  authentication_required: "failed: the card's bank requires the cardholder to confirm the payment",
  unreachable: "failed: the payment provider did not respond for half a day",
  disputed: "was disputed: the cardholder asked the card's bank for the money back",
  refunded: "was refunded to the card",
};

const PERIODS = { day: "daily", month: "monthly" } as const;

interface Written {
  account: string;
  dollars: (micro: string) => string;
  moment: LocalizedFormat["moment"];
}

type WordsOf = { [Kind in NotificationKind]: (facts: Facts[Kind], written: Written) => Words };

const WORDS: WordsOf = {
  low_credit: ({ balance_micro, threshold_micro }, { account, dollars }) => ({
    title: `Your balance is below ${dollars(threshold_micro)}`,
    text: `The balance of ${account} is ${dollars(balance_micro)}, below the alert threshold of ${dollars(threshold_micro)}. Requests are refused when the balance is used up. You are notified again if the balance recovers and then drops below the threshold.`,
    advice: "To add credit or change the alert, open:",
    page: "credits",
  }),
  budget_reached: ({ key_name, period, date, budget_micro }, { account, dollars }) => ({
    title: `The ${PERIODS[period]} budget of “${key_name}” is reached`,
    text: `Requests with the API key “${key_name}” of ${account} are refused: the key's ${PERIODS[period]} budget of ${dollars(budget_micro)} does not cover them. It resets when the ${period} ${date} ends (UTC).`,
    advice: "To raise the key's budget, open:",
    page: "keys",
  }),
  top_up_failed: ({ amount_micro, failure }, { account, dollars }) => ({
    title: "Automatic top-up was turned off",
    text: `The automatic purchase of ${failure === "disputed" || failure === "refunded" ? "" : `${dollars(amount_micro)} of `}credit for ${account} ${FAILURES[failure]}. Automatic top-up is now off.`,
    advice: "On this page you can buy credit, save another card, or turn automatic top-up on again:",
    page: "credits",
  }),
  key_expiring: ({ key_name, expires_at }, { account, moment }) => ({
    title: `The API key “${key_name}” expires soon`,
    text: `The API key “${key_name}” of ${account} expires on ${moment(expires_at)}. From then on requests with it are refused with 401.`,
    advice: "To change the key's expiry, or to create another key, open:",
    page: "keys",
  }),
  node_quarantined: ({ node_id, node_name, reason }, { account }) => ({
    title: `Your node “${node_name}” was quarantined`,
    text: `The node “${node_name}” of ${account} gets no more requests until an operator releases it. Reason: ${reason}.`,
    advice: "The evidence is on the node's page:",
    page: `host/nodes/${node_id}`,
  }),
  payout_sent: ({ amount_micro }, { account, dollars }) => ({
    title: `A payout of ${dollars(amount_micro)} was sent`,
    text: `The platform sent ${dollars(amount_micro)} to the owner of ${account}.`,
    advice: "All payouts are on this page:",
    page: "host/payouts",
  }),
  test: (_, { account }) => ({
    title: "Test notification",
    text: `Notifications of ${account} reach this address.`,
    advice: "To change which notifications are sent, open:",
    page: "notifications",
  }),
};

interface About {
  id: Uuid;
  name: string;
}

export function writeNotificationTexts(
  { kind, data }: StoredNotificationContent,
  { id, name }: About,
  style: LocalizedFormat,
): Words {
  if (kind === "email") return { title: data.subject, text: data.text, advice: "", page: "" };
  // TypeScript cannot infer that kind and facts belong to the same entry of the table.
  const words = WORDS[kind] as (facts: typeof data, written: Written) => Words;
  return words(data, {
    account: `the account “${name}” (${publicId("acc", id)})`,
    dollars: (micro) => style.dollars(parseMicroAsPico(micro)),
    moment: style.moment,
  });
}

export const makeConsoleLink = ({ page }: Pick<Words, "page">, origin: string): string => `${origin}/console/${page}`;

export function writeNotificationEmail(
  fact: StoredNotificationContent,
  about: About,
  origin: string,
  style: LocalizedFormat,
): { subject: string; text: string } {
  if (fact.kind === "email") return fact.data;
  const words = writeNotificationTexts(fact, about, style);
  const paragraphs = [
    words.text,
    `${words.advice}\n${makeConsoleLink(words, origin)}`,
    ...(words.page === "notifications"
      ? []
      : [`To choose what you are notified of, open:\n${origin}/console/notifications`]),
  ];
  return {
    subject: `Tollgate: ${words.title.charAt(0).toLowerCase()}${words.title.slice(1)}`,
    text: `${paragraphs.join("\n\n")}\n`,
  };
}
