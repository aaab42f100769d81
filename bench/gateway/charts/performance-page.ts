/** Generates the part of bench/performance.md that comes from a recorded run: the machine, the charts and the table. */
import {
  computeCpuPerEventUs,
  computeCpuPerRequestUs,
  computeMedianFigure,
  countErrors,
  type FigureDefinition,
  figureValues,
  microsecondsToMilliseconds,
  processorsUsedByOthers,
} from "../result-figures.ts";
import type { RunResult } from "../result-files.ts";
import type { ScenarioName } from "../scenarios.ts";
import { type ChartBar, renderChartSvg } from "./chart.ts";

const BEGIN = "<!-- From here to the end of the table by `npm run bench -- charts`. -->";
const END = "<!-- So far. -->";
const PICTURE_WIDTH = 760;
/**
 * If other programs used more than this share of the machine's processors, a note says that all times of the run are
 * too high.
 */
const BUSY_FROM = 0.2;

/** The names of the targets (measured gateways) in the order of the page; `*` is replaced with the version. */
const NAMES: Record<string, string> = {
  nginx: "nginx *",
  bare: "bare Node proxy",
  portkey: "Portkey *",
  "new-api": "new-api * on SQLite",
  "new-api-postgres": "new-api * on PostgreSQL",
  litellm: "LiteLLM *",
  bifrost: "Bifrost *",
  beside: "Tollgate, commit *",
  tollgate: "Tollgate",
};

interface Quoted {
  /** The chart's name, which is also its file name after `bench-`. */
  name: string;
  title: string;
  scenario: ScenarioName;
  gateway: FigureDefinition;
  /** The database's share of the figure, if the target uses a database. */
  database?: FigureDefinition;
}

const QUOTED: Quoted[] = [
  {
    name: "chat",
    title: "Processor time of a chat, 64 at once, ms",
    scenario: "chat-c64",
    gateway: microsecondsToMilliseconds(computeCpuPerRequestUs("gateway")),
    database: microsecondsToMilliseconds(computeCpuPerRequestUs("postgres")),
  },
  {
    name: "events",
    title: "Processor time of a streamed event, 100 paced streams, µs",
    scenario: "streams-100",
    gateway: computeCpuPerEventUs("gateway"),
    database: computeCpuPerEventUs("postgres"),
  },
  {
    name: "latency",
    title: "What a chat that is alone takes longer than at the engine, median, ms",
    scenario: "chat-pair",
    gateway: (row) => row.paired?.added?.p50,
  },
];

interface Page {
  /** The generated text, which goes between the markers of the document. */
  text: string;
  /** The charts' SVG texts by file name. */
  pictures: Map<string, string>;
}

export function renderPerformancePage(result: RunResult): Page {
  const targets = Object.keys(NAMES).filter((name) => result.rows.some(({ target }) => target === name));
  const pictures = new Map(QUOTED.map((quoted) => [fileOf(quoted), chartOf(result, targets, quoted)]));
  const shown = QUOTED.map((quoted) => {
    const figures = targets.map((target) => `${labelOf(result, target)} takes ${figureOf(result, target, quoted)}`);
    return `<img src="../docs/pictures/${fileOf(quoted)}" alt="${quoted.title}: ${figures.join(", ")}" width="${PICTURE_WIDTH}">`;
  });
  return { text: [setting(result), ...shown, table(result, targets), agentLine(result)].join("\n\n"), pictures };
}

/** Returns the document with the text between its markers replaced. */
export function replaceMarkedText(document: string, { text }: Page): string {
  const [from, to] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`the document has no place for it: ${BEGIN} … ${END}`);
  return `${document.slice(0, from)}${BEGIN}\n\n${text}\n\n${document.slice(to)}`;
}

const fileOf = ({ name }: Quoted): string => `bench-${name}.svg`;
const labelOf = ({ versions }: RunResult, target: string): string =>
  (NAMES[target] ?? target).replace("*", versions[target] ?? "");

