/**
 * The public status, built on demand and at most every ten seconds. While the database does not answer, the last status
 * is served with the platform's current state.
 */
import { isDatabaseUnreachable } from "../../db/errors.ts";
import { computeTimeSlots } from "../../history/performance-reader.ts";
import type { HistoryServices } from "../../history/services.ts";
import type { InferenceServices } from "../../inference/services.ts";
import { createPlatformHealthReader } from "../../operators/platform-health.ts";
import type { OperatorServices } from "../../operators/services.ts";
import { INCIDENTS_MAX } from "../../routes/console/operator/incidents.ts";
import { sumCapacityByModel } from "../../routes/console/operator/overview.ts";
import type { NodeServices } from "../../routes/nodes/services.ts";
import type { SiteServices } from "../../routes/services.ts";
import { buildStatus, type DailyRows, type Status, updateStaleStatus } from "./status-document.ts";

const MADE_EVERY_MS = 10_000;
/** How long sums of past days are reused. They only change when a request that began on such a day ends later. */
const PAST_KEPT_MS = 600_000;
/** How long a caller waits for a slow database. */
const WAIT_MAX_MS = 2_000;

export type StatusParts = Pick<HistoryServices, "availability"> &
  Pick<InferenceServices, "catalogue"> &
  Pick<NodeServices, "nodes"> &
  Pick<OperatorServices, "incidents"> &
  Pick<SiteServices, "status" | "outages"> & {
    performance: Pick<HistoryServices["performance"], "sums">;
    door: Pick<SiteServices["door"], "clock" | "log">;
  };

export function openStatusReader({
  availability,
  performance,
  catalogue,
  nodes,
  incidents,
  outages,
  status,
  door,
}: StatusParts): () => Promise<Status> {
  const verdicts = createPlatformHealthReader({
    availability,
    outages,
    capacity: () => sumCapacityByModel({ catalogue, nodes }),
  });
  const { clock, log } = door;
  const everyMs = Math.min(MADE_EVERY_MS, status.sampleEveryMs);
  let past: { until: number; readAt: number; days: DailyRows } | undefined;
  let last: Status | undefined;
  /** The rebuild in progress, which concurrent callers share. */
  let waited: Promise<void> | undefined;
  let madeAt = Number.NEGATIVE_INFINITY;

  const read = async (from: Date, to: Date): Promise<DailyRows> => {
    const slots = { ...computeTimeSlots("90d", clock.now()), from, to };
    const [sums, samples] = await Promise.all([
      performance.sums({ ...slots, scope: "platform", by: ["slot", "model"], percentilesOf: ["ttft"] }),
      availability.sums(slots),
    ]);
    return { performance: sums, samples };
  };
  const documentOf = (read: Omit<Parameters<typeof buildStatus>[0], "sampleEveryMs" | "entries" | "nodes">): Status =>
    buildStatus({ ...read, sampleEveryMs: status.sampleEveryMs, entries: catalogue().entries, nodes });
  const make = async (): Promise<Status> => {
    const at = clock.now();
    const slots = computeTimeSlots("90d", at);
    const today = new Date(slots.to.getTime() - slots.slotMs);
    if (past?.until !== today.getTime() || clock.monotonic() - past.readAt > PAST_KEPT_MS) {
      past = { until: today.getTime(), readAt: clock.monotonic(), days: await read(slots.from, today) };
    }
    const now = await read(today, slots.to);
    const days = {
      performance: [...past.days.performance, ...now.performance],
      samples: [...past.days.samples, ...now.samples],
    };
    const verdict = await verdicts.read(at);
    const told = await incidents.list({ from: slots.from, limit: INCIDENTS_MAX });
    return documentOf({ at, slots, days, verdict, incidents: told });
  };
  const lastKnown = (): Status => {
    const at = clock.now();
    const verdict = verdicts.remembered();
    const days = { performance: [], samples: [] };
    const known = last ?? documentOf({ at, slots: computeTimeSlots("90d", at), days, verdict, incidents: [] });
    return updateStaleStatus(known, verdict, at);
  };

  const begin = (): void => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stopWaiting = clock.after(WAIT_MAX_MS, resolve);
    waited = promise;
    void make()
      .then(
        (made) => {
          last = made;
        },
        (error) => {
          log[isDatabaseUnreachable(error) ? "debug" : "warn"]({ err: error }, "could not update the status page");
          last = lastKnown();
        },
      )
      .finally(() => {
        stopWaiting();
        madeAt = clock.monotonic();
        waited = undefined;
        resolve();
      });
  };
  return async () => {
    if (waited === undefined && clock.monotonic() - madeAt >= everyMs) begin();
    await waited;
    // If the query did not finish in time, the database is slow or unreachable. Returns the last known status then.
    return waited === undefined && last !== undefined ? last : lastKnown();
  };
}
