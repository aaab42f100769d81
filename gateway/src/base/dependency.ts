/** The state of services that the gateway needs but does not run. */

type DependencyName = "database" | "limits" | "plane";
const LABELS: Record<DependencyName, string> = {
  database: "database",
  limits: "limits server",
  plane: "dispatch plane",
};

/** Each adapter reports its own state; `/readyz` and the metrics read it. */
export interface Dependency {
  readonly name: DependencyName;
  /** True if it does not answer, is too slow or refuses. Only probes still reach it. */
  readonly isAway: boolean;
  /** Why it is unreachable, for operators. */
  readonly reason?: string | undefined;
  /** The latest round trip; null before the first, or without a network. */
  readonly latencyMs: number | null;
  /** Calls refused while it was unreachable, since the start; absent when not counted. */
  readonly refused?: number;
  /** Probes more often for a while, because its status was queried and probably will be again. */
  wanted?(): void;
}

/** One unreachable dependency. */
export interface Outage {
  part: DependencyName;
  /** In Unix milliseconds. */
  since: number;
  /** No request can be served without it. */
  isNeeded: boolean;
}

/** A dependency inside this process. */
export const alwaysReachable = (name: DependencyName): Dependency => ({ name, isAway: false, latencyMs: null });

/** A dependency is unreachable: the operation did not run, or its answer never came. It may be retried. */
export class Away extends Error {
  override name = "Away";
  readonly dependency: DependencyName;
  /** The operation may have run, because the outage began after it was sent. */
  readonly maybeDone: boolean;

  constructor(dependency: DependencyName, reason: string, { maybeDone = false } = {}) {
    super(`${LABELS[dependency]} is unreachable: ${reason}`);
    this.dependency = dependency;
    this.maybeDone = maybeDone;
  }
}
