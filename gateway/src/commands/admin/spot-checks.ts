/** `tollgate admin checks`: prints results and costs of spot checks (verified real answers), by node and model. */
import { type Column, formatTable } from "@tollgate/terminal/columns.ts";
import { UsageError } from "@tollgate/terminal/errors.ts";
import { parseId, publicId } from "../../base/ids.ts";
import { formatExactMicrodollars } from "../../base/money.ts";
import { type NodeCheckSums, openCheckReader } from "../../trust/spot-checks/check-reader.ts";
import type { AdminCommand, AdminRun } from "./admin-run.ts";
import { dollarsText } from "./dollars.ts";

const DAYS = 30;

export const spotCheckCommands: Record<string, AdminCommand> = {
  "checks list": {
    help: `list the spot checks of the last ${DAYS} days by node and model: bad scores, evidence, cost`,
    flags: { node: { value: "ID", help: "list only checks of this node" } },
    example: "",
    run: list,
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
  { title: "COST", align: "money", cell: ({ cost }) => dollarsText(cost) },
];

async function list({ pool, clock, json, print, flags, terminal }: AdminRun): Promise<number> {
  const id = flags.node === undefined ? undefined : parseId("node", flags.node);
  if (flags.node !== undefined && id === undefined) throw new UsageError("--node must be a node's id (node_…)");
  const since = new Date(clock.now() - DAYS * 86_400_000);
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
