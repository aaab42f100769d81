/**
 * The words that the APIs use for states, kinds and outcomes. Schemas, database rows and clients use these types, so
 * code that does not handle a new word fails to compile.
 */

export const ACCOUNT_KINDS = ["builder", "host"] as const;
export type AccountKind = (typeof ACCOUNT_KINDS)[number];

/** The access levels of script sessions. */
export const SCRIPT_ACCESS = ["read", "write"] as const;
export type ScriptAccess = (typeof SCRIPT_ACCESS)[number];

/**
 * Transfers between a builder's account and the outside. A set-off (debt deducted from a payout) moves money between
 * two accounts, and only payouts create it.
 */
const BUILDER_TRANSFER_KINDS = ["grant", "purchase", "refund", "dispute", "payout", "setoff"] as const;
/**
 * Transfers between a host's account and the reserve (which holds withheld shares): withheld or released shares, and
 * payments for spot checks.
 */
export const RESERVE_TRANSFER_KINDS = ["withhold", "release", "verification"] as const;
export const TRANSFER_KINDS = [...BUILDER_TRANSFER_KINDS, ...RESERVE_TRANSFER_KINDS] as const;
export type TransferKind = (typeof TRANSFER_KINDS)[number];

/** The kinds of lines on a builder's statement. */
export const BUILDER_ENTRY_KINDS = ["charge", ...BUILDER_TRANSFER_KINDS] as const;

/**
 * The platform's own reasons for a quarantine. Operators write theirs as free text. The console and the host's command
 * line explain each reason, and do not compile without an explanation.
 */
const QUARANTINE_REASONS = ["failures", "speed", "canary", "refused_prompts", "spot_check"] as const;
export type QuarantineReason = (typeof QUARANTINE_REASONS)[number];

/**
 * Why a host's share was withheld. `node_failed`: the node reported a failure. `node_silent`: it stopped sending
 * output. `no_first_token`: it had sent no token when the client left, and the prompt's length does not explain the
 * wait. `spot_check`: it failed a spot check.
 */
export const WITHHELD_REASONS = ["node_failed", "node_silent", "no_first_token", "spot_check"] as const;
export type WithheldReason = (typeof WITHHELD_REASONS)[number];

/**
 * The result of a spot check (another node verifies a real answer). `ok`, `bad`: the answer passed or failed.
 * `disputed`: the verifiers disagree. `unconfirmed`: one verifier doubts the answer and there is no second one. `odd`:
 * the request is unusual, not the answer. `unjudged`: there are too few comparable answers.
 */
export const SPOT_CHECK_VERDICTS = ["ok", "bad", "disputed", "unconfirmed", "odd", "unjudged"] as const;
export type SpotCheckVerdict = (typeof SPOT_CHECK_VERDICTS)[number];
/**
 * How a verifying node checks an answer. With `text` and `next`, it computes how likely its own engine finds the
 * answer. With the others, it answers the same request, and the two answers are compared.
 */
export const SPOT_CHECK_METHODS = ["text", "next", "meaning", "words", "vectors"] as const;
export type SpotCheckMethod = (typeof SPOT_CHECK_METHODS)[number];

/** Payments between a buyer and the payment provider. `automatic`: a purchase by automatic top-up. */
export const PAYMENT_KINDS = ["purchase", "automatic", "refund", "dispute"] as const;

/**
 * States of a payment. `mismatch`: the buyer paid another amount than requested, which an operator must resolve. `won`,
 * `lost`: a dispute that the platform won or lost.
 */
export const PAYMENT_STATES = ["open", "pending", "paid", "failed", "expired", "mismatch", "won", "lost"] as const;

/**
 * Why automatic top-up was turned off. `unreachable`: the payment provider did not answer for half a day. `disputed`,
 * `refunded`: an automatic purchase was disputed or refunded.
 */
export const TOP_UP_FAILURES = ["declined", "authentication_required", "unreachable", "disputed", "refunded"] as const;
export type TopUpFailure = (typeof TOP_UP_FAILURES)[number];

/** The ways to pay a host. `iban` and `us_bank` are bank accounts. */
export const PAYOUT_METHODS = ["iban", "us_bank", "paypal"] as const;
export type PayoutMethodKind = (typeof PAYOUT_METHODS)[number];

export const ENDPOINTS = ["chat", "completion", "embedding", "models"] as const;
export type EndpointName = (typeof ENDPOINTS)[number];

