/** `tollgate-host earnings`: prints balances, and the requests that earned them. */

import type { CommandInput } from "@tollgate/terminal/command.ts";
import { CommandError, UsageError } from "@tollgate/terminal/errors.ts";
import { alignProperties, alignRows, sanitiseForTerminal } from "@tollgate/terminal/terminal-text.ts";
import { type Command, type CommandContext, printResult } from "./command.ts";
import {
  formatCount,
  formatCounted,
  formatDollarColumn,
  formatDollars,
  formatUtcTime,
  sumMicro,
} from "./format-values.ts";
import type { Earning, EarningsPage, HostActivity, WithheldShare } from "./gateway/gateway-answers.ts";
import type { ActivityRange, EarningsQuery, GatewayClient } from "./gateway/gateway-client.ts";
import { chooseNodeId, type LoginSession, openLoginSession } from "./login-session.ts";
import { parseDayOrTime, parseWholeNumber } from "./parse-arguments.ts";
import { RANGE_LABELS, RANGES } from "./range-flag.ts";

const SHOWN = 20;
const LIMIT_MAX = 1_000_000;
const PAGE_MAX = 100;

export const earningsCommand: Command = {
  help: "show your earnings and the requests that they come from",
  flags: {
    from: {
      value: "DAY",
      help: "since this day, such as 2026-11-01 (UTC), or since a time, such as 2026-11-01T12:00:00Z",
    },
    to: {
      value: "DAY",
      help: "up to the end of this day, such as 2026-11-30 (UTC), or up to a time, such as 2026-11-30T12:00:00Z",
    },
    node: { value: "ID", help: "only this node (default: every node of the account)" },
    limit: { value: "N", help: `how many requests to show (default: ${SHOWN}; all of them with --csv or --json)` },
    range: { value: "RANGE", help: "show sums by hour or day and by node instead of single requests", oneOf: RANGES },
    csv: { help: "all requests of the period as CSV; amounts in millionths of a dollar" },
  },
  more: [
    "A host gets 70 % of what a request cost its builder, rounded down to the picodollar. Earnings are paid out when they are older than the platform's hold-back period. A set-off is a deduction: it pays a debt that a refund or a dispute left on the same owner's builder account. Withheld earnings are for requests that your node failed or broke off; each has its reason, and an operator can release it.",
  ],
  example: "--from 2026-11-01 --csv > november.csv",
  run,
};

async function run({ flags, switches, json }: CommandInput, context: CommandContext): Promise<number> {
  const csv = switches.has("csv");
  const mistakes: string[] = [];
  const wrong = (mistake: string): undefined => void mistakes.push(mistake);
  if (csv && json) wrong("--csv and --json cannot be combined");
  const from = parseDayOrTime("from", flags.from, "begin", wrong);
  const to = parseDayOrTime("to", flags.to, "end", wrong);
  if (from !== undefined && to !== undefined && from >= to) wrong("--from must be before --to");
  const limit = parseWholeNumber("limit", flags.limit, { min: 1, max: LIMIT_MAX }, wrong);
  const range = flags.range as ActivityRange | undefined;
  if (
    flags.range !== undefined &&
    [csv || undefined, flags.from, flags.to, flags.limit].some((flag) => flag !== undefined)
  )
    wrong("--range can be combined with --node and --json only");
  if (mistakes.length > 0) throw new UsageError(mistakes);

  const session = await openLoginSession(context);
  if (range !== undefined) {
    await showRange(session, context, { range, node: flags.node && chooseNodeId(session, flags.node), json });
    return 0;
  }
  const query = {
    from: from?.toString(),
    to: to?.toString(),
    node: flags.node === undefined ? undefined : chooseNodeId(session, flags.node),
  };
  if (csv) await printCsv(session, context, query, limit);
  else await show(session, context, { query, limit: limit ?? (json ? undefined : SHOWN), json });
  return 0;
}

interface Ranged {
  range: ActivityRange;
  node: string | undefined;
  json: boolean;
}

/** Prints earnings over time and by node instead of single requests. */
async function showRange(
  { gateway }: LoginSession,
  context: CommandContext,
  { range, node, json }: Ranged,
): Promise<void> {
  const [all, nodes] = await Promise.all([
    node === undefined ? gateway.insight(range) : gateway.nodeInsight(node, range),
    node === undefined ? gateway.nodes() : [],
  ]);
  if (all === undefined)
    throw new CommandError("the gateway is older than tollgate-host, and cannot return totals for a time range", {
      next: "leave out --range",
    });
  const nameOf = (id: string): string => sanitiseForTerminal(nodes.find((each) => each.id === id)?.name ?? id);
  const slots = all.earnings.filter(({ earned_micro }) => !/^[0.]*$/.test(earned_micro));
  const byNode = "nodes" in all ? (all.nodes as HostActivity["nodes"]) : [];
  printResult(context, json, all, () => [
    ...column(
      all.earnings_slot_s < 86_400 ? "hour (UTC)" : "day (UTC)",
      slots.map(({ at, earned_micro }) => [
        formatUtcTime(at).slice(0, all.earnings_slot_s < 86_400 ? 16 : 10),
        earned_micro,
      ]),
    ),
    ...(byNode.length < 2
      ? []
      : [
          "",
          ...column(
            "node",
            byNode.map(({ node: id, total }) => [nameOf(id), total.earned_micro]),
          ),
        ]),
    ...(slots.length === 0 ? [] : [""]),
    `${formatCounted(all.total.requests, "request")} in ${RANGE_LABELS[range]}, earned ${formatDollars(all.total.earned_micro)}`,
  ]);
}

