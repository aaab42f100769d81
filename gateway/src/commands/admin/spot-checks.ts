/** `tollgate admin checks`: prints results and costs of spot checks (verified real answers), by node and model. */

import { UsageError } from "@tollgate/terminal/errors.ts";
import { type Column, formatTable } from "@tollgate/terminal/table-format.ts";
import { parseId, publicId } from "../../base/ids.ts";
import { formatExactMicrodollars, type Pico, pico, ZERO } from "../../base/money.ts";
import { DAY_MS } from "../../base/time.ts";
import { openPlatformSpend } from "../../operators/platform-spend.ts";
import { type NodeCheckSums, openCheckReader } from "../../trust/spot-checks/check-reader.ts";
import type { AdminCommand, AdminRun } from "./admin-run.ts";
import { formatDollars } from "./format-dollars.ts";

const DAYS = 30;

export const spotCheckCommands: Record<string, AdminCommand> = {
  "checks list": {
    help: `list the spot checks of the last ${DAYS} days by node and model: bad scores, evidence, cost`,
    flags: { node: { value: "ID", help: "list only checks of this node" } },
    example: "",
    run: list,
  },
  "checks models": {
    help: `list the cost of spot checks in the last ${DAYS} days by model, including tests of verifiers, and its share of the revenue`,
    example: "",
    run: listModels,
  },
};

const COLUMNS: Column<NodeCheckSums>[] = [
  { title: "NODE", cell: ({ nodeId }) => publicId("node", nodeId) },
  { title: "MODEL", cell: ({ model }) => model },
  { title: "CHECKS", align: "right", cell: ({ checks }) => String(checks) },
  { title: "BAD", align: "right", cell: ({ bad }) => String(bad) },
  { title: "SCORE", align: "right", cell: ({ score }) => (score === null ? "" : score.toFixed(2)) },
  { title: "EVIDENCE", align: "right", cell: ({ strength }) => (strength === null ? "" : strength.toPrecision(2)) },
  { title: "HOST", cell: ({ hostName }) => hostName },
  { title: "COST", align: "money", cell: ({ cost }) => formatDollars(cost) },
];

interface ModelCosts {
  model: string;
  checks: number;
  bad: number;
  cost: Pico;
  charged: Pico;
}

const MODEL_COLUMNS: Column<ModelCosts>[] = [
  { title: "MODEL", cell: ({ model }) => model },
  { title: "CHECKS", align: "right", cell: ({ checks }) => String(checks) },
  { title: "BAD", align: "right", cell: ({ bad }) => String(bad) },
  { title: "COST", align: "money", cell: ({ cost }) => formatDollars(cost) },
  { title: "REVENUE", align: "money", cell: ({ charged }) => formatDollars(charged) },
  { title: "SHARE", align: "right", cell: (row) => shareText(row) },
];

const shareOf = ({ cost, charged }: Pick<ModelCosts, "cost" | "charged">): number | null =>
  charged === ZERO ? null : Number(cost) / Number(charged);
const shareText = (costs: Pick<ModelCosts, "cost" | "charged">): string => {
  const share = shareOf(costs);
  return share === null ? "" : `${(share * 100).toFixed(2)} %`;
};

/** The sum of all models comes last. */
async function listModels({ pool, clock, json, print, terminal }: AdminRun): Promise<number> {
  const [from, to] = [new Date(clock.now() - DAYS * DAY_MS), new Date(clock.now())];
  const [checked, charges] = await Promise.all([
    openCheckReader({ pool, isThere: () => true }).models(from),
    openPlatformSpend({ pool }).models({ from, to }),
  ]);
  const none = { checks: 0, bad: 0, cost: ZERO };
  const names = new Set([...checked, ...charges].map(({ model }) => model));
  const models = [...names].sort().map((model): ModelCosts => {
    const charged = charges.find((each) => each.model === model)?.charge ?? ZERO;
    return { ...(checked.find((each) => each.model === model) ?? none), model, charged };
  });
  const all = models.reduce(
    (sum, { checks, bad, cost, charged }) => ({
      model: "all models",
      checks: sum.checks + checks,
      bad: sum.bad + bad,
      cost: pico(sum.cost + cost),
      charged: pico(sum.charged + charged),
    }),
    { ...none, model: "all models", charged: ZERO },
  );
  const show = ({ cost, charged, ...counts }: ModelCosts) => ({
    ...counts,
    cost_micro: formatExactMicrodollars(cost),
    charged_micro: formatExactMicrodollars(charged),
    share: shareOf({ cost, charged }),
  });
  if (json) print(JSON.stringify([...models, all].map(show), null, 2));
  else print(formatTable(MODEL_COLUMNS, [...models, all], terminal));
  return 0;
}

async function list({ pool, clock, json, print, flags, terminal }: AdminRun): Promise<number> {
  const id = flags.node === undefined ? undefined : parseId("node", flags.node);
  if (flags.node !== undefined && id === undefined) throw new UsageError("--node must be a node's id (node_…)");
  const since = new Date(clock.now() - DAYS * DAY_MS);
  const sums = await openCheckReader({ pool, isThere: () => true }).sums(since, id);
  if (json) print(JSON.stringify(sums.map(shown), null, 2));
  else print(sums.length === 0 ? "No answers have been checked." : formatTable(COLUMNS, sums, terminal));
  return 0;
}

const shown = ({ nodeId, nodeName, hostId, hostName, cost, lastAt, ...rest }: NodeCheckSums) => ({
  node: publicId("node", nodeId),
  node_name: nodeName,
  account: publicId("acc", hostId),
  account_name: hostName,
  ...rest,
  cost_micro: formatExactMicrodollars(cost),
  last_at: lastAt.toISOString(),
});