/** How an attempt (one try of a request on one node) ended. */
export const ATTEMPT_ENDS = [
  "finished",
  "empty",
  "failed",
  "broken",
  "quiet",
  "expired",
  "lost",
  "cut",
  "declined",
  "cancelled",
] as const;
export type AttemptEnd = (typeof ATTEMPT_ENDS)[number];

export const FINISH_REASONS = ["stop", "length"] as const;
export type FinishReason = (typeof FINISH_REASONS)[number];

/** The outcomes of requests that a limit refused. They are also the error codes. */
const LIMIT_OUTCOMES = [
  "rate_limit_requests",
  "rate_limit_tokens",
  "rate_limit_streams",
  "rate_limit_sku_capacity",
] as const;
export type LimitOutcome = (typeof LIMIT_OUTCOMES)[number];

/**
 * The outcomes of requests. `plane_lost`: the platform lost the connection to a working node. `gateway_stopped`: the
 * gateway was stopped before the request ended. `gateway_lost`: the gateway died, and the hold expired.
 */
export const REQUEST_OUTCOMES = [
  "ok",
  "upstream_failed",
  "upstream_stall",
  "no_capacity",
  "client_closed",
  "plane_lost",
  "gateway_stopped",
  "gateway_lost",
  ...LIMIT_OUTCOMES,
] as const;
export type RequestOutcome = (typeof REQUEST_OUTCOMES)[number];

/**
 * Why a request was refused for lack of credit: no credit at all, less credit than the hold, or less left in the key's
 * daily or monthly budget.
 */
export const INSUFFICIENT_CREDIT_REASONS = ["no_credit", "hold", "budget_day", "budget_month"] as const;

export const NODE_STATES = ["registered", "ready", "online", "paused", "quarantined", "retired"] as const;
export type NodeState = (typeof NODE_STATES)[number];

/** A payout batch is open until its money has been sent. */
export const PAYOUT_STATES = ["open", "paid"] as const;
export type PayoutState = (typeof PAYOUT_STATES)[number];

export const MODEL_KINDS = ["generation", "embedding"] as const;
export type ModelKind = (typeof MODEL_KINDS)[number];
export const MODEL_CLASSES = ["tiny", "small", "mid", "reasoning", "embed", "large"] as const;
export const MODEL_STATUSES = ["active", "coming"] as const;

/** The kinds of changes to an account's team. */
export const TEAM_ACTIONS = ["invited", "withdrawn", "joined", "role_changed", "removed", "left"] as const;
export type TeamAction = (typeof TEAM_ACTIONS)[number];

/** The events that an account's members can be notified about, by kind of account. */
export const BUILDER_NOTIFICATIONS = ["low_credit", "budget_reached", "top_up_failed", "key_expiring"] as const;
export const HOST_NOTIFICATIONS = ["node_quarantined", "payout_sent"] as const;
/** `test` is the notification that the test button sends. */
export const NOTIFICATION_KINDS = [...BUILDER_NOTIFICATIONS, ...HOST_NOTIFICATIONS, "test"] as const;
export type NotificationKind = (typeof NOTIFICATION_KINDS)[number];
/** Channels outside the console. A notification to one of these needs a delivery. */
export const DELIVERY_CHANNELS = ["email", "webhook", "slack"] as const;
export type DeliveryChannel = (typeof DELIVERY_CHANNELS)[number];
export const NOTIFICATION_CHANNELS = ["console", ...DELIVERY_CHANNELS] as const;
export type NotificationChannel = (typeof NOTIFICATION_CHANNELS)[number];
export const DELIVERY_STATES = ["pending", "delivered", "failed"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** A model's state on the public status page. */
export const MODEL_STATES = ["available", "degraded", "unavailable"] as const;
export type ModelState = (typeof MODEL_STATES)[number];
export const INCIDENT_KINDS = ["unavailable", "errors"] as const;

/** The platform's overall state. `down`: it can serve no requests. `degraded`: it cannot serve some requests. */
export const PLATFORM_STATES = ["serving", "degraded", "down"] as const;
export type PlatformState = (typeof PLATFORM_STATES)[number];
/**
 * The causes of incidents: `database`, `limits` or `plane` is unreachable, no gateway is running, no node is available,
 * or requests fail.
 */
export const INCIDENT_CAUSES = ["database", "limits", "plane", "stopped", "no_capacity", "errors"] as const;
export type IncidentCause = (typeof INCIDENT_CAUSES)[number];
/** The causes of incidents as the public status page names them. */
export const PUBLIC_INCIDENT_CAUSES = ["internal", "stopped", "unavailable", "errors"] as const;
export type PublicIncidentCause = (typeof PUBLIC_INCIDENT_CAUSES)[number];
