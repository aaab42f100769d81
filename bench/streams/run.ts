/**
 * Measures many open streams and many nodes: how much memory and processor time they cost one gateway, and whether any
 * stream is late.
 *
 * npm run bench -- streams [--streams 1000,10000] [--nodes 4] [--window-s 20] [--checkout DIR]
 *
 * The gateway is complete (keys, holds, leases, PostgreSQL with fsync). Lightweight nodes and clients run in processes
 * of their own, so that they do not affect the figures. Linux only: figures come from /proc.
 */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { openHostAccount } from "@tollgate/stage/builder-and-host-accounts.ts";
import { TEST_KEY_PEPPER } from "@tollgate/stage/stage-database.ts";
import { writeCatalogue } from "@tollgate/stage/write-catalogue.ts";
import pg from "pg";
import { dollars } from "../../gateway/src/base/money.ts";
import { readIfExists } from "../../gateway/src/base/read-if-exists.ts";
import { findPrivatePostgres } from "../../gateway/src/db/private-postgres.ts";
import { gatewayClient } from "../../host/src/command/gateway/gateway-client.ts";
import { BenchProcess } from "../gateway/bench-process.ts";
import { gatewayCommand } from "../gateway/gateway-command.ts";
import {
  cpuSpentUs,
  readCpuTime,
  readMachineCpuUs,
  readResidentMemoryMib,
  type WatchedProcess,
} from "../gateway/process-resource-usage.ts";
import type { NodeLogin } from "./node-connection.ts";
import type { TimeWindowFigures } from "./shared-types.ts";

const MODEL = "tiny-3b";
/** The maximum number of slots of a node, a limit of the protocol. */
const SLOTS_MAX = 4_096;
/** The maximum number of nodes of a host account. */
const NODES_PER_HOST = 100;
const OUTPUT_TOKENS_MAX = 100_000;
const SETTLE_MS = 5_000;
const REST_MS = 10_000;

const { values } = parseArgs({
  options: {
    streams: { type: "string", default: "1000,10000" },
    nodes: { type: "string", default: "4" },
    "window-s": { type: "string", default: "20" },
    checkout: { type: "string", default: fileURLToPath(new URL("../..", import.meta.url)) },
  },
});
const counts = values.streams.split(",").map(Number);
const windowMs = Number(values["window-s"]) * 1000;
const nodeCount = Number(values.nodes);

interface Ready {
  base_url: string;
  api_key: string;
  pids: { gateway: number; postgres: number };
}

process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
const outDir = await mkdtemp(join(tmpdir(), "tollgate-streams-"));
// If the bench runs as root, the database runs as another user, who needs permission to enter the directory.
await chmod(outDir, 0o711);
const started: BenchProcess[] = [];
try {
  await measureAll();
} finally {
  for (const child of started.reverse()) await child.stop("SIGINT");
  await rm(outDir, { recursive: true, force: true });
}

async function measureAll(): Promise<void> {
  const ready = await startGateway();
  const database = new pg.Client(await findPrivatePostgres({ dataDir: outDir }));
  await database.connect();
  await liftLimits(database);
  const gateway = { pid: ready.pids.gateway, withChildren: false };
  const postgres = { pid: ready.pids.postgres, withChildren: true };
  const nodes = startProcess("node-process");
  const clients = startProcess("client-process");
  const logins = await registerNodes(ready, database);
  await database.end();
  nodes.process.on("message", ({ type, what }: { type: string; what: string }) => {
    if (type === "trouble") console.error(what);
  });
  nodes.process.send?.({ type: "join", logins });
  await heard(nodes, "online");
  await sleep(REST_MS);
  const parts = { gateway, postgres, nodes: watched(nodes), clients: watched(clients) };
  console.log(
    "| Streams | gateway, MiB | processors used: gateway | PostgreSQL | nodes | clients | others | events/s |",
  );
  console.log(
    "| gateway, µs per event | a stream's time ÷ pace: median, p99, max | late | relay ms: p50, p99, max | errors |",
  );
  await report(0, parts, clients);
  for (const count of counts) {
    clients.process.send?.({ type: "open", count, ...requestTo(ready) });
    const began = performance.now();
    await heard(clients, "opened");
    console.error(`${count} streams are open after ${((performance.now() - began) / 1000).toFixed(0)} s`);
    await sleep(SETTLE_MS);
    await report(count, parts, clients);
  }
  nodes.process.send?.({ type: "finish" });
  const { errors } = (await heard(clients, "closed")) as { errors: Record<string, number> };
  console.log(`Errors, from the first request to the last [DONE]: ${JSON.stringify(errors)}`);
  await sleep(REST_MS);
  console.log(
    `The gateway ${REST_MS / 1000} s after the last stream: ${readResidentMemoryMib(gateway).toFixed(0)} MiB`,
  );
}

