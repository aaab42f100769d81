/** `tollgate admin withheld …`: lists and releases withheld shares. */
import { isPlainText } from "@tollgate/api/plain-text.ts";
import { UsageError } from "@tollgate/terminal/errors.ts";
import { type Column, formatTable } from "@tollgate/terminal/table-format.ts";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { formatExactMicrodollars } from "../../base/money.ts";
import { openWithheldSharesReserve, type WithheldShare } from "../../ledger/withheld-shares-reserve.ts";
import { openAudit } from "../../operators/audit.ts";
import { type AdminCommand, type AdminRun, COMMAND_LINE_ACTOR } from "./admin-run.ts";
import { formatDollars } from "./format-dollars.ts";

const PAGE = 500;

export const withheldShareCommands: Record<string, AdminCommand> = {
  "withheld list": {
    help: "list hosts' withheld earnings, newest request first",
    flags: {
      node: { value: "NODE", help: "list only withheld earnings of this node (node_…)" },
      host: { value: "ACCOUNT", help: "list only withheld earnings of this host (acc_…)" },
      all: { help: "also list earnings that were released to the host" },
    },
    example: "--node node_01jc9v6w2e8t3k5m7q9r1s4x6z",
    run: list,
  },
  "withheld release": {
    help: "pay a host the earnings withheld for one request or one node",
    flags: {
      request: { value: "REQUEST", help: "release the withheld share of this request (req_…)" },
      node: { value: "NODE", help: "release all withheld shares of this node (node_…)" },
      note: { value: "TEXT", required: true, help: "why, in 1 to 200 characters; the host sees it" },
    },
    example: '--request req_01jc9v6w2e8t3k5m7q9r1s4x6z --note "the failure was ours"',
    run: release,
  },
};

function idOf(kind: "req" | "node" | "acc", text: string, what: string): Uuid {
  const id = parseId(kind, text);
  if (id === undefined) throw new UsageError(`${what} must be an id that begins with ${kind}_, not ${text}`);
  return id;
}

async function list({ flags, switches, json, pool, print, terminal }: AdminRun): Promise<number> {
  const reserve = openWithheldSharesReserve({ pool });
  const { node, host } = flags;
  const filter = {
    nodeId: node === undefined ? undefined : idOf("node", node, "--node"),
    hostId: host === undefined ? undefined : idOf("acc", host, "--host"),
    open: !switches.has("all"),
  };
  const shares: WithheldShare[] = [];
  for (let before: Uuid | undefined; ; before = shares.at(-1)?.requestId) {
    const page = await reserve.list({ ...filter, before, limit: PAGE });
    shares.push(...page);
    if (page.length < PAGE) break;
  }
  if (!json) {
    print(shares.length === 0 ? "No host shares are withheld." : formatTable(COLUMNS, shares, terminal));
    return 0;
  }
  const shown = shares.map(({ requestId, hostId, hostName, nodeId, nodeName, amount, takenBack, ...rest }) => ({
    request_id: publicId("req", requestId),
    account: publicId("acc", hostId),
    account_name: hostName,
    node: publicId("node", nodeId),
    node_name: nodeName,
    amount_micro: formatExactMicrodollars(amount),
    taken_back: takenBack,
    ...rest,
  }));
  print(JSON.stringify(shown, null, 2));
  return 0;
}

async function release({ flags, json, pool, newId, print }: AdminRun): Promise<number> {
  const { request, node, note = "" } = flags;
  if ((request === undefined) === (node === undefined))
    throw new UsageError("exactly one of --request and --node is required");
  if (note.trim() === "" || note.length > 200 || !isPlainText(note))
    throw new UsageError("--note must have 1 to 200 characters and no control characters");
  const of =
    node === undefined
      ? { requestIds: [idOf("req", request as string, "--request")] }
      : { nodeId: idOf("node", node, "--node") };
  const act = {
    operator: COMMAND_LINE_ACTOR,
    action: "withheld.release",
    subject: node ?? (request as string),
    details: { note },
  };
  const { shares, amount } = await openAudit({ pool, newId }).record(act, () =>
    openWithheldSharesReserve({ pool }).release(of, { by: COMMAND_LINE_ACTOR, note }),
  );
  if (json) print(JSON.stringify({ shares, amount_micro: formatExactMicrodollars(amount) }, null, 2));
  else print(`${shares} ${shares === 1 ? "share" : "shares"} released, ${formatDollars(amount)}`);
  return 0;
}

const COLUMNS: Column<WithheldShare>[] = [
  { title: "REQUEST", cell: ({ requestId }) => publicId("req", requestId) },
  { title: "AMOUNT", align: "money", cell: ({ amount }) => formatDollars(amount) },
  { title: "REASON", cell: ({ reason }) => reason },
  { title: "NODE", cell: ({ nodeId }) => publicId("node", nodeId) },
  { title: "HOST", cell: ({ hostName }) => hostName },
  { title: "RELEASED", cell: ({ releasedAt }) => releasedAt?.toISOString().slice(0, 10) ?? "" },
];
