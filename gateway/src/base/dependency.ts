/** The state of services that the gateway needs but does not run, such as the database. */

type DependencyName = "database" | "limits" | "plane";
const LABELS: Record<DependencyName, string> = {
  database: "database",
  limits: "limits server",
  plane: "dispatch plane",
};

/** A dependency reports its own state. `/readyz` and the metrics show it. */
export interface Dependency {
  readonly name: DependencyName;
  /** Whether it is unreachable: it does not answer, is too slow, or refuses. Then only probes are sent to it. */
  readonly isAway: boolean;
  /** The reason for the outage, for operators. */
  readonly reason?: string | undefined;
  /** The latest round-trip time. Null before the first probe, or if no network is involved. */
  readonly latencyMs: number | null;
  /** The number of calls refused since the start because it was unreachable. Absent: not counted. */
  readonly refused?: number;
  /** Probes more often for a while, because a query of the status is usually followed by more. */
  wanted?(): void;
}

/** The outage of one dependency. */
export interface Outage {
  part: DependencyName;
  /** The start in Unix milliseconds. */
  since: number;
  /** Whether no request can be served during the outage. */
  isNeeded: boolean;
}

/** A dependency inside this process, which is always reachable. */
export const createReachableDependency = (name: DependencyName): Dependency => ({
  name,
  isAway: false,
  latencyMs: null,
});

/** Thrown when a dependency is unreachable: the operation did not run, or its answer never came. It may be retried. */
export class UnreachableError extends Error {
  override name = "Away";
  readonly dependency: DependencyName;
  /** Whether the operation may have run, because the outage began after it was sent. */
  readonly maybeDone: boolean;

  constructor(dependency: DependencyName, reason: string, { maybeDone = false } = {}) {
    super(`${LABELS[dependency]} is unreachable: ${reason}`);
    this.dependency = dependency;
    this.maybeDone = maybeDone;
  }
}
