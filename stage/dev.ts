/**
 * A whole platform for the end-to-end suites: started with the command a person would use, on a free port and a data
 * directory of its own, watched from outside only: HTTP, processes, and its database.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type pg from "pg";
import { connect, databaseOf, dropDatabase, openDatabase, type Query, readIfThere } from "./database.ts";
import { eventually } from "./wait.ts";

const TOLLGATE = fileURLToPath(new URL("../gateway/bin/tollgate.mjs", import.meta.url));
/** The last line of the screen when the platform is ready. */
const LAST_WORDS = /Ctrl-C stops everything/;

export interface Ready {
  /** The OpenAI API's base URL, with `/v1`. */
  base_url: string;
  gateway_url: string;
  console_url: string;
  api_key: string;
  host_token: string;
  operator: { email: string; password: string };
  builder: { email: string; password: string };
  /** `postgres` is null where the database is not a private one. */
  pids: { gateway: number; postgres: number | null; nodes: number[] };
}

export interface Platform {
  ready: Ready;
  dataDir: string;
  /** Everything it printed. */
  output: () => string;
  process: ChildProcess;
  /** Resolves with the exit code once the process has ended. */
  ended: Promise<number | null>;
  query: Query;
  /** As `kill -9` does to the gateway. */
  kill(): Promise<void>;
  /** As Ctrl-C does; returns the exit code. */
  stop(): Promise<number | null>;
}

export async function newDataDir(): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), "tollgate-e2e-"));
  // As root the database runs as another user, who has to pass through.
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

/** Runs `tollgate …` and collects what it prints. What names a platform's data directory works on its database. */
export function tollgate(args: string[], env: Record<string, string> = {}): Started {
  const dataDir = args[args.indexOf("--data") + 1];
  const child = spawn(process.execPath, [TOLLGATE, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    // No hold-back: gateway/src/routes/console/operator/chargeback.test.ts tests it.
    env: {
      ...process.env,
      LOG_LEVEL: "info",
      INTERNAL_PORT: "0",
      // Most suites never open the console, and the others can wait: nothing is made ready for it.
      DATABASE_POOL_MIN: "0",
      // No balancer has to notice that a gateway stops.
      DRAIN_DELAY_S: "0",
      PAYOUT_HOLD_DAYS: "0",
      ...databaseOf(dataDir),
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
  const started = tollgate(["dev", "--port", "0", "--data", dataDir, "--ready-file", readyFile, ...flags], env);
  const ready = await untilReady(started, readyFile);
  let client: pg.Client | undefined;
  const query: Query = async (sql, values = []) => {
    client ??= await connect(dataDir);
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

async function untilReady(started: Started, readyFile: string): Promise<Ready> {
  let over = false;
  void started.ended.then(() => {
    over = true;
  });
  const written = async (): Promise<string | undefined> => {
    const text = await readIfThere(readyFile);
    // The ready file comes after the screen's last words, which may still be on their way through a pipe.
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

/** For suites that send more at once than a key may. Call it before the key is used: a verified key is remembered. */
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
