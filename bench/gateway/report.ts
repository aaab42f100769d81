/**
 * Reports a run: one line per measurement while it runs, and at the end a summary in Markdown with the project's target
 * values and a table for each scenario.
 *
 * Figures are medians of repeats. Ratios compare the measured gateways within one repeat. No result makes the run fail.
 */

import type { CpuConsumer, ResultRow } from "./measure-target.ts";
import {
  computeCpuPerEventUs,
  computeCpuPerRequestUs,
  computeMedianFigure,
  countErrors,
  divideIfMeasured,
  type FigureDefinition,
  figureValues,
  medianOfNumbers,
  microsecondsToMilliseconds,
  processorsUsedByOthers,
} from "./result-figures.ts";
import { SCENARIOS, type ScenarioName } from "./scenarios.ts";

export interface RunConditions {
  /** The commit, followed by a plus if the sources were changed since. */
  commit: string;
  command: string;
  startedAt: string;
  quick: boolean;
  repeats: number;
  processor: string;
  processors: number;
  /** The processors that only the measured programs used; null if none were reserved. */
  measuredOn: string | null;
  memoryGib: number;
  node: string;
  /** The versions of those measured programs that report one. */
  versions: Record<string, string>;
  durableWriteMs: number;
  /** The programs that could not run, with the reasons. */
  leftOut: string[];
}

export function summaryMarkdown(facts: RunConditions, rows: ResultRow[]): string {
  const parts = [heading(facts), aimsTable(rows)];
  for (const name of new Set(rows.map((row) => row.scenario))) {
    parts.push(
      scenarioPart(
        name as ScenarioName,
        rows.filter((row) => row.scenario === name),
      ),
    );
  }
  return `${parts.join("\n\n")}\n`;
}

function heading(facts: RunConditions): string {
  const { processors, processor, measuredOn, memoryGib, node, durableWriteMs, repeats } = facts;
  const pinned = measuredOn === null ? "not pinned" : "targets alone on one of them";
  return [
    `${facts.startedAt}: ${processors} × ${processor} (${pinned}), ${memoryGib} GiB, Node ${node.slice(1)}; a durable`,
    `write takes ${durableWriteMs.toFixed(2)} ms. ${facts.quick ? "Quick: short runs, not for quoting" : `Median of ${repeats}`}.`,
    ...(facts.leftOut.length === 0 ? [] : [`\nLeft out: ${facts.leftOut.join("; ")}.`]),
  ].join("\n");
}

function scenarioPart(name: ScenarioName, rows: ResultRow[]): string {
  const { what, stream, mode } = SCENARIOS[name];
  const columns = mode === "paired" ? pairedColumns : stream ? streamColumns : requestColumns;
  const direct = rows.filter((row) => row.target === "direct");
  const others = direct.length === 0 ? "" : `\n\n${surroundings(direct)}`;
  return `### ${name}: ${what}\n\n${table(rows, columns)}${others}`;
}

/**
 * Describes the processor time of the engine and the load generator, which limits how fast any target can be measured.
 */
function surroundings(direct: ResultRow[]): string {
  const [engine, generator] = [perRequest(direct, "engine"), perRequest(direct, "generator")];
  return `Engine ${engine} and generator ${generator} µs per request in the direct runs.`;
}

/** Formats one measurement as one line. */
export function formatResultLine(row: ResultRow): string {
  const { scenario, target, repeat, ok, latencyMs, cpuUs, engineEvents, gatewayPeakMib, slowestOverPace } = row;
  const errors = Object.entries(row.errors).map(([what, count]) => `${count} × ${what}`);
  const each = engineEvents > 0 && row.ttftMs !== undefined ? engineEvents : ok;
  const unit = each === ok ? "request" : "event";
  const cost = (["gateway", "postgres", "agent"] as const).flatMap((who) => {
    const us = cpuUs[who];
    return us === undefined ? [] : [`${who} ${(us / each).toFixed(1)}`];
  });
  const cores = (us: number | undefined): string => ((us ?? 0) / row.wallUs).toFixed(2);
  return [
    `${scenario.padEnd(16)} #${repeat} ${target.padEnd(9)}`,
    `${ok} ok, ${((ok / row.wallUs) * 1e6).toFixed(0)}/s, p50 ${latencyMs?.p50.toFixed(2)} ms`,
    cost.length === 0 ? "" : `µs per ${unit}: ${cost.join(", ")}`,
    `processors: gateway ${cores(cpuUs.gateway)}, other ${cores(cpuUs.other)}`,
    gatewayPeakMib === undefined ? "" : `${gatewayPeakMib.toFixed(0)} MiB`,
    slowestOverPace === undefined ? "" : `slowest ${slowestOverPace.toFixed(3)} × pace`,
    errors.length === 0 ? "" : `ERRORS ${errors.join(", ")}`,
  ]
    .filter((part) => part !== "")
    .join("; ");
}

