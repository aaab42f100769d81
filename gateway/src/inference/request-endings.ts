/**
 * The table of endings: how a request ended, the error for the client, the charge, and whether the host is paid. Each
 * request has exactly one ending. Pure functions.
 */

import { SLOW_STREAM } from "../base/node-trust-thresholds.ts";
import type { LimitOutcome, RequestOutcome, WithheldReason } from "../base/stored-enumerations.ts";
import type { DispatchResult } from "../dispatch/dispatch-result.ts";
import type { MedianSpeed } from "../dispatch/node-speeds.ts";
import type { FaultCode } from "../faults.ts";

/**
 * Not included: requests refused by a limit, which do not begin, and requests of a crashed gateway, which the ledger
 * ends.
 */
type Outcome = Exclude<RequestOutcome, LimitOutcome | "gateway_lost">;

export interface RequestEnding {
  outcome: Outcome;
  httpStatus: number;
  /** The error for the client; null if the client gets the answer. */
  fault: FaultCode | null;
  /** The billed tokens: the prompt and all counted output, the prompt and the delivered output, or nothing. */
  billed: "all" | "delivered" | "nothing";
  /**
   * What happens to the host's share of the charge: paid to the host whose node did the work, withheld for this reason,
   * or none.
   */
  share: "paid" | WithheldReason | "none";
}

export interface EndingCircumstances {
  /** Whether a node accepted the request. */
  accepted: boolean;
  /** Whether the attempt returned at least one token or vector. */
  hadOutput: boolean;
  /** Whether output was streamed, and some has reached the client. */
  reachedClient: boolean;
  /** If the client disconnected before the first token: whether the prompt's length explains the node's time so far. */
  waitExplained: boolean;
  /** If the client disconnected after the first token: whether the answer came at a normal pace. */
  paceExplained: boolean;
}

/** A status that is only recorded, because the client has disconnected. */
const CLIENT_CLOSED = 499;

const OK = { outcome: "ok", httpStatus: 200, fault: null } as const;
const FAILED = { outcome: "upstream_failed", httpStatus: 502, fault: "upstream_failed" } as const;
const STALLED = { outcome: "upstream_stall", httpStatus: 502, fault: "upstream_stall" } as const;
const NO_CAPACITY = { outcome: "no_capacity", httpStatus: 503, fault: "no_capacity" } as const;
/** Endings of requests that the platform interrupted, and not the node. */
const CUT_OFF = { outcome: "plane_lost", httpStatus: 502, fault: "upstream_stall" } as const;
const NOT_REACHED = { outcome: "plane_lost", httpStatus: 503, fault: "no_capacity" } as const;
/**
 * Endings when the gateway stops: a stream breaks off, and a request without output may be retried on another gateway.
 */
const STOPPED = { outcome: "gateway_stopped", httpStatus: 502, fault: "upstream_stall" } as const;
const STOPPED_EARLY = { outcome: "gateway_stopped", httpStatus: 503, fault: "no_capacity" } as const;
const CLOSED = { outcome: "client_closed", httpStatus: CLIENT_CLOSED, fault: null } as const;

const FREE = { billed: "nothing", share: "none" } as const;
const SHARED = { billed: "all", share: "paid" } as const;

/** How many times the usual time an honest node may need. */
const SLOWNESS_MAX = 3;

/**
 * Whether a node without output may still be reading the prompt: within 3 times the model's usual time to first token,
 * scaled up for a longer prompt. Without measurements of the model, any wait counts as normal.
 */
export function isNormalWait(
  { waitedMs, promptTokens }: { waitedMs: number; promptTokens: number },
  { ttftMs, ttftMsPerToken }: Pick<MedianSpeed, "ttftMs" | "ttftMsPerToken">,
): boolean {
  if (ttftMs === null) return true;
  return waitedMs <= SLOWNESS_MAX * Math.max(ttftMs, (ttftMsPerToken ?? 0) * promptTokens);
}

/**
 * Whether an answer came at a normal pace. If it was very slow and below a third of the model's usual pace, the client
 * probably left because of that. For a model that is slow on all nodes or not measured, any pace counts as normal.
 */
export function isNormalPace(
  { tokens, outputMs }: { tokens: number; outputMs: number },
  { tokensPerSecond }: Pick<MedianSpeed, "tokensPerSecond">,
): boolean {
  if (tokensPerSecond === null || outputMs < SLOW_STREAM.spanMsMin) return true;
  // The measured time starts with the first token, so that token is not counted.
  const pace = ((tokens - 1) * 1000) / outputMs;
  return pace >= Math.min(SLOW_STREAM.perSecond, tokensPerSecond / SLOWNESS_MAX);
}

/** The ending of a request. The end `stopped` means that the request was cancelled because the gateway stops. */
export function decideEnding(end: DispatchResult["end"] | "stopped", facts: EndingCircumstances): RequestEnding {
  const { accepted, hadOutput, reachedClient, waitExplained, paceExplained } = facts;
  switch (end) {
    case "finished":
    case "enough":
      return { ...OK, ...SHARED };
    case "empty":
      // Both nodes returned no output. The prompt was read, and the second node is paid for that.
      return { ...OK, ...SHARED };
    case "unconfirmed":
      return { ...OK, ...FREE };
    case "unbuilt":
      return { ...FAILED, ...FREE };
    case "failed":
      // The node failed, or it refused the prompt after output began.
      return { ...FAILED, billed: "all", share: "node_failed" };
    case "broken":
      // Output that comes after a protocol violation is not charged; output delivered before is.
      return { ...FAILED, billed: reachedClient ? "delivered" : "nothing", share: "none" };
    case "quiet":
      return hadOutput ? { ...STALLED, billed: "all", share: "node_silent" } : { ...STALLED, ...FREE };
    case "cut":
      // Delivered output is charged and paid. Without any, the client may retry.
      return reachedClient ? { ...CUT_OFF, billed: "delivered", share: "paid" } : { ...NOT_REACHED, ...FREE };
    case "no_capacity":
      return { ...NO_CAPACITY, ...FREE };
    case "stopped":
      return reachedClient ? { ...STOPPED, billed: "delivered", share: "paid" } : { ...STOPPED_EARLY, ...FREE };
    case "cancelled":
      if (!accepted) return { ...CLOSED, ...FREE };
      if (hadOutput) return { ...CLOSED, billed: "all", share: paceExplained ? "paid" : "node_silent" };
      return { ...CLOSED, billed: "all", share: waitExplained ? "paid" : "no_first_token" };
  }
}
