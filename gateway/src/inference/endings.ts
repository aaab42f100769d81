/**
 * The table of endings: how a request ended, the client's error, the charge, and whether the host is paid. A request has exactly one of
 * these. Pure.
 */

import { CRAWL } from "../base/node-thresholds.ts";
import type { LimitOutcome, RequestOutcome, WithheldReason } from "../base/states.ts";
import type { DispatchResult } from "../dispatch/dispatcher.ts";
import type { MedianSpeed } from "../dispatch/speeds.ts";
import type { FaultCode } from "../faults.ts";

/** A request refused by a limit did not begin; one with a lost gateway is ended by the ledger. */
type Outcome = Exclude<RequestOutcome, LimitOutcome | "gateway_lost">;

export interface Ending {
  outcome: Outcome;
  httpStatus: number;
  /** The error that the client gets instead of an answer. */
  fault: FaultCode | null;
  /** The prompt and all counted output, the prompt and the delivered output, or nothing. */
  billed: "all" | "delivered" | "nothing";
  /** The host of the node that did the work gets its share of the charge, or a reason why it is withheld, or there is no share. */
  share: "paid" | WithheldReason | "none";
}

export interface EndingFacts {
  /** A node accepted the request. */
  accepted: boolean;
  /** The attempt returned at least one token or vector. */
  hadOutput: boolean;
  /** Output was streamed, and some has reached the client. */
  reachedClient: boolean;
  /** For a client that left before the first token: whether the prompt explains the node's time so far. */
  waitExplained: boolean;
  /** For a client that left after it: whether the answer came at a normal pace, and not slowly to keep the client waiting. */
  paceExplained: boolean;
}

/** A status for records only, because the client had disconnected. */
const CLIENT_CLOSED = 499;

const OK = { outcome: "ok", httpStatus: 200, fault: null } as const;
const FAILED = { outcome: "upstream_failed", httpStatus: 502, fault: "upstream_failed" } as const;
const STALLED = { outcome: "upstream_stall", httpStatus: 502, fault: "upstream_stall" } as const;
const NO_CAPACITY = { outcome: "no_capacity", httpStatus: 503, fault: "no_capacity" } as const;
/** The platform, not the node, interrupted the request. */
const CUT_OFF = { outcome: "plane_lost", httpStatus: 502, fault: "upstream_stall" } as const;
const NOT_REACHED = { outcome: "plane_lost", httpStatus: 503, fault: "no_capacity" } as const;
/** The gateway stopped: a stream breaks off, and a request without output may be retried on another gateway. */
const STOPPED = { outcome: "gateway_stopped", httpStatus: 502, fault: "upstream_stall" } as const;
const STOPPED_EARLY = { outcome: "gateway_stopped", httpStatus: 503, fault: "no_capacity" } as const;
const CLOSED = { outcome: "client_closed", httpStatus: CLIENT_CLOSED, fault: null } as const;

const FREE = { billed: "nothing", share: "none" } as const;
const SHARED = { billed: "all", share: "paid" } as const;

/** The multiple of the usual time that an honest node may need for a prompt. */
const SLOWNESS_MAX = 3;

/**
 * Whether a node without output may still be reading the prompt: within 3 times the model's usual time to first token, scaled to a longer
 * prompt. A model without measurements explains any wait.
 */
export function explainsWait(
  { waitedMs, promptTokens }: { waitedMs: number; promptTokens: number },
  { ttftMs, ttftMsPerToken }: Pick<MedianSpeed, "ttftMs" | "ttftMsPerToken">,
): boolean {
  if (ttftMs === null) return true;
  return waitedMs <= SLOWNESS_MAX * Math.max(ttftMs, (ttftMsPerToken ?? 0) * promptTokens);
}

/**
 * Whether an answer came at a normal pace. It did not if it was very slow and below a third of the model's usual pace: then the client left
 * because of it. A model that is slow everywhere, or without measurements, explains any pace.
 */
export function explainsPace(
  { tokens, outputMs }: { tokens: number; outputMs: number },
  { tokensPerSecond }: Pick<MedianSpeed, "tokensPerSecond">,
): boolean {
  if (tokensPerSecond === null || outputMs < CRAWL.spanMsMin) return true;
  // The first token came before the timed part began.
  const pace = ((tokens - 1) * 1000) / outputMs;
  return pace >= Math.min(CRAWL.perSecond, tokensPerSecond / SLOWNESS_MAX);
}

/** `stopped`: cancelled because the gateway stops. */
export function judge(end: DispatchResult["end"] | "stopped", facts: EndingFacts): Ending {
  const { accepted, hadOutput, reachedClient, waitExplained, paceExplained } = facts;
  switch (end) {
    case "finished":
    case "enough":
      return { ...OK, ...SHARED };
    case "empty":
      // Two nodes found no output: the prompt was read, and the second node is paid for that.
      return { ...OK, ...SHARED };
    case "unconfirmed":
      return { ...OK, ...FREE };
    case "unbuilt":
      return { ...FAILED, ...FREE };
    case "failed":
      // Also when it refuses the prompt after output began.
      return { ...FAILED, billed: "all", share: "node_failed" };
    case "broken":
      // Output after a break of the protocol is worth nothing; delivered output is charged.
      return { ...FAILED, billed: reachedClient ? "delivered" : "nothing", share: "none" };
    case "quiet":
      return hadOutput ? { ...STALLED, billed: "all", share: "node_silent" } : { ...STALLED, ...FREE };
    case "cut":
      // Delivered output is good; without any the client may retry.
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
