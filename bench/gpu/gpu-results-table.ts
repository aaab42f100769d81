/** Formats the table of a run with a real engine. */
import type { LoadResult } from "../gateway/load.ts";
import type { ProcessRole } from "../gateway/targets/target.ts";

/** One measurement, either of the engine directly or through the gateway. */
export interface LoadMeasurement extends Pick<LoadResult, "ok" | "errors" | "wallUs" | "firstWordMs" | "latencyMs"> {
  cpuUs: Partial<Record<ProcessRole, number>>;
}

export interface ConcurrencyLevel {
  concurrent: number;
  /** The number of tokens in every answer. */
  tokens: number;
  direct: LoadMeasurement[];
  through: LoadMeasurement[];
}

const HEAD = [
  "streams",
  "requests",
  "tokens/s direct",
  "through",
  "share",
  "… of each turn",
  "first token ms p50 direct",
  "through",
  "p99 direct",
  "through",
  "gateway µs/token",
  "agent µs/token",
  "PostgreSQL µs/token",
  "failed direct",
  "failed through",
];

export function renderGpuResultsTable(levels: readonly ConcurrencyLevel[]): string {
  const rows = levels.map(rowOf);
  return [HEAD, HEAD.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function rowOf({ concurrent, tokens, direct, through }: ConcurrencyLevel): (string | number)[] {
  const said = (turns: readonly LoadMeasurement[]): number => tokens * sum(turns, ({ ok }) => ok);
  const rate = (turns: readonly LoadMeasurement[]): number => (said(turns) * 1e6) / sum(turns, ({ wallUs }) => wallUs);
  const each = through.map((turn, nth) => (rate([turn]) / rate([direct[nth] as LoadMeasurement])).toFixed(2));
  const first = (turns: readonly LoadMeasurement[], at: "p50" | "p99"): string =>
    middle(turns.flatMap(({ firstWordMs }) => (firstWordMs === undefined ? [] : [firstWordMs[at]])))?.toFixed(1) ?? "–";
  const cost = (role: ProcessRole): string =>
    (sum(through, ({ cpuUs }) => cpuUs[role] ?? 0) / said(through)).toFixed(1);
  return [
    concurrent,
    sum(through, ({ ok }) => ok),
    rate(direct).toFixed(0),
    rate(through).toFixed(0),
    (rate(through) / rate(direct)).toFixed(3),
    each.join(" "),
    ...[first(direct, "p50"), first(through, "p50"), first(direct, "p99"), first(through, "p99")],
    ...[cost("gateway"), cost("agent"), cost("postgres")],
    failuresOf(direct),
    failuresOf(through),
  ];
}

function failuresOf(turns: readonly LoadMeasurement[]): string {
  const counts: Record<string, number> = {};
  for (const { errors } of turns)
    for (const [what, count] of Object.entries(errors)) counts[what] = (counts[what] ?? 0) + count;
  const told = Object.entries(counts).map(([what, count]) => `${count} × ${what}`);
  return told.length === 0 ? "0" : told.join(", ");
}

const sum = <T>(of: readonly T[], pick: (one: T) => number): number => of.reduce((all, one) => all + pick(one), 0);

const middle = (numbers: readonly number[]): number | undefined =>
  numbers.toSorted((a, b) => a - b)[numbers.length >> 1];