/** Waits for a window of time to pass and prints what each process used in it. */
async function report(count: number, parts: Record<string, WatchedProcess>, clients: BenchProcess): Promise<void> {
  const look = () => ({
    cpu: Object.values(parts).map(readCpuTime),
    busy: readMachineCpuUs().busy,
    at: performance.now(),
  });
  clients.process.send?.({ type: "begin" });
  const before = look();
  await sleep(windowMs);
  clients.process.send?.({ type: "look" });
  const { seen } = (await heard(clients, "seen")) as { seen: TimeWindowFigures };
  const after = look();
  const tookUs = (after.at - before.at) * 1000;
  const spent = after.cpu.map((now, nth) => cpuSpentUs(before.cpu[nth] as typeof now, now));
  const others = Math.max(0, after.busy - before.busy - spent.reduce((sum, us) => sum + us, 0));
  const processors = [...spent, others].map((us) => (us / tookUs).toFixed(3));
  const mib = readResidentMemoryMib(parts.gateway as WatchedProcess).toFixed(0);
  const { overPace, relayMs, errors } = seen;
  const figures = (of: object, digits: number): string =>
    Object.values(of)
      .map((value: number | null) => value?.toFixed(digits) ?? "none")
      .join(", ");
  const { late, ...paces } = overPace;
  console.log(`| ${[count, mib, ...processors, ((seen.events * 1e6) / tookUs).toFixed(0)].join(" | ")} |`);
  if (count === 0) return;
  const perEvent = ((spent[0] ?? 0) / seen.events).toFixed(1);
  console.log(`| ${perEvent} | ${figures(paces, 3)} | ${late} | ${figures(relayMs, 1)} | ${JSON.stringify(errors)} |`);
}

async function startGateway(): Promise<Ready> {
  const roomy = { admission_max: 100_000, tps_max: 1_000_000_000, context_limit: 131_072 };
  const readyFile = join(outDir, "ready.json");
  const { command, env } = gatewayCommand(resolve(values.checkout));
  const gateway = new BenchProcess({
    name: "gateway",
    command: [...command, "dev", "--no-node", "--port", "0", "--data", outDir, "--ready-file", readyFile],
    processors: null,
    outDir,
    env: {
      ...env,
      CATALOGUE_FILE: await writeCatalogue(outDir, { [MODEL]: roomy }),
      KEY_PEPPER: TEST_KEY_PEPPER,
      INTERNAL_PORT: "0",
      LOG_LEVEL: "warn",
    },
  });
  started.push(gateway);
  return gateway.eventually(async () => {
    const text = await readIfExists(readyFile);
    return text === undefined ? undefined : (JSON.parse(text) as Ready);
  });
}

/** Raises the key's limits. Must run before the key is first used, because the gateway caches its limits. */
async function liftLimits(database: pg.Client): Promise<void> {
  await database.query(
    "update api_key set in_flight_max = 100000, requests_per_minute_max = 100000000, tokens_per_minute_max = 1000000000000",
  );
  const credit = dollars(1_000_000).toString();
  await database.query("select ledger_transfer(gen_random_uuid(), 'grant', account_id, $1, 'bench') from api_key", [
    credit,
  ]);
}

async function registerNodes(ready: Ready, database: pg.Client): Promise<NodeLogin[]> {
  const query = async <Row extends object>(sql: string, of: unknown[] = []): Promise<Row[]> =>
    (await database.query(sql, of)).rows;
  const slots = Math.min(SLOTS_MAX, Math.ceil((Math.max(...counts) * 1.5) / nodeCount));
  const logins: NodeLogin[] = [];
  let token = "";
  for (let i = 0; i < nodeCount; i++) {
    if (i % NODES_PER_HOST === 0) ({ token } = await openHostAccount(query));
    const client = gatewayClient({ gateway: ready.base_url, token });
    const { id } = await client.register({ name: `light-${i}`, hardware: {}, agent: "bench" });
    await client.elect(id, [MODEL]);
    const { url, jwt, seed } = await client.credentials(id);
    logins.push({ id, url, jwt, seed, slots, model: MODEL });
  }
  return logins;
}

function startProcess(name: string): BenchProcess {
  const file = fileURLToPath(new URL(`./${name}.ts`, import.meta.url));
  const child = new BenchProcess({ name, command: [process.execPath, file], processors: null, outDir, channel: true });
  started.push(child);
  return child;
}

function heard(child: BenchProcess, type: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    child.process.once("exit", () => reject(new Error(`a process ended: ${child.logFile}`)));
    const hear = (message: { type: string }): void => {
      if (message.type !== type) return;
      child.process.off("message", hear);
      resolve(message);
    };
    child.process.on("message", hear);
  });
}

function watched({ pid }: BenchProcess): WatchedProcess {
  return { pid, withChildren: false };
}

function requestTo({ base_url, api_key }: Ready): { port: number; request: string } {
  const body = JSON.stringify({
    model: MODEL,
    stream: true,
    max_tokens: OUTPUT_TOKENS_MAX,
    messages: [{ role: "user", content: "Tell me of the river." }],
  });
  const head = [
    "POST /v1/chat/completions HTTP/1.1",
    "host: bench",
    `authorization: Bearer ${api_key}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return { port: Number(new URL(base_url).port), request: `${head.join("\r\n")}\r\n\r\n${body}` };
}
