/** The platform's performance over a time span, from rollups. */
import type { platformPerformanceRoutes } from "@tollgate/api/console/operator-performance.ts";
import { publicId } from "../../../base/ids.ts";
import { formatExactMicrodollars, type Pico, pico, ZERO } from "../../../base/money.ts";
import { DAY_MS, toUnixSeconds } from "../../../base/time.ts";
import type { FailoverDataLoss } from "../../../db/lineage/failover-data-losses.ts";
import type { PresenceSum } from "../../../history/node-presence.ts";
import { computeTimeSlots, type PerformanceSum, type TimeSlots } from "../../../history/performance-reader.ts";
import type { HistoryServices } from "../../../history/services.ts";
import type { Handlers } from "../../../http/serve-routes.ts";
import type { LedgerCheckResult } from "../../../operators/ledger-checks.ts";
import type { NodeNeedingAttention } from "../../../operators/nodes-needing-attention.ts";
import type { OperatorServices } from "../../../operators/services.ts";
import { roundToTenth } from "../../nodes/node-stats.ts";
import type { NodeServices } from "../../nodes/services.ts";
import type { SiteServices } from "../../services.ts";
import { moneyObject } from "./overview.ts";

/** How long a database failover that lost data is shown. */
const LOSSES_MS = 30 * DAY_MS;
const MODELS_MAX = 50;
const ACCOUNTS_MAX = 10;
const NODES_MAX = 20;
/** Shorter spans have no rate, because one request would look like a peak. */
const RATE_AFTER_MS = 60_000;

export function platformPerformanceHandlers(
  parts: Pick<HistoryServices, "performance" | "presence"> &
    Pick<OperatorServices, "overview" | "spend" | "attention" | "books"> &
    Pick<NodeServices, "nodes"> &
    Pick<SiteServices, "now">,
): Handlers<typeof platformPerformanceRoutes> {
  const { performance, presence, overview, spend, attention, books, nodes } = parts;
  return {
    async getPlatformPerformance({ query: { range, to } }) {
      const now = parts.now();
      const span = computeTimeSlots(range, now, to);
      const asked = { scope: "platform" as const, ...span };
      const connected = nodes.all().map(({ id }) => id);
      const [sums, seen, charged, spenders, pressing, totals, verdict, losses] = await Promise.all([
        performance.each(asked, { total: [], slots: ["slot"], models: ["model"] }),
        presence.sums(span),
        spend.models(span),
        spend.accounts(span, ACCOUNTS_MAX),
        attention.nodes({ connected, span, limit: NODES_MAX }),
        overview.totals(),
        books.last(),
        overview.losses(new Date(now - LOSSES_MS)),
      ]);
      const total = charged.reduce<Pico>((all, { charge }) => pico(all + charge), ZERO);
      return {
        object: "platform_performance",
        range,
        from: toUnixSeconds(span.from),
        to: toUnixSeconds(span.to),
        slot_s: span.slotMs / 1000,
        total: {
          ...loadObject(sums.total[0], seen, Math.min(now, span.to.getTime()) - span.from.getTime()),
          charge_micro: formatExactMicrodollars(total),
        },
        series: seriesOf(span, { slots: sums.slots, seen, now }),
        models: modelsOf(sums.models, charged),
        top_accounts: spenders.map(({ accountId, name, requests, failed, charge }) => ({
          account: publicId("acc", accountId),
          name,
          requests,
          failed,
          charge_micro: formatExactMicrodollars(charge),
        })),
        nodes_to_look_at: { total: pressing.total, data: pressing.nodes.map(nodeObject) },
        money: moneyObject(totals),
        accounts: { builders: totals.builders, hosts: totals.hosts, suspended: totals.suspended },
        books: verdict === undefined ? null : verdictObject(verdict),
        ...(losses.length > 0 && { history_losses: lossObjects(losses) }),
      };
    },
  };
}

