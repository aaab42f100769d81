/**
 * Measures one gateway with 1, 2, 4 and 8 workers on one machine: chats and stream events a second, and the processor
 * time of each part of the platform per chat or event.
 *
 * npm run bench -- workers [--workers 1,2,4,8] [--clients 4] [--nodes 4] [--concurrent 512] [--streams 4000]
 * [--pace-ms 20] [--seconds 10] [--accounts 16] [--hosts 4] [--only chat] [--out DIR] [--checkout DIR]
 * [--node-flags="--cpu-prof ..."]
 *
 * `--checkout`: measures the gateway of another checkout. `--node-flags`: additional flags for the gateway's processes.
 * The gateway is complete (keys, limits, holds, settlements, its private PostgreSQL with fsync on). Lightweight nodes
 * and clients run in processes of their own. Processes are not pinned to processors. Linux only: figures come from
 * /proc.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { openHostAccount } from "@tollgate/stage/builder-and-host-accounts.ts";
import { type Query, TEST_KEY_PEPPER } from "@tollgate/stage/stage-database.ts";
import { writeCatalogue } from "@tollgate/stage/write-catalogue.ts";
import pg from "pg";
import { findPrivatePostgres } from "../../gateway/src/db/private-postgres.ts";
import { gatewayClient } from "../../host/src/command/gateway/gateway-client.ts";
import { BenchProcess } from "../gateway/bench-process.ts";
import { gatewayCommand } from "../gateway/gateway-command.ts";
import type { TargetAddress } from "../gateway/load.ts";
import {
  cpuSpentUs,
  measureDurableWriteMs,
  readCpuTime,
  readMachineCpuUs,
  readResidentMemoryMib,
  type WatchedProcess,
} from "../gateway/process-resource-usage.ts";
import { SCENARIOS, type Scenario } from "../gateway/scenarios.ts";
import { sampleConnections } from "../ledger/sample-connections.ts";
import type { NodeLogin } from "../streams/node-connection.ts";
import { openAccounts } from "./accounts.ts";
import type { AnswerPace, ClientsMessage, LoadReport, NodesMessage } from "./process-messages.ts";
import { tableHead, tableRow, type WorkerFigures } from "./report.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MODEL = "tiny-3b";
const CHAT_WORDS = 100;
/**
 * Chats warm the workers up until each has used this much processor time, in rounds of this many seconds. A cold Node
 * costs two or three times as much.
 */
const WARM_CPU_US = 12e6;
const WARM_ROUND_SECONDS = 4;
const WARM_MS_MAX = 60_000;
const WAITS_SECONDS = 3;
/** The maximum time for a start: eight workers take long on a busy machine. */
const START_MS_MAX = 300_000;

const { values } = parseArgs({
  options: {
    workers: { type: "string", default: "1,2,4,8" },
    clients: { type: "string", default: "4" },
    nodes: { type: "string", default: "4" },
    concurrent: { type: "string", default: "512" },
    streams: { type: "string", default: "4000" },
    "pace-ms": { type: "string", default: "20" },
    seconds: { type: "string", default: "10" },
    accounts: { type: "string", default: "16" },
    hosts: { type: "string", default: "4" },
    only: { type: "string" },
    out: { type: "string", default: tmpdir() },
    checkout: { type: "string", default: ROOT },
    "node-flags": { type: "string", default: "" },
  },
});
const [clientCount, nodeCount, concurrent, streams, paceMs, seconds, accounts, hosts] = [
  values.clients,
  values.nodes,
  values.concurrent,
  values.streams,
  values["pace-ms"],
  values.seconds,
  values.accounts,
  values.hosts,
].map(Number) as [number, number, number, number, number, number, number, number];
/** How many nodes each node process runs. Each node belongs to a different host. */
const NODES_EACH = Math.ceil(hosts / nodeCount);

