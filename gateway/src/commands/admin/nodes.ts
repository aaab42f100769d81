/** `tollgate admin node …`: every host's nodes, and the quarantine. Gateways hear of a change at once. */
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { announce, NODE_TOPIC } from "../../db/broadcast.ts";
import { type MoveOutcome, type Node, openFleet } from "../../fleet/fleet.ts";
import { openAudit } from "../../operators/audit.ts";
import { reasonOf } from "./accounts.ts";
import { type AdminCommand, type AdminRun, SHELL_OPERATOR } from "./admin-run.ts";

export const nodeCommands: Record<string, AdminCommand> = {
  "node list": { help: "every node with its state", run: list },
  "node quarantine": {
    help: "bar a node from work; its host reads the reason",
    args: ["NODE"],
    flags: ["reason"],
    run: quarantine,
  },
  "node release": {
    help: "end a node's quarantine; it is paused until its host resumes it",
    args: ["NODE"],
    run: release,
  },
};

async function list({ pool, newId, json, print }: AdminRun): Promise<number> {
  const nodes = await openFleet({ pool, newId }).list(null);
  if (json) print(JSON.stringify(nodes.map(shown), null, 2));
  else for (const node of nodes) print(line(node));
  if (!json && nodes.length === 0) print("No node is registered.");
  return 0;
}

async function quarantine(run: AdminRun): Promise<number> {
  const [id, reason] = [nodeId(run), reasonOf(run)];
  const act = {
    operator: SHELL_OPERATOR,
    action: "node.quarantine",
    subject: publicId("node", id),
    details: { reason },
  };
  const node = await openAudit(run).record(act, async () =>
    moved(await openFleet(run).quarantine(id, { reason, evidence: {}, by: SHELL_OPERATOR })),
  );
  return report(run, node);
}

async function release(run: AdminRun): Promise<number> {
  const id = nodeId(run);
  const act = { operator: SHELL_OPERATOR, action: "node.release", subject: publicId("node", id) };
  const node = await openAudit(run).record(act, async () => moved(await openFleet(run).release(id, SHELL_OPERATOR)));
  return report(run, node);
}

function nodeId({ args }: AdminRun): Uuid {
  const id = parseId("node", args[0] ?? "");
  if (id === undefined) throw new Error(`${args[0]} is not a node's id (node_…)`);
  return id;
}

function moved(outcome: MoveOutcome): Node {
  if (outcome.kind === "absent") throw new Error("there is no such node");
  if (outcome.kind === "refused") throw new Error(`the node is ${outcome.standing}, which does not allow this`);
  return outcome.node;
}

async function report({ pool, json, print }: AdminRun, node: Node): Promise<number> {
  await announce(pool, NODE_TOPIC, publicId("node", node.id));
  print(json ? JSON.stringify(shown(node), null, 2) : line(node));
  return 0;
}

function line({ id, name, standing, models, quarantine }: Node): string {
  const why = quarantine === null ? "" : `  (${quarantine.reason})`;
  return `${publicId("node", id)}  ${standing.padEnd(11)}  ${name}  ${models.join(",")}${why}`;
}

function shown(node: Node): object {
  const { id, accountId, ...rest } = node;
  return { id: publicId("node", id), account: publicId("acc", accountId), ...rest };
}
