/** A node's load, speeds, today's earnings, and recent jobs. */
import type { NodeStats } from "@tollgate/api/nodes/response-schemas.ts";
import type { z } from "zod";
import { publicId } from "../../base/ids.ts";
import { formatExactMicrodollars } from "../../base/money.ts";
import { startOfDay } from "../../base/time.ts";
import type { Node } from "../../fleet/fleet.ts";
import type { HistoryServices } from "../../history/services.ts";
import type { SiteServices } from "../services.ts";
import { toNodeListItem } from "./own-nodes.ts";
import type { NodeServices } from "./services.ts";

export type NodeStatsDependencies = Pick<NodeServices, "nodes" | "fleet"> &
  Pick<HistoryServices, "earnings"> &
  Pick<SiteServices, "now">;

export async function readNodeStats(parts: NodeStatsDependencies, node: Node): Promise<z.input<typeof NodeStats>> {
  const { nodes, fleet, earnings, now } = parts;
  const { id, state, quarantine, probation, withheld } = toNodeListItem(parts, node);
  const live = nodes.find(id);
  const { jobs, failures, jobsWindow, failuresMax } = nodes.reliabilityOf(id);
  const { late, ...seen } = await fleet.record.lastDay(node.id);
  const today = await earnings.sum(node.accountId, { nodeId: node.id, from: startOfDay(now()) });
  return {
    object: "node_stats",
    node: publicId("node", node.id),
    state,
    connected: live !== undefined,
    slots: live?.slots ?? 0,
    busy: live?.outstanding ?? 0,
    engine_slots: live?.engineSlots ?? null,
    draining: live?.draining ?? false,
    models: node.models.map((model) => {
      const { ttftMs, tokensPerSecond } = nodes.speedOfNode(id, model);
      return { model, ttft_p50_ms: roundToTenth(ttftMs), tps_p50: roundToTenth(tokensPerSecond) };
    }),
    today: {
      requests: today.requests,
      prompt_tokens: today.promptTokens,
      completion_tokens: today.completionTokens,
      earned_micro: formatExactMicrodollars(today.earned),
    },
    last_day: { ...seen, late_acceptances: late },
    agent_outdated: live !== undefined && !live.inGoodStanding && !live.acceptsEarly,
    reliability: { jobs, failures, jobs_window: jobsWindow, failures_max: failuresMax },
    quarantine,
    probation,
    withheld,
  };
}

export const roundToTenth = (value: number | null): number | null =>
  value === null ? null : Math.round(value * 10) / 10;
