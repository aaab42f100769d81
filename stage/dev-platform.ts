/**
 * Runs a whole platform for end-to-end suites with `tollgate dev`, on a free port and with a data directory of its own.
 * The suites observe it only from outside: by HTTP, processes and its database.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type pg from "pg";
import {
  connectToDatabase,
  dropDatabase,
  findDatabase,
  openDatabase,
  type Query,
  readIfExists,
} from "./stage-database.ts";
import { eventually } from "./wait.ts";

const TOLLGATE = fileURLToPath(new URL("../gateway/bin/tollgate.mjs", import.meta.url));
/** The last line that `tollgate dev` prints when the platform is ready. */
const LAST_WORDS = /Ctrl-C stops everything/;

export interface ReadyFile {
  /** The OpenAI API's base URL, with `/v1`. */
  base_url: string;
  gateway_url: string;
  console_url: string;
  api_key: string;
  host_token: string;
  operator: { email: string; password: string };
  builder: { email: string; password: string };
  /** The process IDs. `postgres` is null if the platform uses the test run's server. */
  pids: { gateway: number; postgres: number | null; nodes: number[] };
}

export interface Platform {
  ready: ReadyFile;
  dataDir: string;
  /** Returns everything that the process has printed. */
  output: () => string;
  process: ChildProcess;
  /** Resolves with the exit code once the process has ended. */
  ended: Promise<number | null>;
  query: Query;
  /** Kills the gateway with SIGKILL. */
  kill(): Promise<void>;
  /** Stops the platform as Ctrl-C does; returns the exit code. */
  stop(): Promise<number | null>;
}

export async function createDataDir(): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), "tollgate-e2e-"));
  // If the test runs as root, the database runs as another user, who needs permission to enter the directory.
  await chmod(dataDir, 0o711);
  return dataDir;
}

export async function removeDataDir(dataDir: string): Promise<void> {
  await dropDatabase(dataDir);
  await rm(dataDir, { recursive: true, force: true });
}

interface Started {
  process: ChildProcess;
  output: () => string;
  ended: Promise<number | null>;
}

/**
 * Runs `tollgate …` and collects its output. If the command has `--data`, it uses the database of that data directory.
 */
export function runTollgate(args: string[], env: Record<string, string> = {}): Started {
  const dataDir = args[args.indexOf("--data") + 1];
  const child = spawn(process.execPath, [TOLLGATE, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    // Holds back no payouts; gateway/src/routes/console/operator/chargeback.test.ts tests that they are held back.
    env: {
      ...process.env,
      LOG_LEVEL: "info",
      INTERNAL_PORT: "0",
      // Opens no database connections in advance for the console, because most suites never use it.
      DATABASE_POOL_MIN: "0",
      // Stops without a delay, because no balancer needs time to notice it.
      DRAIN_DELAY_S: "0",
      PAYOUT_HOLD_DAYS: "0",
      ...findDatabase(dataDir),
      ...env,
    },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  return { process: child, output: () => output, ended };
}

export async function startPlatform(
  dataDir: string,
  flags: string[] = [],
  env: Record<string, string> = {},
): Promise<Platform> {
  const readyFile = join(dataDir, "ready.json");
  await rm(readyFile, { force: true });
  if (env.DATABASE_URL === undefined) await openDatabase(dataDir);
  const started = runTollgate(["dev", "--port", "0", "--data", dataDir, "--ready-file", readyFile, ...flags], env);
  const ready = await untilReady(started, readyFile);
  let client: pg.Client | undefined;
  const query: Query = async (sql, values = []) => {
    client ??= await connectToDatabase(dataDir);
    return (await client.query(sql, values)).rows;
  };
  const disconnect = async (): Promise<void> => {
    await client?.end();
    client = undefined;
  };
  const kill = async (): Promise<void> => {
    await disconnect();
    process.kill(ready.pids.gateway, "SIGKILL");
  };
  const stop = async (): Promise<number | null> => {
    await disconnect();
    started.process.kill("SIGINT");
    return await started.ended;
  };
  return { ...started, ready, dataDir, query, kill, stop };
}

async function untilReady(started: Started, readyFile: string): Promise<ReadyFile> {
  let over = false;
  void started.ended.then(() => {
    over = true;
  });
  const written = async (): Promise<string | undefined> => {
    const text = await readIfExists(readyFile);
    // The ready file is written after the last line of output, but that line may still be in a pipe, so both are
    // awaited.
    if (text !== undefined && LAST_WORDS.test(started.output())) return text;
    if (over) throw new Error("it stopped");
    return undefined;
  };
  try {
    return JSON.parse(await eventually("the platform is ready", written));
  } catch (cause) {
    started.process.kill("SIGKILL");
    throw new Error(`the platform did not become ready:\n${started.output()}`, { cause });
  }
}

/**
 * Raises the key's limits for suites that send more requests. Must run before the key is first used, because gateways
 * cache verified keys.
 */
export async function raiseLimits(platform: Platform): Promise<void> {
  await platform.query("update api_key set in_flight_max = 100000, requests_per_minute_max = 1000000");
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}
