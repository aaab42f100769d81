/**
 * The words that the database and the APIs use for states, kinds and outcomes. Words that an API uses are declared in
 * the API's package and exported again here. Words that only the database uses are declared here.
 * db/state-constraints.test.ts compares them with the database's constraints.
 */
import type { NodeState } from "@tollgate/api/enumerations.ts";

export {
  ACCOUNT_KINDS,
  type AccountKind,
  ATTEMPT_ENDS,
  type AttemptEnd,
  BUILDER_ENTRY_KINDS,
  BUILDER_NOTIFICATIONS,
  DELIVERY_CHANNELS,
  DELIVERY_STATES,
  type DeliveryChannel,
  type DeliveryState,
  ENDPOINTS,
  type EndpointName,
  FINISH_REASONS,
  type FinishReason,
  HOST_NOTIFICATIONS,
  INCIDENT_CAUSES,
  INCIDENT_KINDS,
  INSUFFICIENT_CREDIT_REASONS,
  type IncidentCause,
  type LimitOutcome,
  MODEL_CLASSES,
  MODEL_KINDS,
  MODEL_STATUSES,
  type ModelKind,
  NOTIFICATION_CHANNELS,
  NOTIFICATION_KINDS,
  type NotificationChannel,
  type NotificationKind,
  PAYOUT_METHODS,
  PAYOUT_STATES,
  type PayoutMethodKind,
  type PayoutState,
  type PlatformState,
  type PublicIncidentCause,
  type QuarantineReason,
  REQUEST_OUTCOMES,
  RESERVE_TRANSFER_KINDS,
  type RequestOutcome,
  SCRIPT_ACCESS,
  type ScriptAccess,
  SPOT_CHECK_METHODS,
  SPOT_CHECK_VERDICTS,
  type SpotCheckMethod,
  type SpotCheckVerdict,
  TEAM_ACTIONS,
  type TeamAction,
  TOP_UP_FAILURES,
  type TopUpFailure,
  TRANSFER_KINDS,
  type TransferKind,
  WITHHELD_REASONS,
  type WithheldReason,
} from "@tollgate/api/enumerations.ts";

/** The subjects of performance rollups: one account, one node, or the whole platform. */
export const PERFORMANCE_SCOPES = ["account", "node", "platform"] as const;
export const PERFORMANCE_GRAINS = ["5min", "hour", "day"] as const;

/** The kinds of sums in a month's closing entry. */
export const MONTH_CLOSING_SUM_KINDS = ["charge", "share", "fee"] as const;

/** The states of a model during an incident. */
export const INCIDENT_STATES = ["degraded", "down"] as const;
export type IncidentState = (typeof INCIDENT_STATES)[number];

/** The reasons for which a new epoch of the database's history begins. */
export const DATABASE_EPOCH_REASONS = ["first", "failover", "accepted"] as const;

/**
 * The standing that a node's record in the database holds. "Online" is not one of them: it means ready and connected,
 * and only the dispatch plane knows the connections.
 */
export const NODE_STANDINGS = [
  "registered",
  "ready",
  "paused",
  "quarantined",
  "retired",
] as const satisfies readonly NodeState[];
export type NodeStanding = (typeof NODE_STANDINGS)[number];

/** In ascending order of certainty about the money: a completed payment overrides a report that there was none. */
export const CHECKOUT_STATES = ["open", "pending", "expired", "failed", "mismatch", "paid"] as const;
export type CheckoutState = (typeof CHECKOUT_STATES)[number];

/** The ways in which a payment can be reversed. */
export const REVERSAL_KINDS = ["refund", "dispute"] as const;
export type ReversalKind = (typeof REVERSAL_KINDS)[number];

/** The kinds of ledger transfers that a checkout can cause: the purchase and its reversals. */
export const PAYMENT_TRANSFER_KINDS = ["purchase", ...REVERSAL_KINDS] as const;
export type PaymentTransferKind = (typeof PAYMENT_TRANSFER_KINDS)[number];

/** The results of processing a payment provider's event. */
export const PAYMENT_EVENT_OUTCOMES = ["applied", "waiting", "unknown", "mismatch", "ignored"] as const;
export type PaymentEventOutcome = (typeof PAYMENT_EVENT_OUTCOMES)[number];
