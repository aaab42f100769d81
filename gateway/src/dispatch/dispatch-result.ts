/** How a dispatched request ended: which node served it, and when. */
import type { Uuid } from "../base/ids.ts";
import type { AttemptEnd } from "../base/stored-enumerations.ts";
import type { NodeRecord } from "./node-records.ts";
import type { Attempt } from "./running-attempt.ts";

export interface DispatchResult {
  /**
   * `enough`: the sink needed no more output, so the node was stopped. `empty`: no output, confirmed by a second node.
   * `unconfirmed`: no output, and no other node could confirm that. `unbuilt`: the engine could not build a grammar
   * from the output format. `broken`: the node broke the protocol. `cut`: the dispatch plane lost a node that was well,
   * and the request could not be retried in time.
   */
  end:
    | "finished"
    | "enough"
    | "empty"
    | "unconfirmed"
    | "failed"
    | "unbuilt"
    | "broken"
    | "quiet"
    | "cut"
    | "no_capacity"
    | "cancelled";
  finish: "stop" | "length" | null;
  /** The node that did the work and may be paid; null if no node accepted, or its attempt was abandoned. */
  server: NodeRecord | null;
  /** How many nodes accepted the request. */
  attempts: number;
  /** Every attempt, if there was more than one. */
  tries?: AttemptTimes[];
  /**
   * The milliseconds from the start of dispatch to the acceptance (`queueMs`) and to the first output, for the attempt
   * that produced the result.
   */
  queueMs: number | null;
  ttftMs: number | null;
  /**
   * The times of the attempt that produced the result, counted from its own offer, to measure the node's speed. Null if
   * there was no output.
   */
  pace: Pace | null;
  /**
   * True for a job of the platform itself (`runOn`). It earns the node no trust, because no user asked for the answer.
   */
  own?: boolean;
}

/** All times in whole milliseconds since the start of dispatch. */
export interface AttemptTimes {
  nodeId: Uuid;
  end: AttemptEnd;
  offeredMs: number;
  acceptedMs: number | null;
  firstOutputMs: number | null;
  endedMs: number;
}

interface Pace {
  nodeId: string;
  /** The milliseconds from the offer to the first output, and to the last. */
  ttftMs: number;
  spanMs: number;
  /** The milliseconds between the first output and the last. */
  outputMs: number;
}

/** How the request ends if this is its last attempt. */
export function findDispatchEnd({ state, enough, unbuilt }: Attempt): DispatchResult["end"] {
  if (enough) return "enough";
  if (unbuilt) return "unbuilt";
  if (state === "lost" || state === "expired") return "quiet";
  return state as Exclude<AttemptEnd, "lost" | "expired" | "declined">;
}

export function makeDispatchResult(
  end: DispatchResult["end"],
  attempt: Attempt | undefined,
  { startedAt, accepted }: { startedAt: number; accepted: number },
): DispatchResult {
  const since = (at: number | null | undefined): number | null => (at == null ? null : at - startedAt);
  return {
    end,
    finish: attempt?.finish ?? null,
    server: attempt?.acceptedAt == null ? null : attempt.node.nodeRecord,
    attempts: accepted,
    queueMs: since(attempt?.acceptedAt),
    ttftMs: since(attempt?.firstOutputAt),
    pace: attempt === undefined ? null : paceOf(attempt),
  };
}

function paceOf(attempt: Attempt): Pace | null {
  const { node, stream, offeredAt, acceptedAt, firstOutputAt, lastOutputAt } = attempt;
  if (acceptedAt === null || firstOutputAt === null || lastOutputAt === null) return null;
  return {
    nodeId: node.id,
    ttftMs: firstOutputAt - offeredAt,
    spanMs: lastOutputAt - offeredAt,
    // An unstreamed answer arrives in few large pieces. Its time is counted from the acceptance, because generating the
    // first piece took time too.
    outputMs: lastOutputAt - (stream ? firstOutputAt : acceptedAt),
  };
}
