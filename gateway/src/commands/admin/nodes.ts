/**
 * `tollgate admin node …`: lists all hosts' nodes, and quarantines or releases them. Gateways are notified of changes.
 */

import { CommandError, UsageError } from "@tollgate/terminal/errors.ts";
import { type Column, formatProperties, formatTable } from "@tollgate/terminal/table-format.ts";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { NODE_STANDINGS } from "../../base/stored-enumerations.ts";
import { NODE_TOPIC, sendBroadcast } from "../../db/broadcast.ts";
import { type NodeStateChangeOutcome, openFleet } from "../../fleet/fleet.ts";
import { openAudit } from "../../operators/audit.ts";
import {
  type ListedNodeWithHostName,
  type NodeWithHostName,
  openNodeDirectory,
} from "../../operators/node-directory.ts";
import { parseReason } from "./accounts.ts";
import { type AdminCommand, type AdminRun, COMMAND_LINE_ACTOR, REASON_FLAG, readEveryPage } from "./admin-run.ts";

const NODE = { NODE: { help: "node ID: node_…" } };
const EXAMPLE = "node_01jc9v6w2e8t3k5m7q9r1s4x6z";

export const nodeCommands: Record<string, AdminCommand> = {
  "node list": {
    help: "list nodes with their host and state, newest first",
    flags: {
      q: { value: "TEXT", help: "list only nodes with this text in their name or their host's name" },
      state: { value: "STATE", help: "list only nodes in this state", oneOf: NODE_STANDINGS },
      host: { value: "ACCOUNT", help: "list only nodes of this host account (acc_…)" },
    },
    example: "--state quarantined",
    run: list,
  },
  "node show": { help: "show a node, with the evidence for its quarantine", args: NODE, example: EXAMPLE, run: show },
  "node quarantine": {
    help: "stop sending work to a node; its host sees the reason",
    args: NODE,
    flags: REASON_FLAG,
    example: `${EXAMPLE} --reason "answers with another model"`,
    run: quarantine,
  },
  "node release": {
    help: "end a node's quarantine; the node then stays paused until its host resumes it",
    args: NODE,
    example: EXAMPLE,
    run: release,
  },
  "node clear": {
    help: "let a node work although another node of its host is in quarantine",
    args: NODE,
    example: EXAMPLE,
    run: clear,
  },
};

async function list({ pool, config, json, print, flags, terminal }: AdminRun): Promise<number> {
  const { q: text } = flags;
  const standing = NODE_STANDINGS.find((one) => one === flags.state);
  const host = flags.host === undefined ? undefined : parseId("acc", flags.host);
  if (flags.host !== undefined && host === undefined) throw new UsageError("--host must be an account ID (acc_…)");
  const directory = openNodeDirectory({ pool, rules: config.nodeRules });
  const nodes = await readEveryPage((page) => directory.search({ text, standing, host, ...page }));
  if (json) print(JSON.stringify(nodes.map(shown), null, 2));
  else if (nodes.length > 0) print(formatTable(COLUMNS, nodes, terminal));
  const all = text === undefined && standing === undefined && host === undefined;
  if (!json && nodes.length === 0) print(all ? "No nodes are registered." : "No node matches.");
  return 0;
}

async function show(run: AdminRun): Promise<number> {
  const node = await find(run, nodeId(run));
  run.print(run.json ? JSON.stringify(shown(node), null, 2) : formatProperties(told(node), run.terminal));
  return 0;
}

async function quarantine(run: AdminRun): Promise<number> {
  const [id, reason] = [nodeId(run), parseReason(run)];
  const act = {
    operator: COMMAND_LINE_ACTOR,
    action: "node.quarantine",
    subject: publicId("node", id),
    details: { reason },
  };
  await openAudit(run).record(act, async () =>
    assertMoved(await openFleet(run).quarantine(id, { reason, evidence: {}, by: COMMAND_LINE_ACTOR })),
  );
  return report(run, id);
}

