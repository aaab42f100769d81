/** Builds the status document from rollups and connected nodes, as a pure function. */

import type { IncidentCause, ModelState, PublicIncidentCause } from "@tollgate/api/enumerations.ts";
import type { publicRoutes } from "@tollgate/api/public/routes.ts";
import type { ResponseJsonOf } from "@tollgate/api/route-declaration.ts";
import { publicId } from "../../base/ids.ts";
import { toUnixSeconds } from "../../base/time.ts";
import type { AvailabilitySum } from "../../history/model-availability.ts";
import type { PerformanceSum, TimeSlots } from "../../history/performance-reader.ts";
import type { CatalogueEntry } from "../../metering/catalogue.ts";
import type { Incident } from "../../operators/incidents/incident-records.ts";
import type { CurrentPlatformHealth } from "../../operators/platform-health.ts";
import {
  computeAvailability,
  ERROR_SHARE_REQUESTS_MIN,
  measuredPerformanceObject,
  sumSamples,
} from "../../routes/measured-performance.ts";
import type { ConnectedNodes } from "../../routes/nodes/services.ts";
import { modelDetailsObject } from "../../routes/openai/catalogue.ts";

export type Status = ResponseJsonOf<typeof publicRoutes.readStatus>;

/** Sums of the requests' performance and of the models' availability, with one row for each day and model. */
export interface DailyRows {
  performance: PerformanceSum[];
  samples: AvailabilitySum[];
}

interface Known {
  /** The time of the status in Unix milliseconds. */
  at: number;
  sampleEveryMs: number;
  slots: TimeSlots;
  days: DailyRows;
  verdict: CurrentPlatformHealth;
  incidents: Incident[];
  entries: CatalogueEntry[];
  nodes: Pick<ConnectedNodes, "speedOf">;
}

export function buildStatus(known: Known): Status {
  const { at, sampleEveryMs, slots, days, verdict, incidents, entries, nodes } = known;
  const offered = entries.filter(({ status }) => status === "active");
  const shown = incidents.filter(({ model }) => model === null || offered.some(({ id }) => id === model));
  const performance = Map.groupBy(days.performance, ({ model }) => model);
  const samples = Map.groupBy(days.samples, ({ model }) => model);
  return {
    object: "status",
    ...verdictOf(verdict, shown.map(incidentObject), at),
    at: Math.floor(at / 1000),
    stale: false,
    sample_seconds: sampleEveryMs / 1000,
    models: offered.map((entry) => {
      const own = { performance: performance.get(entry.id) ?? [], samples: samples.get(entry.id) ?? [] };
      return {
        id: entry.id,
        kind: entry.kind,
        now: { state: stateOf(entry.id, verdict), ...speedsOf(entry, nodes) },
        availability: computeAvailability(sumSamples(own.samples)),
        days: daysOf(entry, slots, own),
      };
    }),
    incidents: shown.map(incidentObject),
  };
}

/** The last complete status, updated with this gateway's current view of the nodes. */
export function updateStaleStatus(last: Status, verdict: CurrentPlatformHealth, atMs: number): Status {
  return {
    ...last,
    ...verdictOf(verdict, last.incidents, atMs),
    stale: true,
    models: last.models.map((model) => ({ ...model, now: { ...model.now, state: stateOf(model.id, verdict) } })),
  };
}

function verdictOf(verdict: CurrentPlatformHealth, incidents: Status["incidents"], atMs: number) {
  const { state, causes } = verdict;
  const isSame = ({ model, to }: Status["incidents"][number]) =>
    to === null && (state === "degraded" || model === null);
  const begins = [
    ...incidents.filter(isSame).map(({ from }) => from),
    ...causes.flatMap(({ since }) => (since === null ? [] : Math.floor(since / 1000))),
  ];
  const since = state === "serving" || begins.length === 0 ? null : Math.min(...begins);
  return { as_of: Math.floor(atMs / 1000), state, since };
}

const KINDS: Record<IncidentCause, PublicIncidentCause> = {
  database: "internal",
  limits: "internal",
  plane: "internal",
  stopped: "stopped",
  no_capacity: "unavailable",
  errors: "errors",
};

const incidentObject = ({ id, model, state, cause, beganAt, endedAt, updates }: Incident) => ({
  id: publicId("inc", id),
  model,
  state,
  kind: KINDS[cause],
  from: toUnixSeconds(beganAt),
  to: endedAt && toUnixSeconds(endedAt),
  updates: updates.map(({ at, text }) => ({ at: toUnixSeconds(at), text })),
});

/** A model without a connected node is unavailable, even if no node ever served it. */
function stateOf(model: string, verdict: CurrentPlatformHealth): ModelState {
  const isServed = verdict.capacity.some((one) => one.model === model && one.nodes > 0);
  if (verdict.state === "down" || !isServed) return "unavailable";
  const isFailing = verdict.causes.some((cause) => cause.code === "errors" && cause.models.includes(model));
  return isFailing ? "degraded" : "available";
}

function speedsOf(entry: CatalogueEntry, { speedOf }: Known["nodes"]) {
  const { ttft_p50_ms, tps_p50 } = modelDetailsObject(entry, speedOf(entry.id));
  return { ttft_p50_ms: entry.kind === "embedding" ? null : ttft_p50_ms, tokens_per_second: tps_p50 };
}

function daysOf(entry: CatalogueEntry, { from, to, slotMs }: TimeSlots, { performance, samples }: DailyRows) {
  const days: Status["models"][number]["days"] = [];
  for (let at = from.getTime(); at < to.getTime(); at += slotMs) {
    const found = performance.find(({ slot }) => slot?.getTime() === at);
    const { availability, failed_share, ttft_p50_ms, tokens_per_second } = measuredPerformanceObject(entry, {
      performance: (found?.requests ?? 0) < ERROR_SHARE_REQUESTS_MIN ? undefined : found,
      samples: samples.find(({ slot }) => slot.getTime() === at),
    });
    const day = new Date(at).toISOString().slice(0, 10);
    days.push({ day, availability, failed_share, ttft_p50_ms, tokens_per_second });
  }
  return days;
}
