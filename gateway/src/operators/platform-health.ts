/**
 * Reads the data from which judge-platform-health.ts judges the platform's state. Operators' pages, the status page and
 * incidents use the result.
 */
import type { Outage } from "../base/dependency.ts";
import { DAY_MS } from "../base/time.ts";
import type { Incident, ModelAvailability } from "../history/model-availability.ts";
import { judgePlatformHealth, type PlatformHealth } from "./judge-platform-health.ts";

/** A model that no node served for this long does not count as missing. */
const SERVED_MS = 30 * DAY_MS;
/** How long the list of recently served models is cached. */
const SERVED_KEPT_MS = 60_000;
const INCIDENTS_MAX = 200;

interface Sources {
  availability: Pick<ModelAvailability, "sums" | "incidents">;
  /** The number of connected nodes for every active model. */
  capacity: () => { model: string; nodes: number }[];
  outages: { now(): Outage[] };
}

export interface CurrentPlatformHealth extends PlatformHealth {
  capacity: { model: string; nodes: number }[];
  /** Models that a node served recently. */
  served: ReadonlySet<string>;
}

export interface PlatformHealthReader {
  read(nowMs: number): Promise<CurrentPlatformHealth>;
  /** Judges from cached data, for use while the database is unreachable. */
  remembered(): CurrentPlatformHealth;
}

export function createPlatformHealthReader({ availability, capacity, outages }: Sources): PlatformHealthReader {
  let open: Incident[] = [];
  let served: { readMs: number; models: ReadonlySet<string> } | undefined;
  const readServed = async (nowMs: number): Promise<void> => {
    if (served !== undefined && Math.abs(nowMs - served.readMs) < SERVED_KEPT_MS) return;
    const [from, to] = [new Date(nowMs - SERVED_MS), new Date(nowMs)];
    const sums = await availability.sums({ slotMs: SERVED_MS, from, to });
    served = { readMs: nowMs, models: new Set(sums.filter(({ up }) => up > 0).map(({ model }) => model)) };
  };
  const remembered = (): CurrentPlatformHealth => {
    const models = capacity();
    const seen = {
      outages: outages.now(),
      capacity: models,
      served: served?.models ?? new Set<string>(),
      incidents: open.filter(({ model }) => models.some((one) => one.model === model)),
    };
    return { ...judgePlatformHealth(seen), capacity: models, served: seen.served };
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
