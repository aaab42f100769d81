/**
 * How a request ended, what the client is told, what it pays and whether the host is paid: the table of endings. Pure. A
 * request has exactly one of these.
 */

import { CRAWL } from "../base/node-thresholds.ts";
import type { LimitOutcome, RequestOutcome, WithheldReason } from "../base/states.ts";
import type { DispatchResult } from "../dispatch/dispatcher.ts";
import type { MedianSpeed } from "../dispatch/speeds.ts";
import type { FaultCode } from "../faults.ts";

/** A request that a limit refuses has not begun; one whose gateway is lost is ended by the ledger. */
type Outcome = Exclude<RequestOutcome, LimitOutcome | "gateway_lost">;

export interface Ending {
  outcome: Outcome;
  httpStatus: number;
  /** What the client is told instead of an answer. */
  fault: FaultCode | null;
  /** The prompt and everything counted, the prompt and what reached the client, or nothing. */
  billed: "all" | "delivered" | "nothing";
  /** The host of the node whose work it is has its share of what is billed; or why the share is withheld; or there is none. */
  share: "paid" | WithheldReason | "none";
}

export interface Facts {
  /** A node accepted the request. */
  accepted: boolean;
  /** It gave one token, or one vector, or more. */
  hadOutput: boolean;
  /** Output went to the client as it came, and some has reached it. */
  reachedClient: boolean;
  /** Of a client that left before the first token: whether the prompt explains how long the node had been at it. */
  waitExplained: boolean;
  /** Of a client that left after it: whether the answer came at the pace of a model, and not word by word to hold the client. */
  paceExplained: boolean;
}

/** A status that no client ever sees: it had left. */
const CLIENT_CLOSED = 499;

const OK = { outcome: "ok", httpStatus: 200, fault: null } as const;
const FAILED = { outcome: "upstream_failed", httpStatus: 502, fault: "upstream_failed" } as const;
const STALLED = { outcome: "upstream_stall", httpStatus: 502, fault: "upstream_stall" } as const;
const NO_CAPACITY = { outcome: "no_capacity", httpStatus: 503, fault: "no_capacity" } as const;
/** What kept the request from its answer was ours, not the node's. */
const CUT_OFF = { outcome: "plane_lost", httpStatus: 502, fault: "upstream_stall" } as const;
const NOT_REACHED = { outcome: "plane_lost", httpStatus: 503, fault: "no_capacity" } as const;
/** The gateway itself could wait no longer: a stream breaks off, what has brought nothing may be asked of another gateway. */
const STOPPED = { outcome: "gateway_stopped", httpStatus: 502, fault: "upstream_stall" } as const;
const STOPPED_EARLY = { outcome: "gateway_stopped", httpStatus: 503, fault: "no_capacity" } as const;
const CLOSED = { outcome: "client_closed", httpStatus: CLIENT_CLOSED, fault: null } as const;

const FREE = { billed: "nothing", share: "none" } as const;
const SHARED = { billed: "all", share: "paid" } as const;

/** How many times the usual an honest node may take for a prompt. */
const SLOWNESS_MAX = 3;

/**
 * Whether a node that has not begun to answer may still be reading the prompt: within 3 times the model's own time to first token, for a
 * prompt of this length where that is more. Of a model that no one has measured yet there is nothing to say against it.
 */
export function explainsWait(
  { waitedMs, promptTokens }: { waitedMs: number; promptTokens: number },
  { ttftMs, ttftMsPerToken }: Pick<MedianSpeed, "ttftMs" | "ttftMsPerToken">,
): boolean {
  if (ttftMs === null) return true;
  return waitedMs <= SLOWNESS_MAX * Math.max(ttftMs, (ttftMsPerToken ?? 0) * promptTokens);
}

/**
 * Whether an answer so far came at the pace of a model. One that crawls, and at less than a third of the model's own pace, did not: its
 * client left because of it. A model that is slow everywhere, or that no one has measured yet, explains any pace.
 */
export function explainsPace(
  { tokens, outputMs }: { tokens: number; outputMs: number },
  { tokensPerSecond }: Pick<MedianSpeed, "tokensPerSecond">,
): boolean {
  if (tokensPerSecond === null || outputMs < CRAWL.spanMsMin) return true;
  // The first token came before the clock of the rest started.
  const pace = ((tokens - 1) * 1000) / outputMs;
  return pace >= Math.min(CRAWL.perSecond, tokensPerSecond / SLOWNESS_MAX);
}

/** `stopped`: cancelled, because the gateway stops. */
export function judge(end: DispatchResult["end"] | "stopped", facts: Facts): Ending {
  const { accepted, hadOutput, reachedClient, waitExplained, paceExplained } = facts;
  switch (end) {
    case "finished":
    case "enough":
      return { ...OK, ...SHARED };
    case "empty":
      // Two nodes found that there is nothing to say: the prompt was read, and the second is paid for having read it.
      return { ...OK, ...SHARED };
    case "unconfirmed":
      return { ...OK, ...FREE };
    case "unbuilt":
      return { ...FAILED, ...FREE };
    case "failed":
      // Also where it refuses the prompt after it has begun to answer.
      return { ...FAILED, billed: "all", share: "node_failed" };
    case "broken":
      // What a node says after it broke the protocol is worth nothing; what the client has, it has.
      return { ...FAILED, billed: reachedClient ? "delivered" : "nothing", share: "none" };
    case "quiet":
      return hadOutput ? { ...STALLED, billed: "all", share: "node_silent" } : { ...STALLED, ...FREE };
    case "cut":
      // What the client has of it is good; without any it may ask again.
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
