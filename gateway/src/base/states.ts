/**
 * The closed sets of words that the database stores and the APIs show: states, kinds, outcomes. Where the database itself
 * allows no other word, db/states.test.ts compares the two.
 */

export const ACCOUNT_KINDS = ["builder", "host"] as const;
export type AccountKind = (typeof ACCOUNT_KINDS)[number];

/** In the ledger the platform and the world outside have accounts too. */
export const LEDGER_ACCOUNT_KINDS = ["builder", "host", "platform", "external"] as const;
export type LedgerAccountKind = (typeof LEDGER_ACCOUNT_KINDS)[number];

/** What moves between an account and the outside. A set-off moves between two accounts; only payouts make them. */
export const TRANSFER_KINDS = ["grant", "purchase", "refund", "dispute", "payout", "setoff"] as const;
export type TransferKind = (typeof TRANSFER_KINDS)[number];

/** What a line of an account is: a part of a request's charge, or a transfer. */
export const ENTRY_KINDS = ["charge", "share", "fee", ...TRANSFER_KINDS] as const;
export type EntryKind = (typeof ENTRY_KINDS)[number];
/** Those that a builder account can have. */
export const BUILDER_ENTRY_KINDS = ["charge", ...TRANSFER_KINDS] as const;

export const ENDPOINTS = ["chat", "completion", "embedding", "models"] as const;
export type EndpointName = (typeof ENDPOINTS)[number];

export const FINISH_REASONS = ["stop", "length"] as const;
export type FinishReason = (typeof FINISH_REASONS)[number];

/** Limits that refuse a request: their faults' codes. */
export const LIMIT_OUTCOMES = [
  "rate_limit_requests",
  "rate_limit_tokens",
  "rate_limit_streams",
  "rate_limit_sku_capacity",
] as const;
export type LimitOutcome = (typeof LIMIT_OUTCOMES)[number];

/** How a request ended. `gateway_lost`: its gateway died, and the hold ran out. */
export const REQUEST_OUTCOMES = [
  "ok",
  "upstream_failed",
  "upstream_stall",
  "no_capacity",
  "client_closed",
  "gateway_lost",
  ...LIMIT_OUTCOMES,
] as const;
export type RequestOutcome = (typeof REQUEST_OUTCOMES)[number];

/** Of a node's record; "online" is ready and connected, which only the dispatch plane knows. */
export const NODE_STANDINGS = ["registered", "ready", "paused", "quarantined", "retired"] as const;
export type NodeStanding = (typeof NODE_STANDINGS)[number];

/** Why the platform itself puts a node into quarantine; an operator writes reasons of their own. */
export const QUARANTINE_REASONS = ["failures", "speed", "canary", "refused_prompts"] as const;
export type QuarantineReason = (typeof QUARANTINE_REASONS)[number];

/** Each says more about the money than those before it: a payment that was made outweighs news that it was not. */
export const CHECKOUT_STATES = ["open", "pending", "expired", "failed", "mismatch", "paid"] as const;
export type CheckoutState = (typeof CHECKOUT_STATES)[number];

/** How a payment's money goes back. */
export const REVERSAL_KINDS = ["refund", "dispute"] as const;
export type ReversalKind = (typeof REVERSAL_KINDS)[number];

/** Which of a checkout's sums a movement of money belongs to. */
export const PAYMENT_MOVE_KINDS = ["purchase", ...REVERSAL_KINDS] as const;
export type PaymentMoveKind = (typeof PAYMENT_MOVE_KINDS)[number];

/** What became of an event of the payment provider. */
export const PAYMENT_EVENT_OUTCOMES = ["applied", "waiting", "unknown", "mismatch", "ignored"] as const;
export type PaymentEventOutcome = (typeof PAYMENT_EVENT_OUTCOMES)[number];

/** A batch of payouts is open until the money was sent. */
export const PAYOUT_STATES = ["open", "paid"] as const;
export type PayoutState = (typeof PAYOUT_STATES)[number];
