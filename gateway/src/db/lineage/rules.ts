/**
 * Which database a gateway may use, decided from the furthest history it has seen. Pure.
 *
 * Four things identify a history: the system identifier of the PostgreSQL cluster, its timeline (a promoted standby begins a new
 * one), the epoch that gateways began in `ledger_history`, and the position to which heartbeats moved it. All but the first only move
 * forward.
 */

export interface History {
  system: string;
  timeline: number;
  epoch: string;
  position: number;
}

/** The history that a connection reports. On a server that was just promoted, the epoch is an older one. */
export interface FoundHistory extends History {
  /** An operator ordered gateways to follow this history (`tollgate admin history accept`). */
  accepted: boolean;
}

type Judgement =
  /** The history that the gateway follows. */
  | { kind: "same" }
  /** A new timeline or an accepted copy of the history. Commits may be missing there. */
  | { kind: "moved" }
  | { kind: "refused"; why: string };

const refused = (why: string): Judgement => ({ kind: "refused", why });

/** `heardTimeline`: the highest timeline of that system that another gateway or connection has reported. */
export function judgeHistory(seen: History | undefined, found: FoundHistory, heardTimeline = 0): Judgement {
  if (seen === undefined) return { kind: "same" };
  if (found.accepted && found.epoch > seen.epoch) return { kind: "moved" };
  if (found.system !== seen.system)
    return refused(`it is another PostgreSQL cluster (system identifier ${found.system}, expected ${seen.system})`);
  const timeline = Math.max(seen.timeline, heardTimeline);
  if (found.timeline < timeline)
    return refused(`it is an old primary (timeline ${found.timeline}, and timeline ${timeline} exists)`);
  if (found.timeline > seen.timeline) return { kind: "moved" };
  if (found.epoch !== seen.epoch)
    return refused(`it is another copy of timeline ${found.timeline} (epoch ${found.epoch}, expected ${seen.epoch})`);
  if (found.position < seen.position)
    return refused(`its history moved back without a failover (position ${found.position}, expected ${seen.position})`);
  return { kind: "same" };
}

/** How far the database is behind, at about one position per second. `known`: the recorded position of the last seen epoch. */
export const lostPositions = (seen: History, known: number | null): number =>
  known === null ? Math.max(1, seen.position) : Math.max(0, seen.position - known);
