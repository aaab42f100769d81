/** Messages for the reasons why automatic top-up was turned off after a failure. */
import type { Credits } from "../api/answer-types.ts";

export const TOP_UP_FAILURES: Record<NonNullable<NonNullable<Credits["top_up"]>["failure"]>, string> = {
  declined: "The payment provider refused the saved card.",
  authentication_required: "The card's bank requires the cardholder to confirm each payment. Use another card.",
  unreachable: "The payment provider did not respond for 12 hours.",
  disputed: "The cardholder disputed an automatic purchase with the card's bank.",
  refunded: "An automatic purchase was refunded.",
};
