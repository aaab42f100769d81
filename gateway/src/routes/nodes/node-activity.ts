/** A host's nodes over time and their jobs, for the console and the node API. */
import type {
  ActivityQuery,
  HostActivity,
  Job as JobShown,
  JobsQuery,
  NodeActivity,
} from "@tollgate/api/nodes/node-activity.ts";
import type { z } from "zod";
import { publicId, type Uuid } from "../../base/ids.ts";
import { formatExactMicrodollars } from "../../base/money.ts";
import type { RequestOutcome } from "../../base/stored-enumerations.ts";
import { toUnixSeconds } from "../../base/time.ts";
import type { NodeActivityReader, NodePerformanceFigures } from "../../history/node-activity.ts";
import type { NodeJob } from "../../history/node-jobs.ts";
import { computeTimeSlots } from "../../history/performance-reader.ts";
import type { HistoryServices } from "../../history/services.ts";
import { listPage } from "../../http/lists/list-pages.ts";
import type { WithOptionalTime } from "../../http/serve-routes.ts";
import type { SiteServices } from "../services.ts";
import { roundToTenth } from "./node-stats.ts";
import type { NodeServices } from "./services.ts";

export type NodeActivityDependencies = Pick<NodeServices, "fleet"> &
  Pick<HistoryServices, "insights" | "jobs"> &
  Pick<SiteServices, "cursors" | "now">;

type Asked = z.output<typeof ActivityQuery>;

export async function readNodeActivity(
  { insights, now }: NodeActivityDependencies,
  node: { id: Uuid; accountId: Uuid },
  { range, to }: Asked,
): Promise<WithOptionalTime<z.input<typeof NodeActivity>>> {
  const insight = await insights.of(node.accountId, [node.id], computeTimeSlots(range, now(), to), now());
  return { object: "node_insight", node: publicId("node", node.id), ...show(insight, range) };
}

export async function readHostActivity(
  { insights, fleet, now }: NodeActivityDependencies,
  accountId: Uuid,
  { range, to }: Asked,
): Promise<WithOptionalTime<z.input<typeof HostActivity>>> {
  const slots = computeTimeSlots(range, now(), to);
  const ids = await fleet.atWork(accountId, slots.from);
  const insight = await insights.of(accountId, ids, slots, now());
  return {
    object: "host_insight",
    ...show(insight, range),
    nodes: insight.nodes.map(({ id, total, utilisation }) => ({
      node: publicId("node", id),
      total: showTotal(total),
      utilisation: utilisation.map(share),
    })),
  };
}

type Insight = Awaited<ReturnType<NodeActivityReader["of"]>>;

const show = ({ slots, total, series, earningsSlotMs, earnings }: Insight, range: Asked["range"]) => ({
  range,
  from: toUnixSeconds(slots.from),
  to: toUnixSeconds(slots.to),
  slot_s: slots.slotMs / 1000,
  total: showTotal(total),
  series: series.map((point) => ({ at: toUnixSeconds(point.at), ...showFigures(point) })),
  earnings_slot_s: earningsSlotMs / 1000,
  earnings: earnings.map(({ at, earned }) => ({
    at: toUnixSeconds(at),
    earned_micro: formatExactMicrodollars(earned),
  })),
});

const showTotal = (total: Insight["total"]) => ({
  ...showFigures(total),
  earned_micro: formatExactMicrodollars(total.earned),
});

const showFigures = ({ performed, utilisation, connected }: NodePerformanceFigures) => ({
  requests: performed?.requests ?? 0,
  ok: performed?.ok ?? 0,
  closed: performed?.closed ?? 0,
  failed: performed?.failed ?? 0,
  failed_share: performed?.errorShare ?? null,
  prompt_tokens: performed?.promptTokens ?? 0,
  completion_tokens: performed?.completionTokens ?? 0,
  ttft_p50_ms: performed?.ttft.p50 ?? null,
  ttft_p95_ms: performed?.ttft.p95 ?? null,
  tps: roundToTenth(performed?.tokensPerSecond ?? null),
  utilisation: share(utilisation),
  connected: share(connected),
});

/** Rounded for display. */
const share = (value: number | null): number | null => (value === null ? null : Math.round(value * 10_000) / 10_000);

export const readJobsPage = (
  { jobs, cursors }: NodeActivityDependencies,
  nodeId: Uuid,
  query: z.output<typeof JobsQuery>,
): Promise<{ object: "list"; data: z.input<typeof JobShown>[]; next_cursor: string | null }> => {
  const { model, outcome, from, to } = query;
  return listPage({
    cursors,
    list: `jobs ${nodeId}`,
    query,
    read: (before, limit) => jobs.list(nodeId, { model, outcome, from, to, before: before as Uuid | undefined, limit }),
    position: ({ id }) => id,
    show: jobObject,
  });
};

type Ending = Pick<z.input<typeof JobShown>, "says" | "by">;

/**
 * Texts for hosts that say how a job ended. Requests refused by a limit are not listed, because they never reach a
 * node.
 */
const ENDINGS: Partial<Record<RequestOutcome, Ending>> = {
  ok: { says: "Completed.", by: null },
  upstream_failed: {
    says: "Failed on the node: its engine reported an error, or the connection was lost.",
    by: "engine",
  },
  upstream_stall: { says: "The node sent nothing for two seconds, or the job reached its time limit.", by: "quiet" },
  client_closed: { says: "The client cancelled the request. This does not count against the node.", by: "client" },
  no_capacity: { says: "No node accepted the request in time. This does not count against the node.", by: "platform" },
  plane_lost: {
    says: "The platform lost its connection to the node. This does not count against the node.",
    by: "platform",
  },
  gateway_stopped: {
    says: "The platform stopped the request. This does not count against the node.",
    by: "platform",
  },
  gateway_lost: { says: "The gateway crashed. This does not count against the node.", by: "platform" },
};

function jobObject(job: NodeJob): z.input<typeof JobShown> {
  const { ttftMs, durationMs, completionTokens } = job;
  const flowMs = ttftMs === null || durationMs === null ? 0 : durationMs - ttftMs;
  return {
    request_id: publicId("req", job.id),
    model: job.model,
    created_at: toUnixSeconds(job.createdAt),
    finished_at: toUnixSeconds(job.finishedAt),
    outcome: job.outcome,
    ...(ENDINGS[job.outcome] ?? { says: "The platform refused the request.", by: "platform" }),
    prompt_tokens: job.promptTokens,
    completion_tokens: completionTokens,
    queue_ms: job.queueMs,
    ttft_ms: ttftMs,
    duration_ms: durationMs,
    tps: completionTokens > 1 && flowMs > 0 ? roundToTenth(((completionTokens - 1) * 1000) / flowMs) : null,
    earned_micro: formatExactMicrodollars(job.earned),
    own: job.own,
  };
}
