/**
 * Prints the report of a soak: for each measured series its slope with the standard error, and whether it grows. Draws
 * pictures of the series.
 */
import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readTableGrowth } from "../scale/table-growth.ts";
import { type BlockStatistic, classifyTrend, type FittedLine, fitLine } from "./growth-trend.ts";
import type { PlatformSample } from "./platform-samples.ts";
import { type PlotPanel, renderPlotSvg } from "./plot-svg.ts";

/** Earlier samples are drawn but not judged, because caches fill and V8 compiles. In seconds. */
const WARM_UP_S = 900;

interface Series {
  name: string;
  unit: string;
  of: (sample: PlatformSample, before: PlatformSample | undefined) => number;
  reduce: BlockStatistic;
  /** A growth per hour up to this amount does not count, in the unit of the series. */
  noise?: number;
  /** The series also depends on the machine's other work: the report shows its slope, but does not judge it. */
  isOfTheMachine?: boolean;
}

/** Subtracts the clients' connections from a gauge: a slow machine has more of them open. */
const withoutClients =
  (name: string): Series["of"] =>
  ({ gauges }) =>
    (gauges[name] ?? Number.NaN) - (gauges["client connections"] ?? Number.NaN);
const gauge =
  (name: string): Series["of"] =>
  (sample) =>
    sample.gauges[name] ?? Number.NaN;
const perRequest =
  (of: keyof PlatformSample["cpuUs"]): Series["of"] =>
  (sample, before) =>
    before === undefined
      ? Number.NaN
      : (sample.cpuUs[of] - before.cpuUs[of]) / 1000 / Math.max(1, sample.requests - before.requests);

const SERIES: Series[] = [
  { name: "gateway RSS", unit: "MiB", of: gauge("gateway RSS, MiB"), reduce: "mean", noise: 2 },
  { name: "heap that V8 took", unit: "MiB", of: gauge("heap, MiB"), reduce: "median", noise: 2 },
  { name: "old space after a collection", unit: "MiB", of: gauge("old space, MiB"), reduce: "least", noise: 1 },
  { name: "external memory", unit: "MiB", of: gauge("external, MiB"), reduce: "least", noise: 1 },
  { name: "open files", unit: "", of: gauge("open files"), reduce: "mean", isOfTheMachine: true },
  { name: "open files without clients", unit: "", of: withoutClients("open files"), reduce: "mean", noise: 2 },
  { name: "timers", unit: "", of: gauge("timers"), reduce: "mean", noise: 2 },
  { name: "active handles without clients", unit: "", of: withoutClients("active handles"), reduce: "mean", noise: 2 },
  { name: "requests in flight", unit: "", of: gauge("requests in flight"), reduce: "mean", isOfTheMachine: true },
  { name: "requests queued", unit: "", of: gauge("requests queued"), reduce: "mean", noise: 0.2 },
  { name: "settlements waiting", unit: "", of: gauge("settlements waiting"), reduce: "mean", isOfTheMachine: true },
  { name: "rollup backlog", unit: "requests", of: gauge("rollup backlog"), reduce: "median", noise: 30 },
  { name: "spool and journal", unit: "KiB", of: gauge("spool, KiB"), reduce: "mean", noise: 64 },
  { name: "metrics page", unit: "lines", of: gauge("metrics page, lines"), reduce: "mean", noise: 40 },
  { name: "database connections", unit: "", of: gauge("database connections"), reduce: "mean", noise: 1 },
  { name: "PostgreSQL memory", unit: "MiB", of: gauge("PostgreSQL, MiB"), reduce: "mean", noise: 5 },
  { name: "WAL files", unit: "MiB", of: gauge("WAL, MiB"), reduce: "mean", noise: 64 },
  { name: "gateway CPU a request", unit: "ms", of: perRequest("gateway"), reduce: "median", isOfTheMachine: true },
  { name: "PostgreSQL CPU a request", unit: "ms", of: perRequest("postgres"), reduce: "median", isOfTheMachine: true },
  { name: "latency p50", unit: "ms", of: (sample) => sample.latenciesMs.p50, reduce: "median", isOfTheMachine: true },
  { name: "latency p99", unit: "ms", of: (sample) => sample.latenciesMs.p99, reduce: "median", isOfTheMachine: true },
];

