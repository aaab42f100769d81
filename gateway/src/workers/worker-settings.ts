/** The settings that a primary process passes to a worker, and the messages between them. */
import { LOWEST_FREE_MESSAGE_KIND } from "../base/process-message-channel.ts";
import { OTHER_CONNECTIONS } from "../build/database.ts";
import type { Config } from "../config.ts";
import { makeWorkerDirectoryPath } from "../ledger/spool.ts";

const VARIABLE = "TOLLGATE_WORKER";
/** The file descriptor of a worker's message channel, after the standard streams and Node's own channel. */
export const CHANNEL_FD = 4;
export const WORKER_STDIO = ["inherit", "inherit", "inherit", "ipc", "pipe"] as const;

/** Kinds of messages besides those of limits and plane. The primary sends requests; a worker reports that it serves. */
export const MESSAGE_KINDS = {
  serving: LOWEST_FREE_MESSAGE_KIND + 32,
  ready: LOWEST_FREE_MESSAGE_KIND + 33,
  figures: LOWEST_FREE_MESSAGE_KIND + 34,
  alive: LOWEST_FREE_MESSAGE_KIND + 35,
  stop: LOWEST_FREE_MESSAGE_KIND + 36,
};

export interface WorkerSettings {
  /** The worker's number, from 1 and unique among running workers. */
  number: number;
  /** The gateway's ID. All workers have the same, because together they are one gateway. */
  gateway: string;
  /** The number of workers. */
  workers: number;
  /** Whether this worker runs the background jobs for all. */
  hasUpkeep: boolean;
  internalPort: number;
  /** The URL of the private PostgreSQL that the primary started; null if the settings name a database. */
  databaseUrl: string | null;
}

export const workerEnvironment = (workerSettings: WorkerSettings): Record<string, string> => ({
  [VARIABLE]: JSON.stringify(workerSettings),
});

/** Undefined if the process is not a worker. */
export function readWorkerSettings(env: Record<string, string | undefined>): WorkerSettings | undefined {
  const text = env[VARIABLE];
  return text === undefined ? undefined : (JSON.parse(text) as WorkerSettings);
}

/**
 * Workers get a larger young generation than a single gateway, whose flag keeps it small (bin/tollgate.mjs). They have
 * hundreds of requests in flight, and each collection copies what these hold: with 16 MiB, half of all that chats
 * allocate, with 64 a third.
 */
const YOUNG_GENERATION = { gateway: "--max-semi-space-size=16", worker: "--max-semi-space-size=64" };

/** Node's flags for a worker, from those of the primary. Flags that an operator chose stay. */
export const makeWorkerNodeFlags = (flags: readonly string[]): string[] =>
  flags.map((flag) => (flag === YOUNG_GENERATION.gateway ? YOUNG_GENERATION.worker : flag));

/** The minimum size of a worker's connection pool, enough for a console page's parallel queries. */
const POOL_MIN = 4;
const MEBIBYTE = 1024 * 1024;
/** The largest request body. The memory for large bodies must be at least this, so that one such body fits. */
const BODY_BYTES_MAX = 10 * MEBIBYTE;

const shareOf = (whole: number, workers: number, least: number): number =>
  Math.min(whole, Math.max(least, Math.ceil(whole / workers)));

/** The maximum number of database connections of a gateway with all its workers. */
export const countConnectionsMax = ({
  databasePoolMax,
  workers,
}: Pick<Config, "databasePoolMax" | "workers">): number =>
  workers * (shareOf(databasePoolMax, workers, POOL_MIN) + OTHER_CONNECTIONS);

/** A worker's configuration, with its share of the gateway's limits. */
export function deriveWorkerConfig(
  config: Config,
  { workers, databaseUrl, number }: WorkerSettings,
): Config & { spoolRoot: string } {
  const gatewayBytesMax = Math.max(BODY_BYTES_MAX, Math.floor(config.bodyBudget.gatewayBytesMax / workers));
  return {
    ...config,
    ...(databaseUrl !== null && { databaseUrl }),
    databasePoolMax: shareOf(config.databasePoolMax, workers, POOL_MIN),
    databasePoolMin: shareOf(config.databasePoolMin, workers, 1),
    bodyBudget: { gatewayBytesMax, payerBytesMax: Math.max(BODY_BYTES_MAX, Math.floor(gatewayBytesMax / 4)) },
    spoolDir: makeWorkerDirectoryPath(config.spoolDir, number),
    spoolRoot: config.spoolDir,
  };
}
