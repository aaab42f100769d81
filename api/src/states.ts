/**
 * The closed sets of words that the APIs show: states, kinds, outcomes. Schemas, the gateway's rows and the clients take them
 * from here; a word more is a word more everywhere, or does not compile.
 */

export const ACCOUNT_KINDS = ["builder", "host"] as const;
export type AccountKind = (typeof ACCOUNT_KINDS)[number];

/** What a session for scripts may do. */
export const SCRIPT_ACCESS = ["read", "write"] as const;
export type ScriptAccess = (typeof SCRIPT_ACCESS)[number];

/** What moves between a builder's account and the outside. A set-off moves between two accounts; only payouts make them. */
const BUILDER_TRANSFER_KINDS = ["grant", "purchase", "refund", "dispute", "payout", "setoff"] as const;
/** What moves between a host's account and the platform's reserve: a share taken back or released, and the pay for a spot check. */
export const RESERVE_TRANSFER_KINDS = ["withhold", "release", "verification"] as const;
export const TRANSFER_KINDS = [...BUILDER_TRANSFER_KINDS, ...RESERVE_TRANSFER_KINDS] as const;
export type TransferKind = (typeof TRANSFER_KINDS)[number];

/** What a line of a builder's statement can be. */
export const BUILDER_ENTRY_KINDS = ["charge", ...BUILDER_TRANSFER_KINDS] as const;

/**
 * Why a host's share was withheld: the node reported a failure, stopped sending output, had no first token when the client left although
 * the prompt does not explain the wait, or failed a spot check.
 */
export const WITHHELD_REASONS = ["node_failed", "node_silent", "no_first_token", "spot_check"] as const;
export type WithheldReason = (typeof WITHHELD_REASONS)[number];

/**
 * What a spot check found. `ok`, `bad`: of the answer. `disputed`: the verifiers disagree. `unconfirmed`: one doubts it, and there is no
 * other. `odd`: the request is unusual, not the answer. `unjudged`: too little is known of such answers.
 */
export const CHECK_VERDICTS = ["ok", "bad", "disputed", "unconfirmed", "odd", "unjudged"] as const;
export type CheckFinding = (typeof CHECK_VERDICTS)[number];
/** How a verifier checks: `text`, `next` score the answer; with the others it answers the same request, and the two are compared. */
export const CHECK_METHODS = ["text", "next", "meaning", "words", "vectors"] as const;
export type CheckMethod = (typeof CHECK_METHODS)[number];

/** What moved between a buyer and the payment provider. `automatic`: a purchase that was made by itself. */
export const PAYMENT_KINDS = ["purchase", "automatic", "refund", "dispute"] as const;

/** `mismatch`: something else was paid than was asked for; someone looks at it. `won` and `lost`: a dispute, by us. */
export const PAYMENT_STATES = ["open", "pending", "paid", "failed", "expired", "mismatch", "won", "lost"] as const;

/**
 * Why automatic purchases turned themselves off. `unreachable`: the provider gave no answer for half a day. `disputed`, `refunded`: so was
 * an automatic purchase.
 */
export const TOP_UP_FAILURES = ["declined", "authentication_required", "unreachable", "disputed", "refunded"] as const;
export type TopUpFailure = (typeof TOP_UP_FAILURES)[number];

export const ENDPOINTS = ["chat", "completion", "embedding", "models"] as const;
export type EndpointName = (typeof ENDPOINTS)[number];

export const FINISH_REASONS = ["stop", "length"] as const;
export type FinishReason = (typeof FINISH_REASONS)[number];

/** Limits that refuse a request: their faults' codes. */
const LIMIT_OUTCOMES = [
  "rate_limit_requests",
  "rate_limit_tokens",
  "rate_limit_streams",
  "rate_limit_sku_capacity",
] as const;
export type LimitOutcome = (typeof LIMIT_OUTCOMES)[number];

/**
 * How a request ended. `plane_lost`: the platform lost the way to a node that was well. `gateway_stopped`: its gateway was
 * stopped before it ended. `gateway_lost`: its gateway died, and the hold ran out.
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

/** Why a request was lost for want of credit: none at all, less than the hold, or less in the key's budget. */
export const UNFUNDED_REASONS = ["no_credit", "hold", "budget_day", "budget_month"] as const;

export const NODE_STATES = ["registered", "ready", "online", "paused", "quarantined", "retired"] as const;
export type NodeState = (typeof NODE_STATES)[number];

/** A batch of payouts is open until the money was sent. */
export const PAYOUT_STATES = ["open", "paid"] as const;
export type PayoutState = (typeof PAYOUT_STATES)[number];

export const MODEL_KINDS = ["generation", "embedding"] as const;
export type ModelKind = (typeof MODEL_KINDS)[number];
export const MODEL_CLASSES = ["tiny", "small", "mid", "reasoning", "embed", "large"] as const;
export const MODEL_STATUSES = ["active", "coming"] as const;

/** What happens to a team. */
export const TEAM_ACTIONS = ["invited", "withdrawn", "joined", "role_changed", "removed", "left"] as const;
export type TeamAction = (typeof TEAM_ACTIONS)[number];

/** What the people of an account are notified of, by the account's kind. */
export const BUILDER_NOTIFICATIONS = ["low_credit", "budget_reached", "top_up_failed", "key_expiring"] as const;
export const HOST_NOTIFICATIONS = ["node_quarantined", "payout_sent"] as const;
/** `test` is what the test button sends. */
export const NOTIFICATION_KINDS = [...BUILDER_NOTIFICATIONS, ...HOST_NOTIFICATIONS, "test"] as const;
export type NotificationKind = (typeof NOTIFICATION_KINDS)[number];
/** Where notifications are sent; all of them but `console` are deliveries. */
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

/** Whether the platform serves. `down`: no request can be served. `degraded`: some cannot. */
export const VERDICTS = ["serving", "degraded", "down"] as const;
export type VerdictState = (typeof VERDICTS)[number];
/** What an incident was: `database`, `limits` and `plane` could not be reached, no gateway ran, no node could serve, requests failed. */
export const INCIDENT_CAUSES = ["database", "limits", "plane", "stopped", "no_capacity", "errors"] as const;
export type IncidentCause = (typeof INCIDENT_CAUSES)[number];
/** The platform's state on the public status page. */
export const PUBLIC_CAUSES = ["internal", "stopped", "unavailable", "errors"] as const;
export type PublicCause = (typeof PUBLIC_CAUSES)[number];
