/**
 * Reads the data from which judge-platform.ts judges the platform's state. Operators' pages, the status page and
 * incidents use the result.
 */
import type { Outage } from "../base/dependency.ts";
import { DAY_MS } from "../base/time.ts";
import type { Availability, Incident } from "../history/availability.ts";
import { judgePlatform, type PlatformVerdict } from "./judge-platform.ts";

/** A model that no node served for this long does not count as missing. */
const SERVED_MS = 30 * DAY_MS;
/** How long the list of recently served models is cached. */
const SERVED_KEPT_MS = 60_000;
const INCIDENTS_MAX = 200;

interface Sources {
  availability: Pick<Availability, "sums" | "incidents">;
  /** The number of connected nodes for every active model. */
  capacity: () => { model: string; nodes: number }[];
  outages: { now(): Outage[] };
}

export interface CurrentPlatformVerdict extends PlatformVerdict {
  capacity: { model: string; nodes: number }[];
  /** Models that a node served recently. */
  served: ReadonlySet<string>;
}

export interface PlatformVerdicts {
  read(nowMs: number): Promise<CurrentPlatformVerdict>;
  /** Judges from cached data, for use while the database is unreachable. */
  remembered(): CurrentPlatformVerdict;
}

export function createPlatformVerdicts({ availability, capacity, outages }: Sources): PlatformVerdicts {
  let open: Incident[] = [];
  let served: { readMs: number; models: ReadonlySet<string> } | undefined;
  const readServed = async (nowMs: number): Promise<void> => {
    if (served !== undefined && Math.abs(nowMs - served.readMs) < SERVED_KEPT_MS) return;
    const [from, to] = [new Date(nowMs - SERVED_MS), new Date(nowMs)];
    const sums = await availability.sums({ slotMs: SERVED_MS, from, to });
    served = { readMs: nowMs, models: new Set(sums.filter(({ up }) => up > 0).map(({ model }) => model)) };
  };
  const remembered = (): CurrentPlatformVerdict => {
    const models = capacity();
    const seen = {
      outages: outages.now(),
      capacity: models,
      served: served?.models ?? new Set<string>(),
      incidents: open.filter(({ model }) => models.some((one) => one.model === model)),
    };
    return { ...judgePlatform(seen), capacity: models, served: seen.served };
  };
  return {
    async read(nowMs) {
      const [, incidents] = await Promise.all([
        readServed(nowMs),
        availability.incidents({ from: new Date(nowMs), limit: INCIDENTS_MAX }),
      ]);
      open = incidents.filter(({ endedAt }) => endedAt === null);
      return remembered();
    },
    remembered,
  };
}
