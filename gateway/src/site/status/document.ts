/** The status as a document, of what is in the rollups and what is connected now. Pure. */
import type { publicRoutes } from "@tollgate/api/public/routes.ts";
import type { JsonOf } from "@tollgate/api/route.ts";
import type { ModelState } from "@tollgate/api/states.ts";
import type { AvailabilitySum, Incident } from "../../history/availability.ts";
import type { PerformanceSum, Slots } from "../../history/performance.ts";
import type { CatalogueEntry } from "../../metering/catalogue.ts";
import { availabilityOf, measuredOf, REQUESTS_MIN, sumOf } from "../../routes/measured.ts";
import type { ConnectedNodes } from "../../routes/nodes/parts.ts";
import { factsOf } from "../../routes/openai/catalogue.ts";

export type Status = JsonOf<typeof publicRoutes.readStatus>;

/** By day and model. */
export interface Days {
  performance: PerformanceSum[];
  samples: AvailabilitySum[];
}

interface Known {
  /** In milliseconds. */
  at: number;
  sampleEveryMs: number;
  slots: Slots;
  days: Days;
  incidents: Incident[];
  entries: CatalogueEntry[];
  nodes: Pick<ConnectedNodes, "speedOf" | "capacityOf">;
}

export function statusOf({ at, sampleEveryMs, slots, days, incidents, entries, nodes }: Known): Status {
  const offered = entries.filter(({ status }) => status === "active");
  const shown = incidents.filter(({ model }) => offered.some(({ id }) => id === model));
  const failing = new Set(
    shown.filter(({ kind, endedAt }) => kind === "errors" && endedAt === null).map((one) => one.model),
  );
  const performance = Map.groupBy(days.performance, ({ model }) => model);
  const samples = Map.groupBy(days.samples, ({ model }) => model);
  return {
    object: "status",
    at: seconds(new Date(at)),
    stale: false,
    sample_seconds: sampleEveryMs / 1000,
    models: offered.map((entry) => {
      const own = { performance: performance.get(entry.id) ?? [], samples: samples.get(entry.id) ?? [] };
      return {
        id: entry.id,
        kind: entry.kind,
        now: nowOf(entry, nodes, failing.has(entry.id)),
        availability: availabilityOf(sumOf(own.samples)),
        days: daysOf(entry, slots, own),
      };
    }),
    incidents: shown.map(({ model, kind, beganAt, endedAt }) => ({
      model,
      kind,
      from: seconds(beganAt),
      to: endedAt && seconds(endedAt),
    })),
  };
}

function nowOf(entry: CatalogueEntry, { speedOf, capacityOf }: Known["nodes"], isFailing: boolean) {
  const { ttft_p50_ms, tps_p50 } = factsOf(entry, speedOf(entry.id));
  const state: ModelState = capacityOf(entry.id).nodes === 0 ? "unavailable" : isFailing ? "degraded" : "available";
  return { state, ttft_p50_ms: entry.kind === "embedding" ? null : ttft_p50_ms, tokens_per_second: tps_p50 };
}

function daysOf(entry: CatalogueEntry, { from, to, slotMs }: Slots, { performance, samples }: Days) {
  const days: Status["models"][number]["days"] = [];
  for (let at = from.getTime(); at < to.getTime(); at += slotMs) {
    const found = performance.find(({ slot }) => slot?.getTime() === at);
    const { availability, failed_share, ttft_p50_ms, tokens_per_second } = measuredOf(entry, {
      performance: (found?.requests ?? 0) < REQUESTS_MIN ? undefined : found,
      samples: samples.find(({ slot }) => slot.getTime() === at),
    });
    const day = new Date(at).toISOString().slice(0, 10);
    days.push({ day, availability, failed_share, ttft_p50_ms, tokens_per_second });
  }
  return days;
}

const seconds = (moment: Date): number => Math.floor(moment.getTime() / 1000);