const CHAT: Scenario = {
  ...SCENARIOS["chat-c64"],
  tokens: CHAT_WORDS,
  concurrent: Math.ceil(concurrent / clientCount),
};
/** The length of the streams that come before the measured ones. */
const WARM_WORDS = 50;
const STREAM_WORDS = Math.ceil((seconds * 1000) / paceMs);
const STREAMS: Scenario = {
  ...SCENARIOS["streams-100"],
  concurrent: Math.ceil(streams / clientCount),
  total: Math.ceil(streams / clientCount),
  tokens: STREAM_WORDS,
  // A complete answer may have fewer events than words, because words that are sent late are joined into one event. So
  // one event is enough, and the events are counted.
  eventsMin: 1,
  delayMs: 0,
  rampMs: 1_000,
  secondsMax: seconds * 6,
};

process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));

const rows: WorkerFigures[] = [];
const [{ model: processor } = { model: "" }] = cpus();
const facts = `${availableParallelism()} processors (${processor}), Node ${process.version}, a durable write takes ${measureDurableWriteMs(tmpdir()).toFixed(2)} ms`;
console.log(`${facts}\n\n${tableHead()}`);
for (const workers of values.workers.split(",").map(Number)) await measureWith(workers);
writeFileSync(join(values.out, "workers.json"), JSON.stringify({ facts, args: process.argv.slice(2), rows }, null, 2));