interface Column {
  title: string;
  /** Formats the table cell of one target from its own rows; `all` are the scenario's rows of every target. */
  cell(own: ResultRow[], all: ResultRow[]): string;
}

function table(rows: ResultRow[], columns: Column[]): string {
  const names = [...new Set(rows.map((row) => row.target))].sort();
  const lines = [
    ["", ...columns.map(({ title }) => title)],
    ["", ...columns.map(() => "")].map(() => "---"),
    ...names.map((name) => {
      const own = rows.filter((row) => row.target === name);
      return [name, ...columns.map(({ cell }) => cell(own, rows))];
    }),
  ];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** Returns the median, or a dash if nothing was measured. */
function median(rows: ResultRow[], figure: FigureDefinition, digits: number): string {
  return computeMedianFigure(rows, figure)?.toFixed(digits) ?? "–";
}

/** Returns the median, with minimum and maximum if there were several values. */
function spread(rows: ResultRow[], figure: FigureDefinition, digits: number): string {
  const values = figureValues(rows, figure);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const about = values.length > 1 ? ` (${least.toFixed(digits)}–${most.toFixed(digits)})` : "";
  return `${median(rows, figure, digits)}${about}`;
}

/** Returns the ratio of a figure to that of another target, computed for each repeat. */
function timesOf(own: ResultRow[], other: ResultRow[], figure: FigureDefinition): string {
  const ratios = own.flatMap((row) => {
    const match = other.find(({ repeat }) => repeat === row.repeat);
    const [a, b] = [figure(row), match === undefined ? undefined : figure(match)];
    return a === undefined || b === undefined || b === 0 ? [] : [a / b];
  });
  return ratios.length === 0 ? "–" : medianOfNumbers(ratios).toFixed(2);
}

const perRequest = (rows: ResultRow[], who: CpuConsumer): string => median(rows, computeCpuPerRequestUs(who), 0);

interface Aim {
  what: string;
  scenario: ScenarioName;
  aim: string;
  digits: number;
  figure: FigureDefinition;
}

const AIMS: Aim[] = [
  {
    what: "gateway ms per chat, 64 at once",
    scenario: "chat-c64",
    aim: "≤ 0.50; 0.20 unpinned",
    digits: 3,
    figure: microsecondsToMilliseconds(computeCpuPerRequestUs("gateway")),
  },
  {
    what: "gateway µs per event, 100 paced streams",
    scenario: "streams-100",
    aim: "≤ 35",
    digits: 1,
    figure: computeCpuPerEventUs("gateway"),
  },
  {
    what: "gateway µs per event, unpaced",
    scenario: "streams-unpaced",
    aim: "≤ 4",
    digits: 1,
    figure: computeCpuPerEventUs("gateway"),
  },
  {
    what: "slowest of 500 streams ÷ pace",
    scenario: "streams-500",
    aim: "≤ 1.05",
    digits: 3,
    figure: (row) => row.slowestOverPace,
  },
  {
    what: "added latency p50, ms",
    scenario: "chat-pair",
    aim: "≤ 1.5",
    digits: 2,
    figure: (row) => row.paired?.added?.p50,
  },
  {
    what: "added latency p99, ms",
    scenario: "chat-pair",
    aim: "≤ 5",
    digits: 2,
    figure: (row) => row.paired?.added?.p99,
  },
  {
    what: "gateway ms per chat, a conversation of 100 KB grown by a turn",
    scenario: "agent-c16",
    aim: "≤ 2.5",
    digits: 2,
    figure: microsecondsToMilliseconds(computeCpuPerRequestUs("gateway")),
  },
  {
    what: "agent ms per chat, 64 at once",
    scenario: "chat-c64",
    aim: "≤ 0.4",
    digits: 3,
    figure: microsecondsToMilliseconds(computeCpuPerRequestUs("agent")),
  },
  {
    what: "gateway MiB at 1,000 streams",
    scenario: "streams-1000",
    aim: "≤ 220",
    digits: 0,
    figure: (row) => row.gatewayPeakMib,
  },
];

function aimsTable(rows: ResultRow[]): string {
  const others = [...new Set(rows.map((row) => row.target))].filter((name) => name !== "tollgate");
  const names = ["tollgate", ...others.sort()];
  const lines = AIMS.map(({ what, scenario, aim, digits, figure }) => {
    const cell = (name: string): string =>
      median(
        rows.filter((row) => row.scenario === scenario && row.target === name),
        figure,
        digits,
      );
    return [what, aim, ...names.map(cell)];
  });
  const all = [["", "aim", ...names], ["---", "---", ...names.map(() => "---")], ...lines];
  return all.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

const of = (all: ResultRow[], target: string): ResultRow[] => all.filter((row) => row.target === target);
const requestsPerSecond = (row: ResultRow): number => (row.ok / row.wallUs) * 1e6;

/** How often the process was woken, called read and called write, per request. */
const handOvers = (who: "gateway" | "agent"): Column => ({
  title: `${who} wake-ups / reads / writes`,
  cell: (own) =>
    (["wakeUps", "reads", "writes"] as const)
      .map((what) => median(own, (row) => divideIfMeasured(row.handOvers[who]?.[what], row.ok), 1))
      .join(" / "),
});

const common: Column[] = [
  {
    title: "MiB before / peak",
    cell: (own) => `${median(own, (row) => row.gatewayBeforeMib, 0)} / ${median(own, (row) => row.gatewayPeakMib, 0)}`,
  },
  { title: "others' processors", cell: (own) => median(own, processorsUsedByOthers, 2) },
  { title: "errors", cell: (own) => String(countErrors(own)) },
];

const perRequestMs = (title: string, who: CpuConsumer): Column => ({
  title,
  cell: (own) => median(own, microsecondsToMilliseconds(computeCpuPerRequestUs(who)), 3),
});
const perEventUs = (title: string, who: CpuConsumer): Column => ({
  title,
  cell: (own) => median(own, computeCpuPerEventUs(who), 1),
});

const requestColumns: Column[] = [
  { title: "gateway ms", cell: (own) => spread(own, microsecondsToMilliseconds(computeCpuPerRequestUs("gateway")), 3) },
  { title: "× bare", cell: (own, all) => timesOf(own, of(all, "bare"), computeCpuPerRequestUs("gateway")) },
  perRequestMs("PostgreSQL ms", "postgres"),
  perRequestMs("agent ms", "agent"),
  { title: "requests/s", cell: (own) => median(own, requestsPerSecond, 0) },
  {
    title: "p50 / p99 ms",
    cell: (own) => `${median(own, (row) => row.latencyMs?.p50, 2)} / ${median(own, (row) => row.latencyMs?.p99, 2)}`,
  },
  handOvers("gateway"),
  handOvers("agent"),
  ...common,
];

const streamColumns: Column[] = [
  { title: "gateway µs/event", cell: (own) => spread(own, computeCpuPerEventUs("gateway"), 1) },
  { title: "× bare", cell: (own, all) => timesOf(own, of(all, "bare"), computeCpuPerEventUs("gateway")) },
  perEventUs("PostgreSQL µs/event", "postgres"),
  perEventUs("agent µs/event", "agent"),
  {
    title: "first byte p50 / p99 ms",
    cell: (own) => `${median(own, (row) => row.ttftMs?.p50, 1)} / ${median(own, (row) => row.ttftMs?.p99, 1)}`,
  },
  {
    title: "relay p50 / p99 ms",
    cell: (own) => `${median(own, (row) => row.relayMs?.p50, 2)} / ${median(own, (row) => row.relayMs?.p99, 2)}`,
  },
  { title: "slowest ÷ pace", cell: (own) => median(own, (row) => row.slowestOverPace, 3) },
  ...common,
];

const pairedColumns: Column[] = [
  { title: "direct p50 ms", cell: (own) => median(own, (row) => row.paired?.direct?.p50, 3) },
  { title: "through it p50 ms", cell: (own) => median(own, (row) => row.latencyMs?.p50, 3) },
  { title: "added p50 ms", cell: (own) => spread(own, (row) => row.paired?.added?.p50, 3) },
  { title: "added p95 / p99 ms", cell: (own) => addedTail(own) },
  { title: "gateway ms", cell: (own) => median(own, microsecondsToMilliseconds(computeCpuPerRequestUs("gateway")), 3) },
  perRequestMs("PostgreSQL ms", "postgres"),
  perRequestMs("agent ms", "agent"),
  handOvers("gateway"),
  handOvers("agent"),
  ...common.slice(1),
];

function addedTail(own: ResultRow[]): string {
  return `${median(own, (row) => row.paired?.added?.p95, 2)} / ${median(own, (row) => row.paired?.added?.p99, 2)}`;
}
