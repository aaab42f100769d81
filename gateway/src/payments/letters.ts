/** What an account's owners are written about its credit. */
import { publicId, type Uuid } from "../base/ids.ts";
import { PICO_PER_DOLLAR, type Pico } from "../base/money.ts";
import type { TopUpFailure } from "../base/states.ts";

interface Words {
  subject: string;
  text: string;
}

interface About {
  id: Uuid;
  name: string;
  /** How browsers reach the gateway. */
  origin: string;
}

export const lowCredit = (about: About, { balance, mark }: { balance: Pico; mark: Pico }): Words => ({
  subject: `Tollgate: your balance is below ${dollarsText(mark)}`,
  text: lines(
    `The balance of ${accountText(about)} is ${dollarsText(balance)}, below the alert threshold of ${dollarsText(mark)}.`,
    `Requests are refused when the balance is used up. To add credit or change the alert, open:\n${pageOf(about)}`,
    "We'll email you again if the balance recovers and then drops below the threshold.",
  ),
});

const FAILURES: Record<TopUpFailure, string> = {
  declined: "failed: the payment provider declined the saved card",
  authentication_required: "failed: the card's bank requires a confirmation by the card holder",
  unreachable: "failed: the payment provider did not respond for half a day",
  disputed: "was disputed with the card's bank",
  refunded: "was refunded",
};

export const topUpFailed = (about: About, { amount, failure }: { amount: Pico; failure: TopUpFailure }): Words => ({
  subject: "Tollgate: automatic top-up was turned off",
  text: lines(
    failure === "disputed" || failure === "refunded"
      ? `An automatic purchase of credit for ${accountText(about)} ${FAILURES[failure]}.`
      : `An automatic purchase of ${dollarsText(amount)} of credit for ${accountText(about)} ${FAILURES[failure]}.`,
    "Automatic top-up is now off.",
    `On this page you can buy credit, save another card, or turn automatic top-up on again:\n${pageOf(about)}`,
  ),
});

const accountText = ({ id, name }: About): string => `the account “${name}” (${publicId("acc", id)})`;
const pageOf = ({ origin }: About): string => `${origin}/console/credits`;
const lines = (...paragraphs: string[]): string => `${paragraphs.join("\n\n")}\n`;

/** Whole cents, never more than there is. */
export function dollarsText(amount: Pico): string {
  const unit = PICO_PER_DOLLAR / 100n;
  const cents = amount >= 0n ? amount / unit : -((-amount + unit - 1n) / unit);
  const size = cents < 0n ? -cents : cents;
  return `${cents < 0n ? "-" : ""}$${size / 100n}.${String(size % 100n).padStart(2, "0")}`;
}
