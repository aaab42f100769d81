/** What the gateway needs and does not run itself: whether it is there. */

type DependencyName = "database" | "limits" | "plane";
const LABELS: Record<DependencyName, string> = {
  database: "database",
  limits: "limits server",
  plane: "dispatch plane",
};

/** Each adapter tells of its own; `/readyz` and the metrics read it. */
export interface Dependency {
  readonly name: DependencyName;
  /** It does not answer, is slow beyond use or refuses; asking it again is left to probes. */
  readonly isAway: boolean;
  /** Why it is unreachable, for operators. */
  readonly reason?: string | undefined;
  /** The last measured round trip; null where there was none, or nothing travels. */
  readonly latencyMs: number | null;
  /** Asks that were refused because it was unreachable, since the start; not told where no one counts them. */
  readonly refused?: number;
  /** Someone is told how it is, and will ask again: it is looked after more closely for a while. */
  wanted?(): void;
}

/** One of them is unreachable. */
export interface Outage {
  part: DependencyName;
  /** In Unix milliseconds. */
  since: number;
  /** Without it no request can be served. */
  isNeeded: boolean;
}

/** Of something that lives in this process. */
export const alwaysThere = (name: DependencyName): Dependency => ({ name, isAway: false, latencyMs: null });

/** Something we need is unreachable: what was asked was not done, or its answer never came. It may be asked again. */
export class Away extends Error {
  override name = "Away";
  readonly dependency: DependencyName;
  /** It was asked, and became unreachable before it answered. */
  readonly maybeDone: boolean;

  constructor(dependency: DependencyName, reason: string, { maybeDone = false } = {}) {
    super(`${LABELS[dependency]} is unreachable: ${reason}`);
    this.dependency = dependency;
    this.maybeDone = maybeDone;
  }
}
