/** Formats the table with one row per number of workers. */
export interface WorkerFigures {
  /** The kind of load: `chat`, or `streams`, whose events are counted. */
  name: string;
  workers: number;
  nodes: number;
  clients: number;
  /** The number of successful answers, or of their stream events. */
  done: number;
  tookUs: number;
  /** Processor time of each part, and of everything else on the machine, in microseconds. */
  spentUs: Record<string, number>;
  p50Ms: number;
  p99Ms: number;
  /** The memory of all processes of the gateway. */
  mib: number;
  errors: Record<string, number>;
}

const PARTS = ["workers", "primary", "postgres", "nodes", "clients", "others"];

export function tableHead(): string {
  const columns = [
    ...["", "workers", "a second", "× one", "µs each: workers", "primary", "PostgreSQL", "together, × one"],
    ...["processors used: workers", "primary", "PostgreSQL", "nodes", "clients", "others"],
    ...["p50 ms", "p99 ms", "MiB", "errors"],
  ];
  return `| ${columns.join(" | ")} |\n|${columns.map(() => "---|").join("")}`;
}

/** Formats one row. `first`: the row with the fewest workers, which the others are compared with. */
export function tableRow(row: WorkerFigures, first: WorkerFigures): string {
  const rate = ({ done, tookUs }: WorkerFigures): number => (done * 1e6) / tookUs;
  const each = ({ spentUs, done }: WorkerFigures, part: string): number => (spentUs[part] ?? 0) / done;
  const ours = (one: WorkerFigures): number => PARTS.slice(0, 3).reduce((sum, part) => sum + each(one, part), 0);
  const cells = [
    row.name,
    row.workers,
    Math.round(rate(row)),
    (rate(row) / rate(first)).toFixed(2),
    ...PARTS.slice(0, 3).map((part) => each(row, part).toFixed(1)),
    (ours(row) / ours(first)).toFixed(2),
    ...PARTS.map((part) => ((row.spentUs[part] ?? 0) / row.tookUs).toFixed(2)),
    row.p50Ms.toFixed(1),
    row.p99Ms.toFixed(1),
    Math.round(row.mib),
    JSON.stringify(row.errors),
  ];
  return `| ${cells.join(" | ")} |`;
}