async function measureWith(workers: number): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "tollgate-workers-"));
  // If the bench runs as root, the database runs as another user, who needs permission to enter the directory.
  await chmod(dir, 0o711);
  const started: BenchProcess[] = [];
  const start = (name: string, number: number): BenchProcess => {
    const file = fileURLToPath(new URL(`./${name}.ts`, import.meta.url));
    const command = [process.execPath, file];
    const child = new BenchProcess({
      name: `${name}-${number}`,
      command,
      processors: null,
      outDir: dir,
      channel: true,
    });
    started.push(child);
    return child;
  };
  try {
    const { gateway, port, internalPort } = await startGateway(workers, dir);
    started.push(gateway);
    const database = new pg.Client(await findPrivatePostgres({ dataDir: dir }));
    await database.connect();
    const query: Query = async (sql, of = []) => (await database.query(sql, of)).rows;
    const addresses = await openAccounts(query, { port, model: MODEL, count: Math.max(accounts, clientCount) });
    const nodes = Array.from({ length: nodeCount }, (_, i) => start("node-process", i));
    const clients = Array.from({ length: clientCount }, (_, i) => start("client-process", i));
    for (const [i, node] of nodes.entries()) await joinNode(node, { query, port, number: i });
    await database.end();
    const running: Running = { workers, gateway, internalPort, nodes, clients, addresses, dataDir: dir };
    const parts = [
      { name: "chat", scenario: CHAT, pace: { words: CHAT_WORDS, delayMs: 0 } },
      { name: "streams", scenario: STREAMS, pace: { words: STREAM_WORDS, delayMs: paceMs } },
    ] as const;
    for (const { scenario, pace, name } of parts) {
      if (values.only !== undefined && values.only !== name) continue;
      if (name === "chat") await warmUp(running, { ...scenario, seconds: WARM_ROUND_SECONDS }, pace);
      else await load(running, { ...scenario, tokens: WARM_WORDS }, { ...pace, words: WARM_WORDS });
      const row = await measure(running, {
        name,
        scenario: { ...scenario, ...(name === "chat" && { seconds }) },
        pace,
      });
      rows.push(row);
      console.log(tableRow(row, rows.find((one) => one.name === name) ?? row));
      if (name === "chat") await tellWaits(running, scenario, pace);
    }
  } catch (error) {
    for (const { logFile } of started) console.error(`--- ${logFile}\n${readFileSync(logFile, "utf8").slice(-2000)}`);
    throw error;
  } finally {
    for (const child of started.reverse()) await child.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

async function warmUp(running: Running, scenario: Scenario, pace: AnswerPace): Promise<void> {
  const { workers = [] } = partsOf(running, await postgresPid(running.dataDir));
  const before = workers.map(readCpuTime);
  const until = performance.now() + WARM_MS_MAX;
  const isWarm = (): boolean =>
    workers.every((worker, i) => cpuSpentUs(before[i] as (typeof before)[number], readCpuTime(worker)) >= WARM_CPU_US);
  do await load(running, scenario, pace);
  while (!isWarm() && performance.now() < until);
}

/**
 * Prints what PostgreSQL's connections wait for, and how many holds and settlements a batch had. Samples the connections
 * during a separate load, because sampling slows the server down.
 */
async function tellWaits(running: Running, scenario: Scenario, pace: AnswerPace): Promise<void> {
  const connection = await findPrivatePostgres({ dataDir: running.dataDir });
  const pool = new pg.Pool({ ...connection, max: 1 });
  const waits = await sampleConnections(pool, load(running, { ...scenario, seconds: WAITS_SECONDS }, pace));
  const { rows: checks } = await pool.query("select count(*)::int as count from transfer where kind = 'verification'");
  await pool.end();
  const told = [...waits].toSorted(([, a], [, b]) => b - a).map(([what, count]) => `${what} ${count.toFixed(2)}`);
  const sizes = await readBatchSizes(running.internalPort);
  console.log(
    `\nconnections on average, with ${running.workers} workers: ${told.join(", ")}; ${checks[0]?.count} checks so far; ${sizes}\n`,
  );
}

/** The average sizes of all batches so far, from the gateway's metrics. */
async function readBatchSizes(internalPort: number): Promise<string> {
  const text = await (await fetch(`http://127.0.0.1:${internalPort}/metrics`)).text();
  const sumOf = (figure: string): number =>
    [...text.matchAll(new RegExp(`^tollgate_batch_size_${figure} (\\S+)$`, "gm"))].reduce(
      (sum, [, n]) => sum + Number(n),
      0,
    );
  const sizes = ["hold", "settle"].map((batch) => {
    const [sum, count] = ["sum", "count"].map((figure) => sumOf(`${figure}\\{[^}]*batch="${batch}"[^}]*\\}`));
    return `${batch} ${((sum ?? 0) / (count ?? 1)).toFixed(1)}`;
  });
  return `in a batch on average: ${sizes.join(", ")}`;
}

interface Running {
  workers: number;
  gateway: BenchProcess;
  internalPort: number;
  nodes: BenchProcess[];
  clients: BenchProcess[];
  addresses: TargetAddress[];
  dataDir: string;
}

async function startGateway(
  workers: number,
  dir: string,
): Promise<{ gateway: BenchProcess; port: number; internalPort: number }> {
  const roomy = { admission_max: 100_000, tps_max: 1_000_000_000, context_limit: 131_072 };
  const { command, env } = gatewayCommand(values.checkout, values["node-flags"].split(" ").filter(Boolean));
  const gateway = new BenchProcess({
    name: "gateway",
    command: [...command, "serve"],
    processors: null,
    outDir: dir,
    env: {
      ...env,
      WORKERS: String(workers),
      DATA_DIR: dir,
      CATALOGUE_FILE: await writeCatalogue(dir, { [MODEL]: roomy }),
      KEY_PEPPER: TEST_KEY_PEPPER,
      PORT: "0",
      INTERNAL_PORT: "0",
      PLANE_PORT: "0",
      DRAIN_DELAY_S: "0",
      AUTO_QUARANTINE: "false",
      PROBATION_ANSWERS: "0",
      LOG_LEVEL: "info",
      LOG_FORMAT: "json",
    },
  });
  const said = workers === 1 ? "serving" : "all workers are serving";
  const ports = await gateway.eventually(async () => {
    const line = (await readFile(gateway.logFile, "utf8")).split("\n").find((one) => one.includes(`"msg":"${said}"`));
    return line === undefined ? undefined : (JSON.parse(line) as { port: number; internalPort: number });
  }, START_MS_MAX);
  return { gateway, ...ports };
}

async function joinNode(
  child: BenchProcess,
  { query, port, number }: { query: Query; port: number; number: number },
): Promise<void> {
  const slots = Math.min(4_096, Math.ceil((Math.max(concurrent, streams) * 1.5) / (nodeCount * NODES_EACH)));
  const logins: NodeLogin[] = [];
  for (let nth = 0; nth < NODES_EACH; nth++) {
    const { token } = await openHostAccount(query);
    const client = gatewayClient({ gateway: `http://127.0.0.1:${port}`, token });
    const { id } = await client.register({ name: `light-${number}-${nth}`, hardware: {}, agent: "bench" });
    await client.elect(id, [MODEL]);
    const { url, jwt, seed } = await client.credentials(id);
    logins.push({ id, url, jwt, seed, slots, model: MODEL });
  }
  child.process.on("message", ({ type, what }: { type: string; what: string }) => {
    if (type === "trouble") console.error(`node ${number}: ${what}`);
  });
  child.process.send({ type: "join", logins } satisfies NodesMessage);
  await child.message((message) => ((message as { type: string }).type === "online" ? true : undefined));
}

async function load(
  { nodes, clients, addresses }: Running,
  scenario: Scenario,
  pace: AnswerPace,
): Promise<LoadReport[]> {
  for (const node of nodes) node.process.send({ type: "pace", pace } satisfies NodesMessage);
  return await Promise.all(
    clients.map((client, i) => {
      const own = addresses.filter((_, nth) => nth % clients.length === i);
      const loaded = client.message((message) =>
        (message as LoadReport).type === "loaded" ? (message as LoadReport) : undefined,
      );
      client.process.send({ type: "run", addresses: own, scenario } satisfies ClientsMessage);
      return loaded;
    }),
  );
}

async function measure(
  running: Running,
  { name, scenario, pace }: { name: string; scenario: Scenario; pace: AnswerPace },
): Promise<WorkerFigures> {
  const { workers, gateway, nodes, clients, dataDir } = running;
  const parts = partsOf(running, await postgresPid(dataDir));
  const look = () => ({
    cpu: Object.entries(parts).map(([part, pids]) => [part, pids.map(readCpuTime)] as const),
    busy: readMachineCpuUs().busy,
    at: performance.now(),
  });
  const before = look();
  const loaded = await load(running, scenario, pace);
  const after = look();
  const tookUs = (after.at - before.at) * 1000;
  const spent = Object.fromEntries(
    after.cpu.map(([part, now], nth) => {
      const then = before.cpu[nth]?.[1] ?? [];
      return [part, now.reduce((sum, one, i) => sum + cpuSpentUs(then[i] as typeof one, one), 0)];
    }),
  );
  const errors: Record<string, number> = {};
  for (const [what, count] of loaded.flatMap((one) => Object.entries(one.errors)))
    errors[what] = (errors[what] ?? 0) + count;
  const ours = Object.values(spent).reduce((sum, us) => sum + us, 0);
  const pids = [gateway.pid, ...(parts.workers ?? []).map(({ pid }) => pid)];
  return {
    name,
    workers,
    nodes: nodes.length,
    clients: clients.length,
    done: loaded.reduce((sum, one) => sum + (name === "chat" ? one.ok : one.events), 0),
    tookUs,
    spentUs: { ...spent, others: Math.max(0, after.busy - before.busy - ours) },
    p50Ms: Math.max(...loaded.map(({ p50Ms }) => p50Ms)),
    p99Ms: Math.max(...loaded.map(({ p99Ms }) => p99Ms)),
    mib: [...new Set(pids)].reduce((sum, pid) => sum + readResidentMemoryMib({ pid, withChildren: false }), 0),
    errors,
  };
}

/** With a single worker, the process that was started is the worker itself, and there is no primary process. */
function partsOf({ workers, gateway, nodes, clients }: Running, postgres: number): Record<string, WatchedProcess[]> {
  const alone = (pid: number): WatchedProcess => ({ pid, withChildren: false });
  const children = childrenOf(gateway.pid).filter((pid) => pid !== postgres);
  return {
    workers: workers === 1 ? [alone(gateway.pid)] : children.map(alone),
    primary: workers === 1 ? [] : [alone(gateway.pid)],
    postgres: [{ pid: postgres, withChildren: true }],
    nodes: nodes.map(({ pid }) => alone(pid)),
    clients: clients.map(({ pid }) => alone(pid)),
    runner: [alone(process.pid)],
  };
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);
}

async function postgresPid(dataDir: string): Promise<number> {
  const connection = await findPrivatePostgres({ dataDir });
  const text = await readFile(join(String(connection?.host), `.s.PGSQL.${connection?.port}.lock`), "utf8");
  return Number(text.split("\n", 1)[0]);
}
