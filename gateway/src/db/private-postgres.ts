/**
 * A private PostgreSQL server from npm binaries, so that the gateway needs no database setup. It listens only on a
 * socket in a private directory and writes durably. It survives a killed gateway: the next start adopts the running
 * server.
 */
import { realpath } from "node:fs/promises";
import { z } from "zod";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import {
  type ClusterHome,
  findClusterHome,
  makeClusterHome,
  openDataDir,
  writeLocationNote,
} from "./private-postgres/cluster-home.ts";
import { checkCluster, createCluster, removeUnfinishedClusters } from "./private-postgres/create-cluster.ts";
import { DirectoryLock } from "./private-postgres/directory-lock.ts";
import { PrivatePostgresError, undefinedIfMissing } from "./private-postgres/errors.ts";
import { readOwnUid } from "./private-postgres/os-user.ts";
import { findInstalledBinaries, makeBinariesUsable } from "./private-postgres/postgres-binaries.ts";
import { findPostmaster, stopPostmaster, withClient } from "./private-postgres/postmaster.ts";
import { type RunningPostgresServer, startOrFindServer } from "./private-postgres/start-or-find-server.ts";
import { queryOne, row } from "./rows.ts";

/** The gateway's database, and the user it connects as (not a superuser). */
const DATABASE = "tollgate";
const USER = "tollgate";
const ROOT_PLACE = "/var/lib/tollgate";

const There = row({ role: z.boolean(), database: z.boolean() });

export interface PrivatePostgres {
  /** pg connection settings. The host is the directory of the Unix socket. */
  connection: { host: string; port: number; user: string; database: string };
  /** The postmaster's process ID. */
  pid: number;
  /** True if a killed process left the server running and this start took it over. */
  adopted: boolean;
  /** Stops the server with a fast shutdown. Resolves when the process has ended. Can be called again. */
  stop(): Promise<void>;
}

export interface PrivatePostgresOptions {
  dataDir: string;
  log: Log;
  clock: Clock;
  progress?: (what: string) => void;
  /** Called at most once, when the server ended or another gateway took it over. This process must then stop. */
  onLost?: (error: PrivatePostgresError) => void;
  /** The connection limit for a server that this call starts. */
  connectionsMax?: number;
  /**
   * The directory for PostgreSQL's programs and data if root starts the gateway, and the user that runs PostgreSQL
   * cannot use them in the checkout or in the data directory.
   */
  rootPlace?: string;
}

export async function startPrivatePostgres(options: PrivatePostgresOptions): Promise<PrivatePostgres> {
  const { log, clock, connectionsMax } = options;
  const progress = options.progress ?? (() => undefined);
  const rootPlace = options.rootPlace ?? ROOT_PLACE;

  const installed = await findInstalledBinaries();
  const dataDir = await openDataDir(options.dataDir, log);
  const found = await findClusterHome({ dataDir, rootPlace });
  if (found) await checkCluster(found, installed);
  const home = found ?? (await makeClusterHome({ dataDir, rootPlace }));
  const place = readOwnUid() === 0 ? rootPlace : home.directory;
  const binaries = await makeBinariesUsable(installed, { runAs: home.runAs, place, progress });
  if (!found) {
    progress("creating the database cluster");
    await createCluster(home, binaries, { sync: true });
    await writeLocationNote(dataDir, home);
  }
  const server = await startOrFindServer(home, binaries, { log, clock, progress, connectionsMax });
  log.info(
    { pid: server.pid, adopted: server.adopted, cluster: home.cluster },
    "the gateway's private PostgreSQL is ready",
  );
  return await takeOver(home, server, { ...options, dataDir });
}

/**
 * Finds the connection to the running server of a data directory, or undefined when none runs. For commands beside a
 * gateway: it creates nothing, and fails for a directory without a database.
 */
export async function findPrivatePostgres({
  dataDir,
}: {
  dataDir: string;
}): Promise<PrivatePostgres["connection"] | undefined> {
  const known = await undefinedIfMissing(realpath(dataDir));
  const home = known && (await findClusterHome({ dataDir: known, rootPlace: ROOT_PLACE }));
  if (!home) throw new PrivatePostgresError(`${dataDir} has no database. Is it the right directory?`);
  const sighting = await findPostmaster(home.cluster);
  if (sighting.kind !== "live" || sighting.file.status !== "ready") return undefined;
  return { host: sighting.file.socketDir, port: sighting.file.port, user: USER, database: DATABASE };
}

/** Takes over the running server and prepares its database. */
async function takeOver(
  home: ClusterHome,
  server: RunningPostgresServer,
  options: PrivatePostgresOptions,
): Promise<PrivatePostgres> {
  const { dataDir, log, clock } = options;
  const onLost =
    options.onLost ??
    ((error: PrivatePostgresError) =>
      log.fatal({ err: error }, "this process no longer controls the private PostgreSQL"));
  const lock = await DirectoryLock.take({ dataDir, cluster: home.cluster, server, log, clock, onLost });
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopping ??= stopHeld(home, server, lock, { log, clock });
    return stopping;
  };
  try {
    await removeUnfinishedClusters(home, log);
    await createDatabase(server);
  } catch (error) {
    await stop();
    throw new PrivatePostgresError(`The database in ${home.cluster} could not be prepared: see ${home.log}.`, {
      cause: error,
    });
  }
  return {
    connection: { host: server.host, port: server.port, user: USER, database: DATABASE },
    pid: server.pid,
    adopted: server.adopted,
    stop,
  };
}

/**
 * Stops the server, and holds the lock on the data directory until the server closes the lock's connection. So no other
 * gateway can take over in between.
 */
async function stopHeld(
  home: ClusterHome,
  server: RunningPostgresServer,
  lock: DirectoryLock,
  tools: { log: Log; clock: Clock },
) {
  lock.letGo();
  try {
    await stopPostmaster({ pid: server.pid, cluster: home.cluster }, tools);
  } finally {
    await lock.close();
  }
}

function createDatabase(server: RunningPostgresServer): Promise<void> {
  return withClient(server, async (client) => {
    const there = await queryOne(
      client,
      There,
      `select exists (select from pg_roles where rolname = $1) as role,
              exists (select from pg_database where datname = $2) as database`,
      [USER, DATABASE],
    );
    if (!there.role) await client.query(`create role ${USER} login`);
    if (!there.database) await client.query(`create database ${DATABASE} owner ${USER}`);
  });
}
