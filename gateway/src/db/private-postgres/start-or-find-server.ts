/**
 * Starts the server of a cluster, or waits for one that is starting or stopping. The server runs in its own process
 * session, so that Ctrl-C in a terminal stops only the gateway, which then stops the server in order.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { statfs } from "node:fs/promises";
import { type Clock, sleep } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { ClusterHome } from "./cluster-home.ts";
import { PrivatePostgresError, withPathInError } from "./errors.ts";
import { spawnOptions } from "./os-user.ts";
import { findBinary, type PostgresBinaries } from "./postgres-binaries.ts";
import {
  findPostmaster,
  isServerUnavailableError,
  type PostmasterState,
  removeStalePidFile,
  withClient,
} from "./postmaster.ts";
import { openServerLog, openSocketDir, readLogTail, SOCKET_PORT, trimServerLog } from "./socket-and-log.ts";

/** Less free disk space means a full disk: PostgreSQL needs 16 MiB for a segment of its write-ahead log. */
const DISK_BYTES_MIN = 16 << 20;
const READY_MS_MAX = 60_000;
const POLL_MS = 20;
const RACE_MS = 250;

/** The ledger is stored in this database, so commits must reach the disk. */
const SETTINGS: Record<string, string> = {
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  shared_buffers: "128MB",
  max_wal_size: "512MB",
  min_wal_size: "80MB",
  jit: "off",
  timezone: "UTC",
  cluster_name: "tollgate",
};

/** The connection limit, enough for one gateway process and for commands beside it. */
const CONNECTIONS_MAX = 50;

/** The command-line arguments of every private server, including those of tests. */
export function serverArguments(cluster: string, socketDir: string, settings: Record<string, string>): string[] {
  const all: Record<string, string> = {
    listen_addresses: "",
    // Quoted, because the setting is a list and the path may contain a comma or space.
    unix_socket_directories: `"${socketDir.replaceAll('"', '""')}"`,
    unix_socket_permissions: "0700",
    port: String(SOCKET_PORT),
    log_timezone: "UTC",
    log_line_prefix: "%m [%p] ",
    log_checkpoints: "off",
    // Keeps statements and their values out of the server's log. The caller gets the full error.
    log_min_error_statement: "panic",
    log_error_verbosity: "terse",
    ...settings,
  };
  return ["-D", cluster, ...Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`])];
}

export interface RunningPostgresServer {
  pid: number;
  host: string;
  port: number;
  adopted: boolean;
}

interface Tools {
  log: Log;
  clock: Clock;
  progress: (what: string) => void;
  connectionsMax?: number | undefined;
}

export async function startOrFindServer(
  home: ClusterHome,
  binaries: PostgresBinaries,
  tools: Tools,
): Promise<RunningPostgresServer> {
  const deadline = tools.clock.monotonic() + READY_MS_MAX;
  const said = onceEach(tools.progress);
  let started: Started | undefined;
  for (;;) {
    const sighting = await withPathInError("The database cluster", home.cluster, () => findPostmaster(home.cluster));
    if (sighting.kind === "live") {
      const { pid, socketDir, port, status } = sighting.file;
      const at = { host: socketDir, port };
      const adopted = pid !== started?.child.pid;
      if (status === "ready" && (await answers(at))) {
        if (adopted) await trimServerLog(home);
        return { pid, ...at, adopted };
      }
      if (adopted) said(status === "stopping" ? "waiting for PostgreSQL to stop" : "waiting for PostgreSQL");
    } else if (started === undefined || started.ended()) {
      if (started) {
        if (!(await lostARace(home, started))) throw await startFailed(home, started);
        await sleep(tools.clock, RACE_MS);
      }
      said("starting PostgreSQL");
      started = await start(home, binaries, sighting, tools);
    }
    if (tools.clock.monotonic() > deadline) throw await notReady(home, sighting, started);
    await sleep(tools.clock, POLL_MS);
  }
}

function onceEach(progress: (what: string) => void): (what: string) => void {
  const seen = new Set<string>();
  return (what) => {
    if (seen.has(what)) return;
    seen.add(what);
    progress(what);
  };
}

async function answers(at: { host: string; port: number }): Promise<boolean> {
  try {
    await withClient(at, (client) => client.query("select 1"));
    return true;
  } catch (error) {
    if (isServerUnavailableError(error)) return false;
    throw error;
  }
}

interface Started {
  child: ChildProcess;
  ended: () => boolean;
  /** The size of the log in bytes before this start, where its own lines begin. */
  logFrom: number;
}

async function start(
  home: ClusterHome,
  binaries: PostgresBinaries,
  sighting: PostmasterState,
  { clock, connectionsMax = CONNECTIONS_MAX }: Tools,
): Promise<Started> {
  if (sighting.kind === "stale") await removeStalePidFile(home.cluster, sighting.text, clock);
  const socketDir = await openSocketDir(home);
  const log = await openServerLog(home);
  try {
    const logFrom = (await log.stat()).size;
    const settings = { ...SETTINGS, max_connections: String(connectionsMax) };
    const child = spawn(findBinary(binaries, "postgres"), serverArguments(home.cluster, socketDir, settings), {
      ...spawnOptions(home.runAs),
      detached: true,
      stdio: ["ignore", log.fd, log.fd],
    });
    let ended = false;
    child.once("exit", () => {
      ended = true;
    });
    await new Promise((resolve, reject) => child.once("spawn", resolve).once("error", reject));
    child.unref();
    return { child, ended: () => ended, logFrom };
  } catch (error) {
    throw new PrivatePostgresError(`PostgreSQL could not be started from ${binaries.native}.`, { cause: error });
  } finally {
    await log.close();
  }
}

/**
 * Whether the server could not start because another one was faster, or because processes of a killed server still run.
 */
async function lostARace(home: ClusterHome, started: Started): Promise<boolean> {
  const tail = await readLogTail(home.log, started.logFrom);
  return /lock file "[^"]*" already exists|pre-existing shared memory block/.test(tail);
}

async function startFailed(home: ClusterHome, started: Started): Promise<PrivatePostgresError> {
  const tail = await readLogTail(home.log, started.logFrom);
  const cause = new Error(
    tail || `PostgreSQL logged nothing; exit status ${started.child.exitCode ?? started.child.signalCode}`,
  );
  // Also checks the free space, because on a full disk the log lacks its last lines.
  const { bavail, bsize } = await statfs(home.directory);
  if (/No space left on device|Disk quota exceeded/.test(tail) || bavail * bsize < DISK_BYTES_MIN) {
    return new PrivatePostgresError(`The disk of ${home.directory} is full: PostgreSQL cannot start.`, { cause });
  }
  const fatal = /(?:FATAL|PANIC): +(.*)/.exec(tail)?.[1] ?? "see the log";
  return new PrivatePostgresError(`PostgreSQL did not start on ${home.cluster}: ${fatal} (${home.log}).`, { cause });
}

/**
 * Describes a server that was not ready in time. The server keeps running: it may be replaying a long write-ahead log,
 * and the next start waits for it again.
 */
async function notReady(
  home: ClusterHome,
  sighting: PostmasterState,
  started: Started | undefined,
): Promise<PrivatePostgresError> {
  const pid = sighting.kind === "live" ? sighting.file.pid : started?.child.pid;
  return new PrivatePostgresError(
    `PostgreSQL (process ${pid ?? "unknown"}) on ${home.cluster} was not ready after ${READY_MS_MAX / 1000} s: ` +
      `see ${home.log}, and try again or stop that process.`,
    { cause: new Error(await readLogTail(home.log, started?.logFrom)) },
  );
}
