/** `tollgate admin node …`: every host's nodes, and the quarantine. Gateways hear of a change at once. */
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { NODE_STANDINGS } from "../../base/states.ts";
import { announce, NODE_TOPIC } from "../../db/broadcast.ts";
import { type MoveOutcome, openFleet } from "../../fleet/fleet.ts";
import { openAudit } from "../../operators/audit.ts";
import { type ListedEntry, type NodeEntry, openNodeDirectory } from "../../operators/nodes.ts";
import { type Column, properties, table } from "../line/columns.ts";
import { UsageError } from "../line/command.ts";
import { reasonOf } from "./accounts.ts";
import { type AdminCommand, type AdminRun, everyPage, REASON, SHELL_OPERATOR } from "./admin-run.ts";

const NODE = { NODE: { help: "the node's id: node_…" } };
const EXAMPLE = "node_01jc9v6w2e8t3k5m7q9r1s4x6z";

export const nodeCommands: Record<string, AdminCommand> = {
  "node list": {
    help: "nodes with their host and state, newest first",
    flags: {
      q: { value: "TEXT", help: "a part of a node's or host's name" },
      state: { value: "STATE", help: "only these", oneOf: NODE_STANDINGS },
      host: { value: "ACCOUNT", help: "only this account's: acc_…" },
    },
    example: "--state quarantined",
    run: list,
  },
  "node show": { help: "one node, and the evidence for its quarantine", args: NODE, example: EXAMPLE, run: show },
  "node quarantine": {
    help: "bar a node from work; its host reads the reason",
    args: NODE,
    flags: REASON,
    example: `${EXAMPLE} --reason "answers with another model"`,
    run: quarantine,
  },
  "node release": {
    help: "end a node's quarantine; it is paused until its host resumes it",
    args: NODE,
    example: EXAMPLE,
    run: release,
  },
  "node clear": {
    help: "let a node work that gets none because another of its host is in quarantine",
    args: NODE,
    example: EXAMPLE,
    run: clear,
  },
};

async function list({ pool, config, json, print, flags }: AdminRun): Promise<number> {
  const { q: text } = flags;
  const standing = NODE_STANDINGS.find((one) => one === flags.state);
  const host = flags.host === undefined ? undefined : parseId("acc", flags.host);
  if (flags.host !== undefined && host === undefined) throw new UsageError("--host must be an account's id (acc_…)");
  const directory = openNodeDirectory({ pool, rules: config.nodeRules });
  const nodes = await everyPage((page) => directory.search({ text, standing, host, ...page }));
  if (json) print(JSON.stringify(nodes.map(shown), null, 2));
  else if (nodes.length > 0) print(table(COLUMNS, nodes));
  const all = text === undefined && standing === undefined && host === undefined;
  if (!json && nodes.length === 0) print(all ? "No node is registered." : "No such node.");
  return 0;
}

async function show(run: AdminRun): Promise<number> {
  const node = await find(run, nodeId(run));
  run.print(run.json ? JSON.stringify(shown(node), null, 2) : properties(told(node)));
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
  await openAudit(run).record(act, async () =>
    assertMoved(await openFleet(run).quarantine(id, { reason, evidence: {}, by: SHELL_OPERATOR })),
  );
  return report(run, id);
}

async function release(run: AdminRun): Promise<number> {
  const id = nodeId(run);
  const act = { operator: SHELL_OPERATOR, action: "node.release", subject: publicId("node", id) };
  await openAudit(run).record(act, async () => assertMoved(await openFleet(run).release(id, SHELL_OPERATOR)));
  return report(run, id);
}

async function clear(run: AdminRun): Promise<number> {
  const id = nodeId(run);
  const act = { operator: SHELL_OPERATOR, action: "node.clear", subject: publicId("node", id) };
  await openAudit(run).record(act, async () => {
    const outcome = await openFleet({ ...run, rules: run.config.nodeRules }).clear(id, SHELL_OPERATOR);
    if (outcome.kind === "absent") throw new Error("there is no such node");
    if (outcome.kind === "refused") throw new Error("nothing of its host keeps this node from work");
  });
  return report(run, id);
}

function nodeId({ args }: AdminRun): Uuid {
  const id = parseId("node", args[0] ?? "");
  if (id === undefined) throw new UsageError(`${args[0]} is not a node's id (node_…)`);
  return id;
}

async function find({ pool, config }: AdminRun, id: Uuid): Promise<NodeEntry> {
  const node = await openNodeDirectory({ pool, rules: config.nodeRules }).find(id);
  if (node === undefined) throw new Error("there is no such node");
  return node;
}

function assertMoved(outcome: MoveOutcome): void {
  if (outcome.kind === "absent") throw new Error("there is no such node");
  if (outcome.kind === "refused") throw new Error(`the node is ${outcome.standing}, which does not allow this`);
}

async function report(run: AdminRun, id: Uuid): Promise<number> {
  await announce(run.pool, NODE_TOPIC, publicId("node", id));
  const node = await find(run, id);
  run.print(run.json ? JSON.stringify(shown(node), null, 2) : table(COLUMNS, [node]));
  return 0;
}

const COLUMNS: Column<ListedEntry>[] = [
  { title: "NODE", cell: ({ id }) => publicId("node", id) },
  { title: "STATE", cell: ({ standing }) => standing },
  { title: "NAME", cell: ({ name }) => name },
  { title: "HOST", cell: ({ hostName }) => hostName },
  { title: "MODELS", cell: ({ models }) => models.join(",") },
  {
    title: "NOTE",
    cell: ({ quarantine: why, withheld }) =>
      [why?.reason ?? "", withheld === null ? "" : "no work: its host has a node in quarantine"]
        .filter((note) => note !== "")
        .join("; "),
  },
];

function told(node: NodeEntry): Record<string, string | undefined> {
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
        : `${probation.answers} of ${probation.needed} honest answers, one request at a time`,
    "No work":
      withheld === null
        ? undefined
        : "another node of its host is in quarantine (tollgate admin node clear lets it work)",
    Quarantined: why === null ? undefined : `${why.at.toISOString()} by ${why.by}: ${why.reason}`,
    Evidence: why === null ? undefined : JSON.stringify(why.evidence),
  };
}

function shown({ id, accountId, hostName, ...rest }: ListedEntry): object {
  return { id: publicId("node", id), account: publicId("acc", accountId), account_name: hostName, ...rest };
}
