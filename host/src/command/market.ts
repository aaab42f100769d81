/** `tollgate-host market`: what each model could earn. */
import { readFlags } from "./arguments.ts";
import { answer, type Command, type CommandContext } from "./command.ts";
import type { Market } from "./gateway/answers.ts";
import { nodeIdOf, openSession } from "./session.ts";
import { count, counted, dollarColumn } from "./terminal/format.ts";
import { table } from "./terminal/text.ts";

const USAGE = `tollgate-host market: what each model could earn

  --node ID   by the speeds and slots of this node; default: this machine's, if it is one
  --json      answer as JSON

used/h    tokens in and out that all builders together used, an hour, over the last 24, rounded
busy      slots of connected nodes that are taken, of how many, and requests that wait
slot/h    an estimate: what one slot would earn in an hour if it were never idle, which is its
          measured tokens per second, in and out, × the price × the host's share
node/h    the same for all slots of the node
mean/h    what nodes that elected it earned by it in an hour of being connected, on average over
          the last 24 hours; told where three hosts or more serve it, or you alone

An estimate is no promise: nobody knows what builders will ask for.`;

export const market: Command = { summary: "what each model could earn", usage: USAGE, run };

async function run(args: string[], context: CommandContext): Promise<number> {
  const flags = readFlags(args, { node: { type: "string" } });
  const session = await openSession(context);
  const node = flags.node === undefined ? session.login.node?.id : nodeIdOf(session, flags.node);
  const found = await session.gateway.market(node);
  answer(context, flags.json, found, () => marketLines(found));
  return 0;
}

function marketLines({ data, slots, share_percent }: Market): string[] {
  const [slotHours, nodeHours, meanHours] = (["slot_hour_micro", "node_hour_micro", "mean_hour_micro"] as const).map(
    (field) => dollarColumn(data.map((row) => row[field])),
  ) as [string[], string[], string[]];
  const rows = data.map((row, i) => [
    `${row.elected ? "*" : " "} ${row.model}`,
    count(row.tokens_per_hour_24h),
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
    ...table([names, ...rows], ["left", "right", "left", "left", "right", "right", "right"]),
    "",
    `* elected. slot/h${slots === null ? "" : ` and node/h (${counted(slots, "slot")})`}: estimates of an hour without a pause, ${share_percent} % of the price; --help tells how.`,
  ];
}
