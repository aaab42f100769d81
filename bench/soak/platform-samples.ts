/** Takes samples of gateway, database and disk. Linux only: figures come from /proc. */
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  countProcesses,
  readCpuTime,
  readMachineCpuUs,
  readProportionalMemoryMib,
  readResidentMemoryMib,
  type WatchedProcess,
} from "../gateway/process-resource-usage.ts";
import type { SoakPlatform } from "./soak-platform.ts";
import type { SoakTraffic } from "./soak-traffic.ts";

/** The size of a table, including its partitions. */
interface TableSize {
  bytes: number;
  indexBytes: number;
  rows: number;
  deadRows: number;
}

export interface PlatformSample {
  /** Seconds since the load began. */
  at: number;
  /** The number of requests that have ended, as counted by the gateway. */
  requests: number;
  cpuUs: { gateway: number; postgres: number; machine: number };
  gauges: Record<string, number>;
  latenciesMs: { count: number; p50: number; p99: number };
  tables: Record<string, TableSize>;
  outcomes: Record<string, number>;
}

/** The gauges to sample, with the lines of the gateway's metrics page that are added up for each. */
const METRICS: Record<string, RegExp> = {
  "heap used, MiB": /^nodejs_heap_size_used_bytes /,
  "heap, MiB": /^nodejs_heap_size_total_bytes /,
  "old space, MiB": /^nodejs_heap_space_size_used_bytes\{space="old"/,
  "external, MiB": /^nodejs_external_memory_bytes /,
  timers: /^nodejs_active_resources\{type="Timeout"/,
  "active handles": /^nodejs_active_handles_total /,
  "active resources": /^nodejs_active_resources_total /,
  "event loop p99, ms": /^nodejs_eventloop_lag_p99_seconds/,
  "requests in flight": /^tollgate_requests_in_flight /,
  "requests queued": /^tollgate_requests_queued/,
  "settlements waiting": /^tollgate_settlements_waiting/,
  "rollup backlog": /^tollgate_rollup_waiting/,
  "nodes connected": /^tollgate_nodes_connected/,
  "database connections": /^tollgate_pool_connections\{/,
};
const SCALES: [RegExp, number][] = [
  [/MiB$/, 1 / 2 ** 20],
  [/ms$/, 1000],
];
const NO_CPU = { ticksUs: 0, exactUs: 0 };

const TABLES = `
  select coalesce(parent.relname, c.relname) as name, sum(pg_table_size(c.oid))::float8 as bytes, sum(pg_indexes_size(c.oid))::float8 as index_bytes,
         sum(pg_stat_get_live_tuples(c.oid))::float8 as rows, sum(pg_stat_get_dead_tuples(c.oid))::float8 as dead_rows
    from pg_class c left join pg_inherits i on i.inhrelid = c.oid left join pg_class parent on parent.oid = i.inhparent
   where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' group by 1`;

export function openPlatformSampler(platform: SoakPlatform, traffic: SoakTraffic): () => Promise<PlatformSample> {
  const { ready, dataDir, query, internalPort } = platform;
  const gateway: WatchedProcess = { pid: ready.pids.gateway, withChildren: false };
  const postgres: WatchedProcess = { pid: ready.pids.postgres as number, withChildren: true };
  const begunAt = performance.now();
  return async () => {
    const page = await (await fetch(`http://127.0.0.1:${internalPort}/metrics`)).text();
    const { latenciesMs, outcomes, inFlight, leftOut } = traffic.look();
    const tables = await query<{ name: string; bytes: number; index_bytes: number; rows: number; dead_rows: number }>(
      TABLES,
    );
    const sorted = latenciesMs.toSorted((a, b) => a - b);
    const quantile = (part: number): number => sorted[Math.floor((sorted.length - 1) * part)] ?? Number.NaN;
    const spent = (watched: WatchedProcess): number =>
      Math.max(...Object.values({ ...NO_CPU, ...readCpuTime(watched) }));
    return {
      at: (performance.now() - begunAt) / 1000,
      requests: sumOf(page, /^tollgate_requests_total\{/),
      cpuUs: { gateway: spent(gateway), postgres: spent(postgres), machine: readMachineCpuUs().busy },
      gauges: {
        "gateway RSS, MiB": readResidentMemoryMib(gateway),
        ...Object.fromEntries(
          Object.entries(METRICS).map(([name, line]) => {
            const [, scale = 1] = SCALES.find(([unit]) => unit.test(name)) ?? [];
            return [name, sumOf(page, line) * scale];
          }),
        ),
        "client connections": connectionsTo(platform.port),
        "open files": entriesOf(`/proc/${gateway.pid}/fd`),
        threads: entriesOf(`/proc/${gateway.pid}/task`),
        "metrics page, lines": page.split("\n").length,
        "PostgreSQL, MiB": readProportionalMemoryMib(postgres),
        "PostgreSQL processes": countProcesses(postgres),
        "WAL, MiB": bytesBelow(join(dataDir, "postgres", "cluster", "pg_wal")) / 2 ** 20,
        "spool, KiB": bytesBelow(join(dataDir, "spool")) / 1024,
        "all other files of the gateway, MiB":
          (bytesBelow(dataDir, "postgres") - bytesBelow(join(dataDir, "spool"))) / 2 ** 20,
        "load's requests in flight": inFlight,
        "load's requests left out": leftOut,
      },
      latenciesMs: { count: sorted.length, p50: quantile(0.5), p99: quantile(0.99) },
      tables: Object.fromEntries(
        tables.map(({ name, bytes, index_bytes, rows, dead_rows }) => [
          name,
          { bytes, indexBytes: index_bytes, rows, deadRows: dead_rows },
        ]),
      ),
      outcomes: { ...outcomes },
    };
  };
}

function sumOf(page: string, line: RegExp): number {
  let sum = 0;
  for (const each of page.split("\n")) if (line.test(each)) sum += Number(each.slice(each.lastIndexOf(" ") + 1));
  return sum;
}

const TCP_TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];
const ESTABLISHED = "01";

/** Counts the clients' open connections, whose number depends on the load and not on the gateway. */
function connectionsTo(port: number): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const lines = TCP_TABLES.flatMap((file) => readFileSync(file, "utf8").split("\n"));
  const found = lines.map((line) => line.trim().split(/\s+/));
  return found.filter(([, address, , state]) => state === ESTABLISHED && address?.endsWith(local) === true).length;
}

const entriesOf = (directory: string): number => readdirSync(directory).length;

/** Sums the sizes of the files below a directory; a file that is removed meanwhile does not count. */
function bytesBelow(directory: string, except?: string): number {
  let sum = 0;
  for (const name of namesIn(directory)) {
    if (name === except) continue;
    const path = join(directory, name);
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats !== undefined) sum += stats.isDirectory() ? bytesBelow(path) : stats.size;
  }
  return sum;
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