function setting(result: RunResult): string {
  const { startedAt, commit, command, processors, processor, node, repeats, durableWriteMs, leftOut, rows } = result;
  const date = new Date(startedAt).toLocaleDateString("en-GB", { dateStyle: "long", timeZone: "UTC" });
  const others = figureValues(rows, processorsUsedByOthers);
  const [least, most] = [Math.min(...others).toFixed(2), Math.max(...others).toFixed(2)];
  const isBusy = (computeMedianFigure(rows, processorsUsedByOthers) ?? 0) > BUSY_FROM;
  return [
    `\`${command}\` on ${date}, commit ${commit}: ${processors} × ${processor}, Node ${node.slice(1)}, a durable write takes`,
    `${durableWriteMs.toFixed(2)} ms; median of ${repeats}, ${errorsText(result)}. Other work took ${least} to ${most} of the ${processors} processors meanwhile${
      isBusy
        ? ": **a busy machine**, so read the ratios between the bars and not the times, least of all the latency"
        : ""
    }.`,
    ...(leftOut.length === 0 ? [] : [`Left out: ${leftOut.join("; ")}.`]),
  ].join("\n");
}

/** Names the targets that had failed requests, with their number. */
function errorsText(result: RunResult): string {
  const failed = Object.keys(NAMES).flatMap((target) => {
    const count = countErrors(result.rows.filter((row) => row.target === target));
    return count === 0 ? [] : [`${count} of ${labelOf(result, target)}`];
  });
  return failed.length === 0 ? "no errors" : `errors: ${failed.join(", ")}`;
}

function chartOf(result: RunResult, targets: string[], quoted: Quoted): string {
  const bars = targets.map((target): ChartBar => {
    const { gateway, database } = partsOf(result, target, quoted);
    const parts = database === undefined ? [gateway ?? 0] : [gateway ?? 0, database];
    const isOurs = target === "tollgate";
    return { label: labelOf(result, target), parts, figure: figureOf(result, target, quoted), isOurs };
  });
  const legend = quoted.database === undefined ? [] : ["gateway", "its PostgreSQL"];
  return renderChartSvg({ title: quoted.title, legend, bars });
}

interface Parts {
  gateway: number | undefined;
  database: number | undefined;
}

function partsOf({ rows }: RunResult, target: string, { scenario, gateway, database }: Quoted): Parts {
  const own = rows.filter((row) => row.target === target && row.scenario === scenario);
  return {
    gateway: computeMedianFigure(own, gateway),
    database: database === undefined ? undefined : computeMedianFigure(own, database),
  };
}

function figureOf(result: RunResult, target: string, quoted: Quoted): string {
  const { gateway, database } = partsOf(result, target, quoted);
  return database === undefined ? shown(gateway) : `${shown(gateway)} + ${shown(database)}`;
}

/** Rounds to three digits, the precision of these measurements. A dash stands for a missing value. */
function shown(value: number | undefined): string {
  if (value === undefined) return "–";
  const size = Math.abs(value);
  return value.toFixed(size < 1 ? 2 : size < 100 ? 1 : 0);
}

function table(result: RunResult, targets: string[]): string {
  const head = [
    "",
    "gateway ms a chat",
    "database ms a chat",
    "added latency ms",
    "gateway µs an event",
    "database µs an event",
  ];
  const [chat, events, latency] = QUOTED as [Quoted, Quoted, Quoted];
  const lines = targets.map((target) => {
    const [ofChat, ofEvent] = [partsOf(result, target, chat), partsOf(result, target, events)];
    const added = partsOf(result, target, latency).gateway;
    const cells = [ofChat.gateway, ofChat.database, added, ofEvent.gateway, ofEvent.database].map(shown);
    return [labelOf(result, target), ...cells];
  });
  return [head, head.map(() => "---"), ...lines].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** Describes the agent's processor time, which is a cost of the host and not of the operator. */
function agentLine({ rows }: RunResult): string {
  const of = (scenario: ScenarioName) => rows.filter((row) => row.target === "tollgate" && row.scenario === scenario);
  const chat = computeMedianFigure(of("chat-c64"), microsecondsToMilliseconds(computeCpuPerRequestUs("agent")));
  const event = computeMedianFigure(of("streams-100"), computeCpuPerEventUs("agent"));
  return `Tollgate's agent, at the host and not in the bars, takes ${shown(chat)} ms a chat and ${shown(event)} µs an event.`;
}
