/** `tollgate-host status`: shows a node's state, speed, and today's requests. */

import type { CommandInput } from "@tollgate/terminal/command.ts";
import { UsageError } from "@tollgate/terminal/errors.ts";
import { alignProperties, alignRows, type Paint, sanitiseForTerminal } from "@tollgate/terminal/terminal-text.ts";
import { type Command, type CommandContext, printResult } from "./command.ts";
import {
  formatCount,
  formatCounted,
  formatDollarColumn,
  formatDollars,
  formatMilliseconds,
  formatPercent,
  formatPerSecond,
  REDUCED_SLOTS_REASON,
} from "./format-values.ts";
import type {
  ActivityTotal,
  HostActivity,
  Node,
  NodeStatsAnswer,
  Probation,
  Quarantine,
} from "./gateway/gateway-answers.ts";
import type { ActivityRange } from "./gateway/gateway-client.ts";
import { chooseNodeId, openLoginSession } from "./login-session.ts";
import { formatReportedHardware } from "./machine/reported-hardware.ts";
import { NODE_FLAG } from "./parse-arguments.ts";
import {
  formatQuarantineLines,
  formatQuarantineRemedy,
  WITHHELD_REQUESTS_REMEDY,
  withheldRequestsReason,
} from "./quarantine-texts.ts";
import { RANGE_LABELS, RANGES } from "./range-flag.ts";

export const statusCommand: Command = {
  help: "show the node's state, its speed and its work today",
  flags: {
    ...NODE_FLAG,
    all: { help: "every node of your account, one line each" },
    range: { value: "RANGE", help: "the period of the figures (default: 24h)", oneOf: RANGES },
  },
  more: [
    "Today is the day in UTC. Speeds are medians that the gateway measured. Use is the share of slot time spent on requests while the node is connected.",
  ],
  example: "--all --range 7d",
  run,
};

async function run({ flags, switches, json }: CommandInput, context: CommandContext): Promise<number> {
  const all = switches.has("all");
  if (all && flags.node !== undefined) throw new UsageError("--node and --all cannot be combined");
  const range = (flags.range ?? "24h") as ActivityRange;
  const session = await openLoginSession(context);
  const { paint } = context.terminal;
  if (all) {
    const [nodes, insight] = await Promise.all([session.gateway.nodes(), session.gateway.insight(range)]);
    const own = session.login.node?.id;
    printResult(context, json, { object: "list", data: nodes, ...(insight !== undefined && { insight }) }, () => [
      ...nodeLines(nodes, own, paint),
      ...(insight === undefined ? [] : insightLines(nodes, insight, range)),
    ]);
    return 0;
  }
  const id = chooseNodeId(session, flags.node);
  const { gateway } = session;
  const [node, stats, insight] = await Promise.all([
    gateway.node(id),
    gateway.stats(id),
    gateway.nodeInsight(id, range),
  ]);
  const past = insight && { range, total: insight.total };
  const more = {
    ...(node.hardware != null && { hardware: node.hardware }),
    ...(past !== undefined && { insight: past }),
  };
  printResult(context, json, { ...stats, name: node.name, ...more }, () => statusLines(node, stats, past, paint));
  return 0;
}

function nodeLines(nodes: Node[], own: string | undefined, paint: Paint): string[] {
  if (nodes.length === 0) return ["the account has no nodes yet", "next: tollgate-host register"];
  return alignRows(
    nodes.map((node) => [
      node.id,
      sanitiseForTerminal(node.name),
      paintState(node.state, paint),
      `${node.models.join(", ") || "nothing elected"}${node.withheld == null ? "" : paint.bad("  (no requests)")}${node.id === own ? paint.dim("  (this machine)") : ""}`,
    ]),
  );
}

/** The figures of all nodes, printed below the list of their states. */
function insightLines(nodes: Node[], { nodes: each, total }: HostActivity, range: ActivityRange): string[] {
  const shown = nodes.flatMap((node) => {
    const found = each.find((one) => one.node === node.id);
    return found === undefined ? [] : [{ name: sanitiseForTerminal(node.name), total: found.total as ActivityTotal }];
  });
  const rows = [...shown, ...(shown.length > 1 ? [{ name: "all", total: total as ActivityTotal }] : [])];
  const amounts = formatDollarColumn(rows.map((row) => row.total.earned_micro));
  return [
    "",
    ...alignRows(
      [
        [`in ${RANGE_LABELS[range]}`, "use", "connected", "requests", "failed", "first token", "tokens/s", "earned"],
        ...rows.map(({ name, total: of }, i) => [
          name,
          formatPercent(of.utilisation),
          formatPercent(of.connected),
          formatCount(of.requests),
          formatPercent(of.failed_share),
          of.ttft_p50_ms === null ? "–" : formatMilliseconds(of.ttft_p50_ms),
          of.tps === null ? "–" : of.tps.toFixed(1),
          amounts[i] ?? "",
        ]),
      ],
      ["left", "right", "right", "right", "right", "right", "right", "right"],
    ),
  ];
}

interface Past {
  range: ActivityRange;
  total: ActivityTotal;
}