export async function printReport(directory: string, pictures = directory): Promise<void> {
  const samples = readFileSync(join(directory, "samples.jsonl"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as PlatformSample);
  const last = samples.at(-1) as PlatformSample;
  const minutes = (last.at / 60).toFixed(0);
  console.log(`${minutes} minutes, ${last.requests} requests, ${(last.requests / last.at).toFixed(1)} a second\n`);
  console.log("| | mean | slope an hour | | verdict |\n|---|---|---|---|---|");
  for (const series of SERIES) {
    const line = lineFrom(samples, series);
    if (line.blocks.length > 0) console.log(rowOf(series, line));
  }
  tellOfTables(samples);
  tellOfOutcomes(last);
  tellOfTheEnd(directory);
  await mkdir(pictures, { recursive: true });
  for (const [name, panels] of Object.entries(picturesOf(samples))) {
    await writeFile(join(pictures, `${name}.svg`), renderPlotSvg(`A soak of ${minutes} minutes`, panels));
    console.log(`${join(pictures, name)}.svg`);
  }
}

const pointsOf = (samples: PlatformSample[], { of }: Series): { at: number; value: number }[] =>
  samples.map((sample, i) => ({ at: sample.at, value: of(sample, samples[i - 1]) }));

const lineFrom = (samples: PlatformSample[], series: Series): FittedLine =>
  fitLine(
    pointsOf(samples, series).filter(({ at }) => at >= WARM_UP_S),
    series.reduce,
  );

const digits = (value: number): string => Number(value.toPrecision(3)).toString();
const slopeOf = ({ slope, error }: FittedLine): string =>
  `${slope < 0 ? "−" : "+"}${digits(Math.abs(slope))} ± ${digits(error)}`;

function verdictOf(series: Series, line: FittedLine): string {
  const trend = classifyTrend(line, series.noise);
  if (trend === "flat" || trend === "too short") return trend;
  return series.isOfTheMachine ? `${trend}, as other work did` : trend;
}

function rowOf(series: Series, line: FittedLine): string {
  return `| ${series.name} | ${digits(line.mean)} | ${slopeOf(line)} | ${series.unit} | ${verdictOf(series, line)} |`;
}

/** Prints the size of each table, its growth per request, and the entry of docs/scale.md that explains the growth. */
function tellOfTables(samples: PlatformSample[]): void {
  const warm = samples.filter(({ at }) => at >= WARM_UP_S);
  const [first, last] = [warm[0] ?? samples[0], samples.at(-1)] as [PlatformSample, PlatformSample];
  const requests = last.requests - first.requests;
  console.log(
    "\n| table | KiB at the end | more since warm | bytes a request | rows | a row for each |\n|---|---|---|---|---|---|",
  );
  const listed = readTableGrowth();
  const grown = Object.entries(last.tables)
    .map(([name, size]) => ({ name, size, more: sizeOf(size) - sizeOf(first.tables[name]) }))
    .filter(({ more }) => more > 0)
    .toSorted((a, b) => b.more - a.more);
  for (const { name, size, more } of grown) {
    const of = listed.find(({ table }) => table === name)?.rowFor ?? "NOT LISTED";
    const cells = [name, kib(sizeOf(size)), kib(more), (more / requests).toFixed(1), size.rows, of];
    console.log(`| ${cells.join(" | ")} |`);
  }
  const all = grown.reduce((sum, { more }) => sum + more, 0);
  console.log(`\nAll tables and indexes: ${(all / requests).toFixed(0)} bytes a request.`);
}

const sizeOf = (size: PlatformSample["tables"][string] | undefined): number =>
  (size?.bytes ?? 0) + (size?.indexBytes ?? 0);
const kib = (bytes: number): string => Math.round(bytes / 1024).toLocaleString("en-US");

function tellOfOutcomes({ outcomes, gauges }: PlatformSample): void {
  console.log("\n| what was asked | what came of it |\n|---|---|");
  const byKind = Map.groupBy(Object.entries(outcomes), ([name]) => name.slice(0, name.indexOf(": ")));
  for (const [kind, counts] of [...byKind].toSorted()) {
    const told = counts
      .toSorted(([, a], [, b]) => b - a)
      .map(([name, count]) => `${name.slice(kind.length + 2)} ${count}`);
    console.log(`| ${kind} | ${told.join(", ").replaceAll("|", "/")} |`);
  }
  console.log(`\nNot sent because too much was in flight: ${gauges["load's requests left out"]}.`);
}

/** Prints what remained a minute and a half after the load ended, and the result of the ledger check. */
function tellOfTheEnd(directory: string): void {
  const [rest, check] = [join(directory, "at-rest.json"), join(directory, "ledger-check.txt")];
  if (existsSync(rest)) {
    const { gauges } = JSON.parse(readFileSync(rest, "utf8")) as PlatformSample;
    const left = [
      "requests in flight",
      "settlements waiting",
      "rollup backlog",
      "nodes connected",
      "timers",
      "active handles",
      "open files",
    ];
    console.log(`After the load: ${left.map((name) => `${name} ${gauges[name]}`).join(", ")}.`);
  }
  if (existsSync(check)) {
    const text = readFileSync(check, "utf8");
    const balanced = /balances/.exec(text) !== null && /exit 0/.test(text);
    console.log(`\`ledger check\`: ${balanced ? "balances" : "DIFFERS"}, ${text.match(/ ok$/gm)?.length ?? 0} checks.`);
  }
}

function picturesOf(samples: PlatformSample[]): Record<string, PlotPanel[]> {
  const called = (name: string): Series => SERIES.find((series) => series.name === name) as Series;
  const panel = (title: string, names: string[]): PlotPanel => {
    const series = names.map(called);
    const lines = series.map((one) => lineFrom(samples, one));
    const note = series.map(
      (one, i) =>
        `${names.length > 1 ? `${one.name}: ` : ""}${slopeOf(lines[i] as FittedLine)} an hour, ${verdictOf(one, lines[i] as FittedLine)}`,
    );
    return {
      title: `${title}${series[0]?.unit === "" ? "" : `, ${series[0]?.unit}`}`,
      note: note[0] as string,
      isBad: series.some(
        (one, i) => !one.isOfTheMachine && classifyTrend(lines[i] as FittedLine, one.noise) === "grows",
      ),
      lines: series.map((one, i) => ({
        name: one.name,
        points: pointsOf(samples, one).map(({ at, value }) => ({ atH: at / 3600, value })),
        blocks: (lines[i] as FittedLine).blocks,
      })),
    };
  };
  return {
    "soak-gateway": [
      panel("Gateway RSS", ["gateway RSS"]),
      panel("Old space after a collection", ["old space after a collection"]),
      panel("Open files", ["open files"]),
      panel("Timers", ["timers"]),
      panel("Processor time of a request, gateway", ["gateway CPU a request"]),
      panel("Latency of a chat, 99th percentile", ["latency p99"]),
    ],
    "soak-database": [
      panel("PostgreSQL's memory", ["PostgreSQL memory"]),
      panel("Processor time of a request, PostgreSQL", ["PostgreSQL CPU a request"]),
      tablesPanel(samples, "Records and their indexes, MiB", ["request"]),
      tablesPanel(samples, "Rollups, MiB", ["performance", "performance_part", "usage_hour", "label_day"]),
      tablesPanel(samples, "Queues, MiB", ["hold", "unrolled"]),
      panel("Spool and journal", ["spool and journal"]),
    ],
  };
}

function tablesPanel(samples: PlatformSample[], title: string, names: string[]): PlotPanel {
  const lines = names.map((name) => {
    const points = samples.map(({ at, tables }) => ({ at, value: sizeOf(tables[name]) / 2 ** 20 }));
    const line = fitLine(
      points.filter(({ at }) => at >= WARM_UP_S),
      "mean",
    );
    return { name, line, points: points.map(({ at, value }) => ({ atH: at / 3600, value })), blocks: line.blocks };
  });
  return {
    title,
    note: `${names[0]}: ${slopeOf((lines[0] as (typeof lines)[number]).line)} an hour`,
    isBad: false,
    lines,
  };
}
