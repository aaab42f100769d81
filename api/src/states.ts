/**
 * The closed sets of words in the APIs: states, kinds, outcomes. Schemas, database rows and clients use these types, so an added word must
 * be handled everywhere to compile.
 */

export const ACCOUNT_KINDS = ["builder", "host"] as const;
export type AccountKind = (typeof ACCOUNT_KINDS)[number];

/** The access levels of script sessions. */
export const SCRIPT_ACCESS = ["read", "write"] as const;
export type ScriptAccess = (typeof SCRIPT_ACCESS)[number];

/** Transfers between a builder's account and the outside. A set-off moves money between two accounts; only payouts create them. */
const BUILDER_TRANSFER_KINDS = ["grant", "purchase", "refund", "dispute", "payout", "setoff"] as const;
/** Transfers between a host's account and the platform's reserve: shares taken back or released, and payments for spot checks. */
export const RESERVE_TRANSFER_KINDS = ["withhold", "release", "verification"] as const;
export const TRANSFER_KINDS = [...BUILDER_TRANSFER_KINDS, ...RESERVE_TRANSFER_KINDS] as const;
export type TransferKind = (typeof TRANSFER_KINDS)[number];

/** The kinds of lines on a builder's statement. */
export const BUILDER_ENTRY_KINDS = ["charge", ...BUILDER_TRANSFER_KINDS] as const;

/**
 * Why a host's share was withheld: the node reported a failure, stopped sending output, had no first token when the client left although
 * the prompt does not explain the wait, or failed a spot check.
 */
export const WITHHELD_REASONS = ["node_failed", "node_silent", "no_first_token", "spot_check"] as const;
export type WithheldReason = (typeof WITHHELD_REASONS)[number];

/**
 * The result of a spot check. `ok`, `bad`: the answer. `disputed`: the verifiers disagree. `unconfirmed`: one verifier doubts it and there
 * is no second. `odd`: the request is unusual, not the answer. `unjudged`: too few comparable answers.
 */
export const CHECK_VERDICTS = ["ok", "bad", "disputed", "unconfirmed", "odd", "unjudged"] as const;
export type CheckFinding = (typeof CHECK_VERDICTS)[number];
/**
 * How a verifier checks: with `text` and `next` it scores the answer; with the others it answers the same request, and the two answers are
 * compared.
 */
export const CHECK_METHODS = ["text", "next", "meaning", "words", "vectors"] as const;
export type CheckMethod = (typeof CHECK_METHODS)[number];

/** Money between a buyer and the payment provider. `automatic`: a purchase by automatic top-up. */
export const PAYMENT_KINDS = ["purchase", "automatic", "refund", "dispute"] as const;

/** `mismatch`: another amount was paid than requested, which an operator must resolve. `won`, `lost`: a dispute, from our view. */
export const PAYMENT_STATES = ["open", "pending", "paid", "failed", "expired", "mismatch", "won", "lost"] as const;

/**
 * Why automatic top-up was turned off. `unreachable`: the provider did not answer for half a day. `disputed`, `refunded`: an automatic
 * purchase was.
 */
export const TOP_UP_FAILURES = ["declined", "authentication_required", "unreachable", "disputed", "refunded"] as const;
export type TopUpFailure = (typeof TOP_UP_FAILURES)[number];

/** How a host is paid: `iban` and `us_bank` name a bank account. */
export const PAYOUT_METHODS = ["iban", "us_bank", "paypal"] as const;
export type PayoutMethodKind = (typeof PAYOUT_METHODS)[number];

export const ENDPOINTS = ["chat", "completion", "embedding", "models"] as const;
export type EndpointName = (typeof ENDPOINTS)[number];

export const FINISH_REASONS = ["stop", "length"] as const;
export type FinishReason = (typeof FINISH_REASONS)[number];

/** The codes of limits that refuse a request. */
const LIMIT_OUTCOMES = [
  "rate_limit_requests",
  "rate_limit_tokens",
  "rate_limit_streams",
  "rate_limit_sku_capacity",
] as const;
export type LimitOutcome = (typeof LIMIT_OUTCOMES)[number];

/**
 * The outcome of a request. `plane_lost`: the platform lost the connection to a node that was well. `gateway_stopped`: its gateway was
 * stopped first. `gateway_lost`: its gateway died and the hold expired.
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

/** Why a request lacked credit: no credit at all, less than the hold, or less in the key's budget. */
export const UNFUNDED_REASONS = ["no_credit", "hold", "budget_day", "budget_month"] as const;

export const NODE_STATES = ["registered", "ready", "online", "paused", "quarantined", "retired"] as const;
export type NodeState = (typeof NODE_STATES)[number];

/** A payout batch is open until its money was sent. */
export const PAYOUT_STATES = ["open", "paid"] as const;
export type PayoutState = (typeof PAYOUT_STATES)[number];

export const MODEL_KINDS = ["generation", "embedding"] as const;
export type ModelKind = (typeof MODEL_KINDS)[number];
export const MODEL_CLASSES = ["tiny", "small", "mid", "reasoning", "embed", "large"] as const;
export const MODEL_STATUSES = ["active", "coming"] as const;

/** The kinds of changes in a team. */
export const TEAM_ACTIONS = ["invited", "withdrawn", "joined", "role_changed", "removed", "left"] as const;
export type TeamAction = (typeof TEAM_ACTIONS)[number];

/** The events that an account's people are notified of, by kind of account. */
export const BUILDER_NOTIFICATIONS = ["low_credit", "budget_reached", "top_up_failed", "key_expiring"] as const;
export const HOST_NOTIFICATIONS = ["node_quarantined", "payout_sent"] as const;
/** `test` is sent by the test button. */
export const NOTIFICATION_KINDS = [...BUILDER_NOTIFICATIONS, ...HOST_NOTIFICATIONS, "test"] as const;
export type NotificationKind = (typeof NOTIFICATION_KINDS)[number];
/** The destinations of notifications; all but `console` need a delivery. */
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

/** The platform's verdict. `down`: no request can be served. `degraded`: some cannot. */
export const VERDICTS = ["serving", "degraded", "down"] as const;
export type VerdictState = (typeof VERDICTS)[number];
/** The cause of an incident: `database`, `limits` or `plane` unreachable, no gateway running, no node available, or failing requests. */
export const INCIDENT_CAUSES = ["database", "limits", "plane", "stopped", "no_capacity", "errors"] as const;
export type IncidentCause = (typeof INCIDENT_CAUSES)[number];
/** The causes shown on the public status page. */
export const PUBLIC_CAUSES = ["internal", "stopped", "unavailable", "errors"] as const;
export type PublicCause = (typeof PUBLIC_CAUSES)[number];
