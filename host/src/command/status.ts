/** `tollgate-host status`: how a node stands, how fast it is, what it did today. */

import { readFlags, UsageError } from "./arguments.ts";
import { answer, type Command, type CommandContext } from "./command.ts";
import type { Node, Probation, Quarantine, Stats } from "./gateway/answers.ts";
import { quarantineLines, quarantineRemedy, WITHHELD_REMEDY, withheldReason } from "./quarantine.ts";
import { nodeIdOf, openSession } from "./session.ts";
import { count, counted, dollars, milliseconds, perSecond } from "./terminal/format.ts";
import { facts, type Paint, sanitise, table } from "./terminal/text.ts";

const USAGE = `tollgate-host status: how the node stands, and what it did today

  --node ID   another node of your account; default: this machine's
  --all       every node of your account, one line each
  --json      answer as JSON

Today is the day in UTC. Speeds are medians as the gateway measures them.`;

export const status: Command = { summary: "how the node stands, and what it did today", usage: USAGE, run };

async function run(args: string[], context: CommandContext): Promise<number> {
  const flags = readFlags(args, { node: { type: "string" }, all: { type: "boolean", default: false } });
  if (flags.all && flags.node !== undefined) throw new UsageError(["--node and --all exclude each other"]);
  const session = await openSession(context);
  const { paint } = context.terminal;
  if (flags.all) {
    const nodes = await session.gateway.nodes();
    answer(context, flags.json, { object: "list", data: nodes }, () => nodeLines(nodes, session.login.node?.id, paint));
    return 0;
  }
  const id = nodeIdOf(session, flags.node);
  const [node, stats] = await Promise.all([session.gateway.node(id), session.gateway.stats(id)]);
  answer(context, flags.json, { ...stats, name: node.name }, () => statusLines(node, stats, paint));
  return 0;
}

function nodeLines(nodes: Node[], own: string | undefined, paint: Paint): string[] {
  if (nodes.length === 0) return ["the account has no node yet", "next: tollgate-host register"];
  return table(
    nodes.map((node) => [
      node.id,
      sanitise(node.name),
      paintState(node.state, paint),
      `${node.models.join(", ") || "nothing elected"}${node.withheld == null ? "" : paint.bad("  (no work)")}${node.id === own ? paint.dim("  (this machine)") : ""}`,
    ]),
  );
}

function statusLines(node: Node, stats: Stats, paint: Paint): string[] {
  const { today, reliability } = stats;
  const speeds = stats.models.map(({ model, ttft_p50_ms, tps_p50 }) => [
    model,
    ttft_p50_ms === null ? "no speed yet" : `first token ${milliseconds(ttft_p50_ms)}`,
    tps_p50 === null ? "" : perSecond(tps_p50),
  ]);
  const speedLines = table(speeds);
  const quarantine = stats.quarantine ?? node.quarantine;
  const probation = stats.probation ?? node.probation;
  const withheld = stats.state === "quarantined" ? null : (stats.withheld ?? node.withheld);
  return [
    ...facts([
      ["node", `${node.id} (${sanitise(node.name)})`],
      ["state", paintState(stats.state, paint)],
      ["slots", slotsOf(stats)],
      ...speedLines.map((line, i): [string, string] => [i === 0 ? "models" : "", line]),
      ...(speedLines.length === 0 ? [["models", "none elected"] as [string, string]] : []),
      [
        "today",
        `${counted(today.requests, "request")}, ${count(today.prompt_tokens)} + ${count(today.completion_tokens)} tokens, ` +
          `earned ${dollars(today.earned_micro)}`,
      ],
      ...(reliability == null ? [] : [["failures", failuresOf(reliability)] as [string, string]]),
      ...(probation == null ? [] : [["probation", probationOf(probation)] as [string, string]]),
    ]),
    ...(quarantine == null ? [] : quarantineLines(quarantine, paint)),
    ...(withheld == null ? [] : [paint.bad(`no work: ${withheldReason(withheld)}`), `next: ${WITHHELD_REMEDY}`]),
    ...(withheld == null ? nextOf(stats.state, quarantine).map((line) => `next: ${line}`) : []),
  ];
}

const slotsOf = ({ connected, slots, busy, draining }: Stats): string => {
  if (!connected) return "not connected";
  const taken = slots == null ? "connected" : `${busy ?? 0} of ${slots} busy`;
  return draining ? `${taken}, finishing up` : taken;
};

const probationOf = ({ answers, needed }: Probation): string =>
  `${count(answers)} of ${counted(needed, "honest answer")}; until then one request at a time`;

const failuresOf = ({ jobs, failures, jobs_window, failures_max }: NonNullable<Stats["reliability"]>): string =>
  jobs === 0
    ? "no jobs yet"
    : `${count(failures)} in the last ${counted(jobs, "job")} (${failures_max} in ${jobs_window} quarantine a node)`;

function paintState(state: string, paint: Paint): string {
  if (state === "online") return paint.good(state);
  if (state === "quarantined" || state === "retired") return paint.bad(state);
  return paint.warn(state);
}

function nextOf(state: string, quarantine: Quarantine | null | undefined): string[] {
  const steps: Record<string, string> = {
    registered: "tollgate-host elect chooses the models to serve",
    ready: "tollgate-host up serves",
    paused: "tollgate-host resume lets requests in again",
    quarantined: quarantineRemedy(quarantine),
    retired: "tollgate-host register --name ANOTHER makes a new node",
  };
  const step = steps[state];
  return step === undefined ? [] : [step];
}