function pastLines({ range, total: of }: Past): [string, string][] {
  const failed =
    of.failed === 0 ? "none failed" : `${formatCount(of.failed)} failed (${formatPercent(of.failed_share)})`;
  const times = [
    ...(of.ttft_p50_ms === null ? [] : [`first token ${formatMilliseconds(of.ttft_p50_ms)}`]),
    ...(of.ttft_p95_ms === null ? [] : [`${formatMilliseconds(of.ttft_p95_ms)} at the 95th percentile`]),
    ...(of.tps === null ? [] : [formatPerSecond(of.tps)]),
  ];
  return [
    [
      `in ${range}`,
      `slots in use ${formatPercent(of.utilisation)}, connected ${formatPercent(of.connected)} of the time`,
    ],
    [
      "",
      `${formatCounted(of.requests, "request")}, ${failed}, ${formatCount(of.prompt_tokens)} + ${formatCount(of.completion_tokens)} tokens, ` +
        `earned ${formatDollars(of.earned_micro)}`,
    ],
    ...(times.length === 0 ? [] : [["", times.join(", ")] as [string, string]]),
  ];
}

function statusLines(node: Node, stats: NodeStatsAnswer, past: Past | undefined, paint: Paint): string[] {
  const { today, reliability } = stats;
  const speeds = stats.models.map(({ model, ttft_p50_ms, tps_p50 }) => [
    model,
    ttft_p50_ms === null ? "no speed yet" : `first token ${formatMilliseconds(ttft_p50_ms)}`,
    tps_p50 === null ? "" : formatPerSecond(tps_p50),
  ]);
  const speedLines = alignRows(speeds);
  const quarantine = stats.quarantine ?? node.quarantine;
  const probation = stats.probation ?? node.probation;
  const withheld = stats.state === "quarantined" ? null : (stats.withheld ?? node.withheld);
  return [
    ...alignProperties([
      ["node", `${node.id} (${sanitiseForTerminal(node.name)})`],
      ["state", paintState(stats.state, paint)],
      ["slots", slotsOf(stats)],
      ...formatReportedHardware(node.hardware),
      ...speedLines.map((line, i): [string, string] => [i === 0 ? "models" : "", line]),
      ...(speedLines.length === 0 ? [["models", "none elected"] as [string, string]] : []),
      [
        "today",
        `${formatCounted(today.requests, "request")}, ${formatCount(today.prompt_tokens)} + ${formatCount(today.completion_tokens)} tokens, ` +
          `earned ${formatDollars(today.earned_micro)}`,
      ],
      ...(past === undefined ? [] : pastLines(past)),
      ...(reliability == null ? [] : [["failures", failuresOf(reliability)] as [string, string]]),
      ...(stats.last_day == null ? [] : [["last day", lastDayOf(stats.last_day)] as [string, string]]),
      ...(probation == null ? [] : [["probation", probationOf(probation)] as [string, string]]),
    ]),
    ...(stats.agent_outdated === true ? [paint.bad(OUTDATED), "next: install a newer tollgate-host"] : []),
    ...(quarantine == null ? [] : formatQuarantineLines(quarantine, paint)),
    ...(withheld == null
      ? []
      : [paint.bad(`no requests: ${withheldRequestsReason(withheld)}`), `next: ${WITHHELD_REQUESTS_REMEDY}`]),
    ...(withheld == null ? nextOf(stats.state, quarantine).map((line) => `next: ${line}`) : []),
  ];
}

const slotsOf = ({ connected, slots, busy, draining, engine_slots }: NodeStatsAnswer): string => {
  if (!connected) return "not connected";
  const taken = slots == null ? "connected" : `${busy ?? 0} of ${slots} busy`;
  const fewer = engine_slots == null ? "" : `, fewer than the engine's ${engine_slots}: ${REDUCED_SLOTS_REASON}`;
  return `${taken}${fewer}${draining ? ", finishing up" : ""}`;
};

const probationOf = ({ answers, needed }: Probation): string =>
  `${formatCount(answers)} of ${formatCounted(needed, "good answer")}; until then one request at a time`;

const failuresOf = ({
  jobs,
  failures,
  jobs_window,
  failures_max,
}: NonNullable<NodeStatsAnswer["reliability"]>): string =>
  jobs === 0
    ? "no jobs yet"
    : `${formatCount(failures)} in the last ${formatCounted(jobs, "job")} (${failures_max} in ${jobs_window} quarantine a node)`;

const OUTDATED =
  "no requests: a node on probation must accept a request before it receives the prompt; this agent version cannot";

const lastDayOf = (seen: NonNullable<NodeStatsAnswer["last_day"]>): string =>
  [
    formatCounted(seen.answers, "good answer"),
    formatCounted(seen.failures, "failure"),
    formatCounted(seen.silences, "silence"),
    formatCounted(seen.refusals, "refusal"),
    formatCounted(seen.late_acceptances, "late acceptance"),
  ].join(", ");

function paintState(state: string, paint: Paint): string {
  if (state === "online") return paint.good(state);
  if (state === "quarantined" || state === "retired") return paint.bad(state);
  return paint.warn(state);
}

function nextOf(state: string, quarantine: Quarantine | null | undefined): string[] {
  const steps: Record<string, string> = {
    registered: "tollgate-host elect chooses the models to serve",
    ready: "tollgate-host up starts serving",
    paused: "to accept requests again: tollgate-host resume",
    quarantined: formatQuarantineRemedy(quarantine),
    retired: "tollgate-host register --name ANOTHER creates a new node with another name",
  };
  const step = steps[state];
  return step === undefined ? [] : [step];
}
