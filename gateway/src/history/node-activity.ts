/** The figures of a host's nodes over time, from rollups and samples, without reading request records. */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { type Pico, pico, ZERO } from "../base/money.ts";
import { HOUR_MS } from "../base/time.ts";
import { findPerformanceTable } from "../db/closed-days.ts";
import { column, queryRows, row } from "../db/rows.ts";
import type { EarningHourlySum, EarningsHistory } from "./earnings.ts";
import type { NodePresence, PresenceSum } from "./node-presence.ts";
import type { PerformanceReader, PerformanceSum, TimeSlots } from "./performance-reader.ts";

export interface NodePerformanceFigures {
  /** Counts and speeds, without percentiles of durations. Undefined without requests. */
  performed: PerformanceSum | undefined;
  /** Busy time as a share of slots × connected time, from 0 to 1. Null if no node was connected. */
  utilisation: number | null;
  /** The mean share of time in which the nodes were connected. Null without samples. */
  connected: number | null;
}

interface Insight {
  slots: TimeSlots;
  total: NodePerformanceFigures & { earned: Pico };
  series: (NodePerformanceFigures & { at: Date })[];
  earningsSlotMs: number;
  /** Earnings by whole hours or days, starting with the one that contains the range's start. */
  earnings: { at: Date; earned: Pico }[];
  /** One entry for each requested node, in the requested order. */
  nodes: { id: Uuid; total: Insight["total"]; utilisation: (number | null)[] }[];
}

export interface NodeActivityReader {
  of(hostAccountId: Uuid, nodeIds: Uuid[], slots: TimeSlots, now: number): Promise<Insight>;
}

const Busy = row({ slot: column.moment, subject: column.uuid, busyMs: z.number() });

interface InsightsOptions {
  pool: pg.Pool;
  performance: PerformanceReader;
  presence: NodePresence;
  earnings: EarningsHistory;
}

export function openNodeActivityReader({ pool, performance, presence, earnings }: InsightsOptions): NodeActivityReader {
  return {
    async of(hostAccountId, nodeIds, slots, now) {
      const { grain, from, to } = slots;
      const query = { scope: "node", subjects: nodeIds, grain, from, to, percentilesOf: ["ttft"] } as const;
      const by = grain === "day" ? "day" : "hour";
      const only = nodeIds.length === 1 ? { nodeId: nodeIds[0] as Uuid } : {};
      const [{ all, bySlot }, byNode, busy, seen, looked, earned] = await Promise.all([
        performance.each(query, { all: [], bySlot: ["slot"] }),
        // Summed by node in a query of its own, because one query by time slot and node would return a row for every
        // pair.
        performance.sums({ ...query, by: ["subject"] }),
        queryRows(
          pool,
          Busy,
          `select slot, subject, sum(busy_ms)::float8 as "busyMs" from ${await findPerformanceTable(pool)}
            where scope = 'node' and subject = any ($1::uuid[]) and grain = $2 and slot >= $3 and slot < $4 group by 1, 2`,
          [nodeIds, grain, from, to],
        ),
        presence.sums(slots, nodeIds),
        presence.sums(slots),
        earnings.sums(hostAccountId, { by, split: "node", from, to, ...only }),
      ]);
      const time = timeOf({ slots, now, busy, seen, looked });
      const moments = momentsOf(slots);
      const ofNode = (id: Uuid) => {
        const courses = moments.map((at) => time([id], [at]));
        return {
          id,
          total: {
            performed: byNode.find(({ subject }) => subject === id),
            ...time([id], moments),
            earned: sumOf(earned.filter(({ part }) => part === id)),
          },
          utilisation: courses.map(({ utilisation }) => utilisation),
        };
      };
      const earningsSlotMs = Math.max(HOUR_MS, slots.slotMs);
      return {
        slots,
        total: { performed: all[0], ...time(nodeIds, moments), earned: sumOf(earned) },
        series: moments.map((at) => ({
          at: new Date(at),
          performed: bySlot.find(({ slot }) => slot?.getTime() === at),
          ...time(nodeIds, [at]),
        })),
        earningsSlotMs,
        earnings: earningsBySlot(earned, slots, earningsSlotMs),
        nodes: nodeIds.map(ofNode),
      };
    },
  };
}

const momentsOf = ({ from, to, slotMs }: Pick<TimeSlots, "from" | "to" | "slotMs">): number[] =>
  Array.from({ length: Math.round((to.getTime() - from.getTime()) / slotMs) }, (_, i) => from.getTime() + i * slotMs);

const sumOf = (rows: EarningHourlySum[]): Pico => pico(rows.reduce((sum, { amount }) => sum + amount, 0n));

function earningsBySlot(rows: EarningHourlySum[], { from, to }: TimeSlots, slotMs: number): Insight["earnings"] {
  const sums = new Map<number, Pico>();
  for (const { bucket, amount } of rows) {
    const at = new Date(bucket).getTime();
    sums.set(at, pico((sums.get(at) ?? ZERO) + amount));
  }
  const first = new Date(Math.floor(from.getTime() / slotMs) * slotMs);
  const last = new Date(Math.ceil(to.getTime() / slotMs) * slotMs);
  return momentsOf({ from: first, to: last, slotMs }).map((at) => ({ at: new Date(at), earned: sums.get(at) ?? ZERO }));
}

interface TimeFacts {
  slots: TimeSlots;
  now: number;
  busy: z.infer<typeof Busy>[];
  seen: PresenceSum[];
  looked: PresenceSum[];
}

/** Computes the busy share and connected time of these nodes in these time slots. */
function timeOf({ slots: { slotMs }, now, busy, seen, looked }: TimeFacts) {
  const keyOf = (id: Uuid, at: number): string => `${id} ${at}`;
  const busyMs = new Map(busy.map((each) => [keyOf(each.subject, each.slot.getTime()), each.busyMs]));
  const there = new Map(seen.map((sum) => [keyOf(sum.nodeId, sum.slot.getTime()), sum]));
  const lookedAt = new Set(looked.map(({ slot }) => slot.getTime()));
  return (ids: Uuid[], moments: number[]): Pick<NodePerformanceFigures, "utilisation" | "connected"> => {
    let [worked, available, connected, elapsed] = [0, 0, 0, 0];
    for (const at of moments) {
      if (!lookedAt.has(at)) continue;
      // The current time slot counts only up to now.
      const length = Math.max(0, Math.min(slotMs, now - at));
      for (const id of ids) {
        elapsed += length;
        const sum = there.get(keyOf(id, at));
        if (sum === undefined) continue;
        const share = Math.min(1, sum.samples / sum.samplesTaken);
        connected += share * length;
        available += sum.slots * share * length;
        worked += busyMs.get(keyOf(id, at)) ?? 0;
      }
    }
    return {
      // A request counts in the slot in which it began, so a long one can exceed its slot.
      utilisation: available === 0 ? null : Math.min(1, worked / available),
      connected: elapsed === 0 ? null : Math.min(1, connected / elapsed),
    };
  };
}