/** One entry per database failover, with the sums of the losses that all gateways found. */
function lossObjects(losses: FailoverDataLoss[]) {
  return [...Map.groupBy(losses, ({ epoch }) => epoch).values()].map((of) => ({
    at: toUnixSeconds(new Date(Math.min(...of.map(({ foundAt }) => foundAt.getTime())))),
    lost_s: Math.max(...of.map(({ positions }) => positions)),
    entered: of.flatMap(({ entered }) => Object.values(entered)).reduce((sum, one) => sum + one, 0),
    missing: of.reduce((sum, { notEntered }) => sum + notEntered.length, 0),
  }));
}

interface Course {
  slots: PerformanceSum[];
  seen: PresenceSum[];
  now: number;
}

/** Every time slot of the span, including slots without requests. */
function seriesOf({ from, to, slotMs }: TimeSlots, { slots, seen, now }: Course) {
  const sums = new Map(slots.map((sum) => [sum.slot?.getTime(), sum]));
  const samples = Map.groupBy(seen, ({ slot }) => slot.getTime());
  const starts = Array.from(
    { length: (to.getTime() - from.getTime()) / slotMs },
    (_, i) => from.getTime() + i * slotMs,
  );
  return starts.map((start) => ({
    at: start / 1000,
    ...loadObject(sums.get(start), samples.get(start) ?? [], Math.min(slotMs, now - start)),
  }));
}

/** `lastedMs`: the part of the time span that has already passed. */
function loadObject(sum: PerformanceSum | undefined, seen: PresenceSum[], lastedMs: number) {
  const samples = seen.reduce((all, one) => all + one.samples, 0);
  const mean = (of: (one: PresenceSum) => number): number | null =>
    samples === 0 ? null : seen.reduce((all, one) => all + of(one) * one.samples, 0) / samples;
  const [nodes, slots, busy] = [mean((one) => one.nodes), mean((one) => one.slots), mean((one) => one.busy)];
  return {
    ...performanceCountsObject(sum),
    rate_per_s: lastedMs < RATE_AFTER_MS ? null : ((sum?.requests ?? 0) * 1000) / lastedMs,
    ttft_p95_ms: sum?.ttft.p95 ?? null,
    nodes: roundToTenth(nodes),
    slots: roundToTenth(slots),
    busy_share: slots === null || busy === null || slots === 0 ? null : Math.min(1, busy / slots),
  };
}

export const performanceCountsObject = (sum: PerformanceSum | undefined) => ({
  requests: sum?.requests ?? 0,
  failed: sum?.failed ?? 0,
  error_share: sum?.errorShare ?? null,
});

function modelsOf(sums: PerformanceSum[], charged: { model: string; charge: Pico }[]) {
  const charges = new Map(charged.map(({ model, charge }) => [model, charge]));
  const rows = sums.flatMap((sum) =>
    sum.model === null ? [] : [{ sum, model: sum.model, charge: charges.get(sum.model) ?? ZERO }],
  );
  return rows
    .toSorted((a, b) => (a.charge === b.charge ? b.sum.requests - a.sum.requests : a.charge < b.charge ? 1 : -1))
    .slice(0, MODELS_MAX)
    .map(({ sum, model, charge }) => ({
      model,
      ...performanceCountsObject(sum),
      ttft_ms: { p50: sum.ttft.p50, p95: sum.ttft.p95 },
      duration_ms: { p50: sum.duration.p50, p95: sum.duration.p95 },
      tokens_per_second: sum.tokensPerSecond,
      charge_micro: formatExactMicrodollars(charge),
    }));
}

const nodeObject = ({ id, name, accountId, hostName, reasons }: NodeNeedingAttention) => ({
  node: publicId("node", id),
  name,
  account: publicId("acc", accountId),
  account_name: hostName,
  reasons: reasons.map(({ code, text, since }) => ({
    code,
    text,
    since: since === null ? null : toUnixSeconds(since),
  })),
});

const verdictObject = ({ at, askedBy, tookMs, balanced, checks }: LedgerCheckResult) => ({
  at: toUnixSeconds(at),
  asked_by: askedBy,
  took_ms: tookMs,
  balanced,
  failed_checks: checks.filter(({ differences }) => differences.length > 0).map(({ name }) => name),
});
