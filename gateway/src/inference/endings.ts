/**
 * How a request ended, what the client is told and whether it is billed: the table of endings. Pure. A request has exactly
 * one of these.
 */
import type { DispatchResult } from "../dispatch/dispatcher.ts";
import type { FaultCode } from "../faults.ts";

export type Outcome = "ok" | "upstream_failed" | "upstream_stall" | "no_capacity" | "client_closed";

export interface Ending {
  outcome: Outcome;
  httpStatus: number;
  /** What the client is told instead of an answer. */
  fault: FaultCode | null;
  /** Prompt and output are charged, and the host that served is paid its share. */
  billed: boolean;
}

/** A status that no client ever sees: it had left. */
const CLIENT_CLOSED = 499;

export function judge(end: DispatchResult["end"], facts: { accepted: boolean; hadOutput: boolean }): Ending {
  switch (end) {
    case "finished":
    case "enough":
      return { outcome: "ok", httpStatus: 200, fault: null, billed: true };
    case "failed":
      return { outcome: "upstream_failed", httpStatus: 502, fault: "upstream_failed", billed: true };
    case "quiet":
      return { outcome: "upstream_stall", httpStatus: 502, fault: "upstream_stall", billed: facts.hadOutput };
    case "no_capacity":
      return { outcome: "no_capacity", httpStatus: 503, fault: "no_capacity", billed: false };
    case "cancelled":
      return { outcome: "client_closed", httpStatus: CLIENT_CLOSED, fault: null, billed: facts.accepted };
  }
}