async function release(run: AdminRun): Promise<number> {
  const id = nodeId(run);
  const act = { operator: COMMAND_LINE_ACTOR, action: "node.release", subject: publicId("node", id) };
  await openAudit(run).record(act, async () => assertMoved(await openFleet(run).release(id, COMMAND_LINE_ACTOR)));
  return report(run, id);
}

async function clear(run: AdminRun): Promise<number> {
  const id = nodeId(run);
  const act = { operator: COMMAND_LINE_ACTOR, action: "node.clear", subject: publicId("node", id) };
  await openAudit(run).record(act, async () => {
    const outcome = await openFleet({ ...run, rules: run.config.nodeRules }).clear(id, COMMAND_LINE_ACTOR);
    if (outcome.kind === "absent") throw noNode();
    if (outcome.kind === "refused")
      throw new CommandError("nothing to clear: no quarantined node of the same host blocks this node", {
        next: "tollgate admin node show NODE shows its state",
      });
  });
  return report(run, id);
}

const noNode = (): CommandError => new CommandError("there is no such node", { next: "tollgate admin node list" });

function nodeId({ args }: AdminRun): Uuid {
  const id = parseId("node", args[0] ?? "");
  if (id === undefined) throw new UsageError(`${args[0]} is not a node ID (node_…)`);
  return id;
}

async function find({ pool, config }: AdminRun, id: Uuid): Promise<NodeWithHostName> {
  const node = await openNodeDirectory({ pool, rules: config.nodeRules }).find(id);
  if (node === undefined) throw noNode();
  return node;
}

function assertMoved(outcome: NodeStateChangeOutcome): void {
  if (outcome.kind === "absent") throw noNode();
  if (outcome.kind === "refused")
    throw new CommandError(`this action is not possible while the node is ${outcome.standing}`, {
      next: "tollgate admin node show NODE shows its state",
    });
}

async function report(run: AdminRun, id: Uuid): Promise<number> {
  await sendBroadcast(run.pool, NODE_TOPIC, publicId("node", id));
  const node = await find(run, id);
  run.print(run.json ? JSON.stringify(shown(node), null, 2) : formatTable(COLUMNS, [node], run.terminal));
  return 0;
}

const COLUMNS: Column<ListedNodeWithHostName>[] = [
  { title: "NODE", cell: ({ id }) => publicId("node", id) },
  { title: "STATE", cell: ({ standing }) => standing },
  { title: "NAME", cell: ({ name }) => name },
  { title: "HOST", cell: ({ hostName }) => hostName },
  { title: "MODELS", cell: ({ models }) => models.join(",") },
  {
    title: "NOTE",
    cell: ({ quarantine: why, withheld }) =>
      [why?.reason ?? "", withheld === null ? "" : "gets no requests: its host has a node in quarantine"]
        .filter((note) => note !== "")
        .join("; "),
  },
];

function told(node: NodeWithHostName): Record<string, string | undefined> {
  const { id, name, hostName, accountId, standing, models, agent, hardware, createdAt } = node;
  const { hostSuspended, quarantine: why, probation, withheld } = node;
  return {
    Node: publicId("node", id),
    Name: name,
    Host: `${hostName} (${publicId("acc", accountId)})${hostSuspended ? ", SUSPENDED" : ""}`,
    State: standing,
    Models: models.join(", ") || "none",
    Registered: createdAt.toISOString(),
    Agent: agent || "unknown",
    Hardware: JSON.stringify(hardware),
    Probation:
      probation === null
        ? undefined
        : `${probation.answers} of ${probation.needed} good answers, one request at a time`,
    "No work":
      withheld === null
        ? undefined
        : "another node of the same host is in quarantine; to let this node work: tollgate admin node clear",
    Quarantined: why === null ? undefined : `${why.at.toISOString()} by ${why.by}: ${why.reason}`,
    Evidence: why === null ? undefined : JSON.stringify(why.evidence),
  };
}

function shown({ id, accountId, hostName, ...rest }: ListedNodeWithHostName): object {
  return { id: publicId("node", id), account: publicId("acc", accountId), account_name: hostName, ...rest };
}
