/**
 * Test helpers for the private PostgreSQL: temporary folders whose servers are stopped at the end, and other gateways.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { systemClock } from "../../base/clock.ts";
import { createLog } from "../../base/log.ts";
import { type PrivatePostgres, type PrivatePostgresOptions, startPrivatePostgres } from "../private-postgres.ts";
import { undefinedIfMissing } from "./errors.ts";
import { findPostmaster, makeSuperuserConfig, stopPostmaster } from "./postmaster.ts";
import type { TestGatewayReport } from "./testing-gateway.ts";

export const silentLog = createLog("silent");
export const runsAsRoot = process.getuid?.() === 0;

interface Scratch {
  directory: string;
  /** A data directory that does not exist yet. */
  dataDir: string;
  cluster: string;
  /** The folder in which root creates homes, instead of the system's. */
  rootPlace: string;
  start(more?: Partial<PrivatePostgresOptions>): Promise<PrivatePostgres>;
  /** Stops the servers that this helper started. */
  stopAll(): Promise<void>;
}

/** A test's context, or the module node:test for a whole file. */
interface Scope {
  after(task: () => Promise<void>): void;
}

/** Creates a temporary folder for a test or a file. At the end, servers that still run in it are stopped. */
export async function createScratchDirectory(t: Scope): Promise<Scratch> {
  const directory = await mkdtemp("/tmp/tollgate-embedded-");
  await chmod(directory, 0o711);
  const dataDir = join(directory, "data");
  const cluster = join(dataDir, "postgres", "cluster");
  const rootPlace = join(directory, "root");
  const started: PrivatePostgres[] = [];
  const stopAll = async (): Promise<void> => {
    for (const postgres of started.splice(0)) await postgres.stop();
  };
  t.after(async () => {
    await stopAll();
    const elsewhere = ((await undefinedIfMissing(readdir(rootPlace))) ?? []).map((home) =>
      join(rootPlace, home, "cluster"),
    );
    for (const candidate of [cluster, ...elsewhere]) await stopLeftover(candidate);
    await rm(directory, { recursive: true, force: true });
  });
  const start = async (more: Partial<PrivatePostgresOptions> = {}): Promise<PrivatePostgres> => {
    const postgres = await startPrivatePostgres({ dataDir, rootPlace, log: silentLog, clock: systemClock, ...more });
    started.push(postgres);
    return postgres;
  };
  return { directory, dataDir, cluster, rootPlace, start, stopAll };
}

async function stopLeftover(cluster: string): Promise<void> {
  const sighting = await findPostmaster(cluster);
  if (sighting.kind === "live")
    await stopPostmaster({ pid: sighting.file.pid, cluster }, { log: silentLog, clock: systemClock });
}

/** Runs one statement in the gateway's database as the gateway's user, or as superuser. */
export async function queryPostgres<Row extends pg.QueryResultRow>(
  connection: PrivatePostgres["connection"],
  sql: string,
  as: "gateway" | "superuser" = "gateway",
): Promise<Row[]> {
  const client = new pg.Client(as === "gateway" ? connection : makeSuperuserConfig(connection, "tollgate test"));
  // Ignored here, because the statement itself fails with the error.
  client.on("error", () => undefined);
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

interface GatewayInOwnProcess {
  child: ChildProcess;
  /** Resolves with the next event of this kind. Fails if the process ends first. */
  next<E extends TestGatewayReport["event"]>(event: E): Promise<Extract<TestGatewayReport, { event: E }>>;
  /** Closes the process's standard input, so that it stops its server, and waits for its end. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

export function startGatewayInOwnProcess(
  t: TestContext,
  place: Scratch,
  user?: { uid: number; gid: number },
): GatewayInOwnProcess {
  const script = fileURLToPath(new URL("./testing-gateway.ts", import.meta.url));
  const child = spawn(process.execPath, [script, place.dataDir, place.rootPlace], {
    cwd: "/",
    stdio: ["pipe", "pipe", "inherit"],
    ...user,
  });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await exited;
  };
  t.after(kill);
  return {
    child,
    async next(event) {
      for (;;) {
        const { value, done } = await lines.next();
        if (done) throw new Error(`the other gateway ended without saying ${event}`);
        const line = JSON.parse(value) as TestGatewayReport;
        if (line.event === event) return line as Extract<TestGatewayReport, { event: typeof event }>;
        if (line.event === "refused") throw new Error(`the other gateway was refused: ${line.message}`);
      }
    },
    async stop() {
      child.stdin.end();
      await exited;
    },
    kill,
  };
}
