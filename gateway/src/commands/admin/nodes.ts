/** `tollgate admin node …`: every host's nodes, and the quarantine. Gateways hear of a change at once. */
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { NODE_STANDINGS } from "../../base/states.ts";
import { announce, NODE_TOPIC } from "../../db/broadcast.ts";
import { type MoveOutcome, openFleet } from "../../fleet/fleet.ts";
import { openAudit } from "../../operators/audit.ts";
import { type ListedEntry, type NodeEntry, openNodeDirectory } from "../../operators/nodes.ts";
import { reasonOf } from "./accounts.ts";
import { type AdminCommand, type AdminRun, everyPage, SHELL_OPERATOR } from "./admin-run.ts";

export const nodeCommands: Record<string, AdminCommand> = {
  "node list": {
    help: "nodes with their host and state, newest first; --q finds a part of a name, --host an account's",
    flags: ["q", "state", "host"],
    run: list,
  },
  "node show": { help: "one node, and the evidence for its quarantine", args: ["NODE"], run: show },
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
  "node clear": {
    help: "let a node work that gets none because another of its host is in quarantine",
    args: ["NODE"],
    run: clear,
  },
};

async function list({ pool, config, json, print, flags }: AdminRun): Promise<number> {
  const { q: text } = flags;
  const standing = NODE_STANDINGS.find((one) => one === flags.state);
  if (flags.state !== undefined && standing === undefined) {
    throw new Error(`--state must be one of ${NODE_STANDINGS.join(", ")}`);
  }
  const host = flags.host === undefined ? undefined : parseId("acc", flags.host);
  if (flags.host !== undefined && host === undefined) throw new Error("--host must be an account's id (acc_…)");
  const directory = openNodeDirectory({ pool, rules: config.nodeRules });
  const nodes = await everyPage((page) => directory.search({ text, standing, host, ...page }));
  if (json) print(JSON.stringify(nodes.map(shown), null, 2));
  else for (const node of nodes) print(line(node));
  const all = text === undefined && standing === undefined && host === undefined;
  if (!json && nodes.length === 0) print(all ? "No node is registered." : "No such node.");
  return 0;
}

async function show(run: AdminRun): Promise<number> {
  const node = await find(run, nodeId(run));
  run.print(run.json ? JSON.stringify(shown(node), null, 2) : line(node));
  if (run.json) return 0;
  const { agent, hardware, createdAt, hostSuspended, quarantine: why, probation, withheld } = node;
  run.print(
    `  registered ${createdAt.toISOString()}, agent ${agent || "unknown"}, hardware ${JSON.stringify(hardware)}`,
  );
  if (hostSuspended) run.print("  its host is suspended");
  if (probation !== null) {
    run.print(`  on probation: ${probation.answers} of ${probation.needed} honest answers, one request at a time`);
  }
  if (withheld !== null) {
    run.print("  gets no work: another node of its host is in quarantine (tollgate admin node clear lets it work)");
  }
  if (why === null) return 0;
  run.print(`  quarantined ${why.at.toISOString()} by ${why.by}: ${why.reason}`);
  run.print(`  evidence ${JSON.stringify(why.evidence)}`);
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
  if (id === undefined) throw new Error(`${args[0]} is not a node's id (node_…)`);
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
  run.print(run.json ? JSON.stringify(shown(node), null, 2) : line(node));
  return 0;
}

function line({ id, name, hostName, standing, models, quarantine: why, withheld }: ListedEntry): string {
  const parts = [publicId("node", id), standing.padEnd(11), name, hostName, models.join(",")];
  if (why !== null) parts.push(`(${why.reason})`);
  if (withheld !== null) parts.push("(no work: its host has a node in quarantine)");
  return parts.join("  ").trimEnd();
}

function shown({ id, accountId, hostName, ...rest }: ListedEntry): object {
  return { id: publicId("node", id), account: publicId("acc", accountId), account_name: hostName, ...rest };
}
