/** `tollgate-host market`: shows how much each model could earn. */
import type { CommandInput } from "@tollgate/terminal/command.ts";
import { alignRows } from "@tollgate/terminal/terminal-text.ts";
import { type Command, type CommandContext, printResult } from "./command.ts";
import { formatCount, formatCounted, formatDollarColumn } from "./format-values.ts";
import type { Market } from "./gateway/gateway-answers.ts";
import { chooseNodeId, openLoginSession } from "./login-session.ts";

export const marketCommand: Command = {
  help: "show what each model could earn",
  flags: {
    node: {
      value: "ID",
      help: "estimate with this node's speeds and slots (default: this machine's, if it is a node)",
    },
  },
  more: [
    "used/h: input and output tokens of all builders per hour, over the last 24 hours, rounded.",
    "busy: how many slots of the connected nodes are in use, and how many requests wait for a slot.",
    "slot/h: an estimate of what one slot earns per hour if it is never idle: the slot's measured input and output tokens per second × the price × the host's share.",
    "node/h: an estimate of what all slots of the node together earn per hour without idle time.",
    "mean/h: average earnings of nodes that elected (chose) the model, per connected hour, over the last 24 hours. Shown when three or more hosts serve the model, or if you are its only host.",
    "Estimates are not guaranteed, because demand changes.",
  ],
  example: "",
  run,
};

async function run({ flags, json }: CommandInput, context: CommandContext): Promise<number> {
  const session = await openLoginSession(context);
  const node = flags.node === undefined ? session.login.node?.id : chooseNodeId(session, flags.node);
  const found = await session.gateway.market(node);
  printResult(context, json, found, () => marketLines(found));
  return 0;
}

function marketLines({ data, slots, share_percent }: Market): string[] {
  const [slotHours, nodeHours, meanHours] = (["slot_hour_micro", "node_hour_micro", "mean_hour_micro"] as const).map(
    (field) => formatDollarColumn(data.map((row) => row[field])),
  ) as [string[], string[], string[]];
  const rows = data.map((row, i) => [
    `${row.elected ? "*" : " "} ${row.model}`,
    formatCount(row.tokens_per_hour_24h),
    `${row.busy} of ${row.slots}${row.waiting === 0 ? "" : `, ${row.waiting} wait`}`,
    row.speed === null
      ? "not measured"
      : `${row.speed.prompt_tokens_per_s} + ${row.speed.completion_tokens_per_s}${row.speed.of === "node" ? "" : " (others)"}`,
    slotHours[i] ?? "",
    ...(slots === null ? [] : [nodeHours[i] ?? ""]),
    meanHours[i] ?? "",
  ]);
  const names = [
    "  model",
    "used/h",
    "busy",
    "tokens/s in + out",
    "slot/h",
    ...(slots === null ? [] : ["node/h"]),
    "mean/h",
  ];
  return [
    ...alignRows([names, ...rows], ["left", "right", "left", "left", "right", "right", "right"]),
    "",
    `* marks the models that you chose. slot/h${slots === null ? "" : ` and node/h (${formatCounted(slots, "slot")})`}: estimated earnings of an hour without idle time, at ${share_percent} % of the price. --help explains the columns.`,
  ];
}
