/**
 * Decides whether a gateway may use a database, by comparing the database's history with the latest one that the
 * gateway has seen. Pure.
 *
 * Four values identify a history: the system identifier of the PostgreSQL cluster, its timeline (a promoted standby
 * begins a new one), the epoch that gateways started in `ledger_history`, and the position to which heartbeats moved
 * it. All but the first only increase.
 */

export interface DatabaseHistory {
  system: string;
  timeline: number;
  epoch: string;
  position: number;
}

/** The history that a connection reports. On a server that was just promoted, the epoch is still an older one. */
export interface ReportedHistory extends DatabaseHistory {
  /** Whether an operator ordered gateways to follow this history (`tollgate admin history accept`). */
  accepted: boolean;
}

type Judgement =
  /** The history that the gateway already follows. */
  | { kind: "same" }
  /** The history continues on a new timeline, or in an accepted copy. Commits may be missing there. */
  | { kind: "moved" }
  | { kind: "refused"; why: string };

const refused = (why: string): Judgement => ({ kind: "refused", why });

/**
 * Compares the histories. `heardTimeline`: the highest timeline of that PostgreSQL cluster that another gateway or
 * connection has reported.
 */
export function judgeHistory(seen: DatabaseHistory | undefined, found: ReportedHistory, heardTimeline = 0): Judgement {
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

/**
 * How many positions the database is behind, at about one position per second. `known`: the position that this database
 * has for the epoch that the gateway saw last. Null: the database does not have that epoch.
 */
export const countLostHistoryPositions = (seen: DatabaseHistory, known: number | null): number =>
  known === null ? Math.max(1, seen.position) : Math.max(0, seen.position - known);
