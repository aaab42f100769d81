/**
 * The closed sets of words that the database stores and the APIs show: states, kinds, outcomes. What an API shows is declared
 * there; what only the database knows is declared here. Where the database itself allows no other word, db/states.test.ts
 * compares the two.
 */
import type { NodeState } from "@tollgate/api/states.ts";

export {
  ACCOUNT_KINDS,
  type AccountKind,
  BUILDER_ENTRY_KINDS,
  BUILDER_NOTIFICATIONS,
  CHECK_METHODS,
  CHECK_VERDICTS,
  type CheckFinding,
  type CheckMethod,
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
  PAYOUT_STATES,
  type PayoutState,
  type PublicCause,
  REQUEST_OUTCOMES,
  RESERVE_TRANSFER_KINDS,
  type RequestOutcome,
  SCRIPT_ACCESS,
  type ScriptAccess,
  TEAM_ACTIONS,
  type TeamAction,
  TOP_UP_FAILURES,
  type TopUpFailure,
  TRANSFER_KINDS,
  type TransferKind,
  UNFUNDED_REASONS,
  type VerdictState,
  WITHHELD_REASONS,
  type WithheldReason,
} from "@tollgate/api/states.ts";

/** Whose performance is summed up, and in slots of which length. */
export const PERFORMANCE_SCOPES = ["account", "node", "platform"] as const;
export const PERFORMANCE_GRAINS = ["5min", "hour", "day"] as const;

/** What the requests of a month moved on an account. */
export const CLOSING_KINDS = ["charge", "share", "fee"] as const;

/** What an incident can be; a platform that serves has none. */
export const INCIDENT_STATES = ["degraded", "down"] as const;
export type IncidentState = (typeof INCIDENT_STATES)[number];

/** What began an epoch of the database's history. */
export const EPOCH_REASONS = ["first", "failover", "accepted"] as const;

/** Of a node's record; "online" is ready and connected, which only the dispatch plane knows. */
export const NODE_STANDINGS = [
  "registered",
  "ready",
  "paused",
  "quarantined",
  "retired",
] as const satisfies readonly NodeState[];
export type NodeStanding = (typeof NODE_STANDINGS)[number];

/** Why the platform itself puts a node into quarantine; an operator writes reasons of their own. */
const QUARANTINE_REASONS = ["failures", "speed", "canary", "refused_prompts", "spot_check"] as const;
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