function column(title: string, rows: [name: string, micro: string][]): string[] {
  if (rows.length === 0) return [];
  const amounts = formatDollarColumn(rows.map(([, micro]) => micro));
  return alignRows([[title, "earned"], ...rows.map(([name], i) => [name, amounts[i] ?? ""])], ["left", "right"]);
}

/** Prints page by page, so that a year of requests never has to fit into memory. */
async function printCsv({ gateway }: LoginSession, { terminal }: CommandContext, query: EarningsQuery, limit?: number) {
  terminal.print("finished_at,request_id,node,model,prompt_tokens,completion_tokens,outcome,earned_micro,own");
  for await (const { rows } of pages(gateway, query, limit)) {
    for (const row of rows) {
      const time = new Date(row.finished_at * 1000).toISOString();
      const { request_id, node, model, prompt_tokens, completion_tokens, outcome, earned_micro, own } = row;
      terminal.print(
        [time, request_id, node, model, prompt_tokens, completion_tokens, outcome, earned_micro, own]
          .map(cell)
          .join(","),
      );
    }
  }
}

/**
 * Quotes a CSV value where necessary. The gateway's values never begin like a spreadsheet formula, so none is escaped
 * for that.
 */
function cell(value: string | number | boolean | null | undefined): string {
  const text = String(value ?? "");
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

interface Wanted {
  query: EarningsQuery;
  limit: number | undefined;
  json: boolean;
}

async function show({ gateway }: LoginSession, context: CommandContext, { query, limit, json }: Wanted): Promise<void> {
  const data: Earning[] = [];
  let last: EarningsPage | undefined;
  let more = false;
  for await (const page of pages(gateway, query, limit)) {
    data.push(...page.rows);
    last = page.page;
    more = page.more;
  }
  if (last === undefined) return;
  const { balance, today_micro } = last;
  // Gateways of the previous release withhold nothing and have no endpoint for withheld shares.
  const hasWithheld = !isNothing(balance.withheld_micro);
  const withheld = hasWithheld ? (await gateway.withheld({ node: query.node, limit: SHOWN })).data : [];
  printResult(context, json, { balance, today_micro, data, withheld, more }, () => [
    ...alignProperties([
      ["today", formatDollars(today_micro)],
      ["earned", `${formatDollars(balance.earned_micro)}${part(balance.own_micro, "from your own requests")}`],
      ["paid out", `${formatDollars(balance.paid_out_micro)}${part(balance.set_off_micro, "more deducted for debts")}`],
      ["pending", `${formatDollars(balance.pending_micro)}${part(balance.held_back_micro, "held back for now")}`],
      ...(hasWithheld ? [["withheld", formatDollars(balance.withheld_micro ?? "0")] as [string, string]] : []),
    ]),
    "",
    ...withheldLines(withheld),
    ...requestLines(data, more),
  ]);
}

/** `, $0.50 held back for now`; empty if the amount is zero. */
function part(amount: string | null | undefined, what: string): string {
  return isNothing(amount) ? "" : `, ${formatDollars(amount)} ${what}`;
}

const isNothing = (amount: string | null | undefined): amount is null | undefined | "0" =>
  amount === null || amount === undefined || /^[0.]*$/.test(amount);

/** The latest withheld shares (earnings that are not paid), each with its reason. */
function withheldLines(shares: WithheldShare[]): string[] {
  if (shares.length === 0) return [];
  const amounts = formatDollarColumn(shares.map(({ amount_micro }) => amount_micro));
  const rows = shares.map(({ withheld_at, request_id, explanation, released_at }, i) => [
    formatUtcTime(withheld_at),
    request_id,
    amounts[i] ?? "",
    `${sanitiseForTerminal(explanation)}${released_at == null ? "" : " Released."}`,
  ]);
  return [
    ...alignRows([["withheld (UTC)", "request", "share", "reason"], ...rows], ["left", "left", "right", "left"]),
    "",
  ];
}

function requestLines(rows: Earning[], more: boolean): string[] {
  if (rows.length === 0) return ["no request has earned anything in this period"];
  const total = formatDollars(sumMicro(rows.map((row) => row.earned_micro)));
  const amounts = formatDollarColumn(rows.map((row) => row.earned_micro));
  return [
    ...alignRows(
      [
        ["finished (UTC)", "request", "model", "prompt", "output", "outcome", "earned"],
        ...rows.map((row, i) => [
          formatUtcTime(row.finished_at),
          row.request_id,
          row.model ?? "–",
          formatCount(row.prompt_tokens),
          formatCount(row.completion_tokens),
          row.outcome,
          amounts[i] ?? "",
        ]),
      ],
      ["left", "left", "left", "right", "right", "left", "right"],
    ),
    "",
    `${formatCounted(rows.length, "request")}, ${total}${more ? "; --limit N shows more, --csv shows all" : ""}`,
  ];
}

interface Chunk {
  page: EarningsPage;
  rows: Earning[];
  /** Whether the gateway has more rows than the limit allows. */
  more: boolean;
}

/** Yields pages of earnings until the limit is reached or the gateway has no more. */
async function* pages(gateway: GatewayClient, query: EarningsQuery, limit = Number.POSITIVE_INFINITY) {
  let left = limit;
  let cursor: string | undefined;
  do {
    const page = await gateway.earnings({ ...query, cursor, limit: Math.min(PAGE_MAX, left) });
    const rows = page.data.slice(0, left);
    left -= rows.length;
    cursor = page.next_cursor ?? undefined;
    yield { page, rows, more: cursor !== undefined } satisfies Chunk;
  } while (cursor !== undefined && left > 0);
}
