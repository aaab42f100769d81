/**
 * Finds the running server of a cluster. `postmaster.pid` survives a crash and process IDs are reused. So the process
 * is verified by its command line before it is used, and again before it is sent a signal.
 */
import { execFile } from "node:child_process";
import { readFile, rename, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import pg from "pg";
import { z } from "zod";
import { type Clock, sleep } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { queryOne, row } from "../rows.ts";
import { SUPERUSER } from "./create-cluster.ts";
import { PrivatePostgresError, readErrorCode, undefinedIfMissing } from "./errors.ts";

const STOP_FAST_MS_MAX = 30_000;
const STOP_NOW_MS_MAX = 15_000;
const POLL_MS = 20;
const EMPTY_FILE_MS = 1_000;
const CONNECT_MS_MAX = 5_000;

const DataDirectory = row({ data_directory: z.string() });

/** The lines of postmaster.pid, which PostgreSQL writes one by one while it starts. */
interface PidFile {
  text: string;
  pid: number;
  port: number;
  socketDir: string;
  /** The server's status: "starting", "ready", "stopping". Empty until the server writes it. */
  status: string;
}

export type PostmasterState =
  | { kind: "none" }
  /** The file contains the ID of a process that is not this cluster's server. */
  | { kind: "stale"; text: string }
  | { kind: "live"; file: PidFile };

export async function findPostmaster(cluster: string): Promise<PostmasterState> {
  const text = await undefinedIfMissing(readFile(join(cluster, "postmaster.pid"), "utf8"));
  if (text === undefined) return { kind: "none" };
  const file = parsePidFile(text);
  if (file === undefined) return { kind: "stale", text };
  if (await isPostmasterOf(file.pid, cluster)) return { kind: "live", file };
  // `isPostmasterOf` does not find a server in another container, or one with an unusual command line. If a server
  // answers on this cluster's socket, the cluster is in use and the file is not stale.
  if ((await askForCluster(file)) === cluster) {
    throw new PrivatePostgresError(
      `The database cluster ${cluster} is used by a PostgreSQL that this gateway did not start ` +
        `(process ${file.pid}, perhaps in another container): stop it first.`,
    );
  }
  return { kind: "stale", text };
}

function parsePidFile(text: string): PidFile | undefined {
  const lines = text.split("\n");
  const pid = Number(lines[0]);
  if (!Number.isSafeInteger(pid) || pid <= 1) return undefined;
  return { text, pid, port: Number(lines[3]), socketDir: lines[4] ?? "", status: lines[7]?.trim() ?? "" };
}

/** Whether the process is alive and serves the cluster. A zombie process has no command line. */
export async function isPostmasterOf(pid: number, cluster: string): Promise<boolean> {
  if (process.platform !== "linux") return (await commandLineByPs(pid)).includes(`postgres -D ${cluster} `);
  const argv = (await commandLineByProc(pid)).split("\0");
  if (basename(argv[0] ?? "") !== "postgres") return false;
  const directoryAt = argv.indexOf("-D");
  if (directoryAt > 0 && argv[directoryAt + 1] === cluster) return true;
  // If the data directory was moved while the server ran, the command line has the old path. The working directory has
  // the new one.
  return await isWorkingDirectory(pid, cluster);
}

async function commandLineByProc(pid: number): Promise<string> {
  try {
    return await readFile(`/proc/${pid}/cmdline`, "utf8");
  } catch (error) {
    const code = readErrorCode(error);
    if (code === "ENOENT" || code === "ESRCH" || code === "EACCES") return "";
    throw error;
  }
}

function commandLineByPs(pid: number): Promise<string> {
  return new Promise((resolve) => {
    // ps exits with status 1 and prints nothing if the process does not exist.
    execFile("/bin/ps", ["-ww", "-p", String(pid), "-o", "command="], (_error, stdout) => resolve(stdout));
  });
}

async function isWorkingDirectory(pid: number, directory: string): Promise<boolean> {
  try {
    const [theirs, ours] = await Promise.all([stat(`/proc/${pid}/cwd`), stat(directory)]);
    return theirs.dev === ours.dev && theirs.ino === ours.ino;
  } catch (error) {
    const code = readErrorCode(error);
    if (code === "ENOENT" || code === "ESRCH" || code === "EACCES" || code === "EPERM") return false;
    throw error;
  }
}

/** Returns the data directory of the server that listens on the file's socket, or undefined if none answers. */
async function askForCluster(file: PidFile): Promise<string | undefined> {
  if (!file.socketDir.startsWith("/")) return undefined;
  try {
    return await withClient({ host: file.socketDir, port: file.port }, async (client) => {
      return (await queryOne(client, DataDirectory, "show data_directory")).data_directory;
    });
  } catch (error) {
    if (isServerUnavailableError(error)) return undefined;
    throw error;
  }
}

/** Whether the error means that no server listens, or that it is starting or stopping. */
export function isServerUnavailableError(error: unknown): boolean {
  const code = readErrorCode(error);
  if (code !== undefined) return /^(ENOENT|ECONNREFUSED|ECONNRESET|EPIPE|57P0[123])$/.test(code);
  return error instanceof Error && /terminated|timeout/i.test(error.message);
}

/** Connection settings for the superuser and the database `postgres`, which always exists. */
export function makeSuperuserConfig(at: { host: string; port: number }, applicationName: string): pg.ClientConfig {
  return {
    host: at.host,
    port: at.port,
    user: SUPERUSER,
    database: "postgres",
    // Without this, the environment variable PGSSLMODE could request TLS on a socket file.
    ssl: false,
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_MS_MAX,
  };
}

export async function withClient<T>(
  at: { host: string; port: number },
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client(makeSuperuserConfig(at, "tollgate launcher"));
  // Always listens for errors: a lost connection can be reported twice, and an error without a listener would end the
  // process.
  const lost = new Promise<never>((_, reject) => client.on("error", reject));
  try {
    return await Promise.race([client.connect().then(() => work(client)), lost]);
  } finally {
    await client.end();
  }
}

/**
 * Removes a stale postmaster.pid. PostgreSQL does so itself if the process has ended, but not if another process of the
 * same user now has its ID. The file is renamed first, which reveals whether a server has written a new one meanwhile.
 */
export async function removeStalePidFile(cluster: string, text: string, clock: Clock): Promise<void> {
  const path = join(cluster, "postmaster.pid");
  // An empty file remains after a crash, or belongs to a server that is about to write the first line.
  if (text === "") await sleep(clock, EMPTY_FILE_MS);
  const aside = `${path}.stale`;
  if (!(await undefinedIfMissing(rename(path, aside).then(() => true)))) return;
  if ((await readFile(aside, "utf8")) === text) await rm(aside);
  else await rename(aside, path);
}

/**
 * Stops the server with a fast shutdown, which ends all sessions and writes all data. Resolves when the process has
 * ended.
 */
export async function stopPostmaster(target: { pid: number; cluster: string }, tools: { log: Log; clock: Clock }) {
  const steps = [
    { signal: "SIGINT", waitMs: STOP_FAST_MS_MAX },
    { signal: "SIGQUIT", waitMs: STOP_NOW_MS_MAX },
  ] as const;
  for (const { signal, waitMs } of steps) {
    if (!(await isPostmasterOf(target.pid, target.cluster))) return;
    if (signal === "SIGQUIT") {
      // Killing the server loses no commits, because the next start replays the write-ahead log.
      tools.log.warn({ pid: target.pid }, "PostgreSQL does not stop; killing it");
    }
    sendSignal(target.pid, signal);
    if (await isGone(target, tools.clock, waitMs)) return;
  }
  throw new PrivatePostgresError(`PostgreSQL (process ${target.pid}) of ${target.cluster} does not stop.`);
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // ESRCH: the process ended before the signal.
    if (readErrorCode(error) !== "ESRCH") throw error;
  }
}

async function isGone(target: { pid: number; cluster: string }, clock: Clock, waitMs: number): Promise<boolean> {
  const deadline = clock.monotonic() + waitMs;
  while (await isPostmasterOf(target.pid, target.cluster)) {
    if (clock.monotonic() > deadline) return false;
    await sleep(clock, POLL_MS);
  }
  return true;
}
