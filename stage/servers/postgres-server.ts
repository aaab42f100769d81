/**
 * One PostgreSQL server of a chaos run, on a disk of its own: created empty, or as a copy of another server that it
 * then follows.
 */
import { randomBytes } from "node:crypto";
import { appendFile, chmod, chown, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { createCluster, SUPERUSER } from "../../gateway/src/db/private-postgres/create-cluster.ts";
import { type ProcessUser, runToCompletion, spawnOptions } from "../../gateway/src/db/private-postgres/os-user.ts";
import { findBinary, type PostgresBinaries } from "../../gateway/src/db/private-postgres/postgres-binaries.ts";
import { serverArguments } from "../../gateway/src/db/private-postgres/start-or-find-server.ts";
import { createProcess, findFreePort, type Process } from "../killable-process.ts";
import { type LimitedDisk, openLimitedDisk } from "./limited-disk.ts";

export interface PostgresServer {
  readonly name: string;
  readonly port: number;
  readonly disk: LimitedDisk;
  readonly process: Process;
  /** Queries as superuser over the server's Unix socket, so that no proxy is in between. */
  query<Row extends object>(sql: string, values?: unknown[], options?: QueryOptions): Promise<Row[]>;
  /** Runs `alter system` for the settings and applies them. Undefined resets a setting. */
  set(settings: Record<string, string | undefined>): Promise<void>;
  /** Creates a new, empty database cluster. */
  create(): Promise<void>;
  /**
   * Replaces the server's data with a copy of `primary`, which keeps running. After its start, this server follows
   * `primary`.
   */
  copy(primary: PostgresServer): Promise<void>;
  /** Returns the connection string with which another server follows this one. */
  conninfo(): string;
  /** The data directory. */
  readonly cluster: string;
}

interface QueryOptions {
  database?: string;
  withinMs?: number;
}

/**
 * Settings as durable as in production, and small enough for the disk. Settings that change at run time are set with
 * `alter system`.
 */
const SETTINGS: Record<string, string> = {
  fsync: "on",
  full_page_writes: "on",
  listen_addresses: "127.0.0.1",
  shared_buffers: "64MB",
  max_connections: "200",
  min_wal_size: "32MB",
  max_wal_size: "128MB",
  // Keeps enough of the log for a standby that was unreachable for a moment to catch up.
  wal_keep_size: "96MB",
  wal_sender_timeout: "10s",
  wal_receiver_timeout: "10s",
  // Makes an idle standby report to the primary every second.
  wal_receiver_status_interval: "1s",
  wal_retrieve_retry_interval: "250ms",
  jit: "off",
  timezone: "UTC",
};

/** Settings that are changed at run time, which a copy must reset. */
const AT_FIRST = [
  "synchronous_standby_names = ''",
  "synchronous_commit = on",
  "commit_delay = 0",
  "recovery_min_apply_delay = 0",
];

/**
 * Copies all files except those that belong to the running server or are created again. Changes and files that the copy
 * misses are in the write-ahead log, which the copy replays.
 */
const COPY = `
cd "$1" || exit 1
mkdir "$2/pg_wal" "$2/pg_replslot" || exit 1
for entry in $(ls -A); do
  case "$entry" in
    pg_wal|pg_replslot|postmaster.*|backup_label*|standby.signal) ;;
    *) cp -a "$entry" "$2/" 2>&1 | grep -v 'No such file or directory' >&2 ;;
  esac
done
test -f "$2/PG_VERSION"
`;

interface ServerOptions {
  name: string;
  directory: string;
  binaries: PostgresBinaries;
  runAs: ProcessUser;
  diskMb: number;
}

export async function createPostgresServer(options: ServerOptions): Promise<PostgresServer> {
  const { name, directory, binaries, runAs, diskMb } = options;
  const disk = await openLimitedDisk(join(directory, name), { sizeMb: diskMb, owner: runAs });
  const [cluster, port] = [join(disk.path, "cluster"), await findFreePort()];
  const sockets = join(directory, `${name}.socket`);
  await mkdir(sockets, { mode: 0o700 });
  if (runAs) await chown(sockets, runAs.uid, runAs.gid);

  const query: PostgresServer["query"] = async (
    sql,
    values = [],
    { database = "postgres", withinMs = 30_000 } = {},
  ) => {
    const client = new pg.Client({
      host: sockets,
      port,
      user: SUPERUSER,
      database,
      connectionTimeoutMillis: withinMs,
      query_timeout: withinMs,
    });
    // Ignores connection errors of a killed server, which the query's own error reports.
    client.on("error", () => {});
    try {
      await client.connect();
      return (await client.query(sql, values)).rows;
    } finally {
      // Does not wait, because a frozen server does not answer.
      void client.end().catch(() => {});
    }
  };
  const process_ = createProcess({
    name,
    command: [
      findBinary(binaries, "postgres"),
      ...serverArguments(cluster, sockets, { ...SETTINGS, port: String(port), cluster_name: name }),
    ],
    log: join(directory, `${name}.log`),
    environment: spawnOptions(runAs).env,
    user: runAs,
    // Stops the server at once, with all its processes.
    lastSignal: "QUIT",
    ready: () =>
      query("select 1", [], { withinMs: 2000 }).then(
        () => true,
        () => false,
      ),
  });
  const server: PostgresServer = {
    name,
    port,
    disk,
    cluster,
    process: process_,
    query,
    conninfo: () => `host=${sockets} port=${port} user=${SUPERUSER}`,
    async set(settings) {
      for (const [setting, value] of Object.entries(settings)) {
        await query(value === undefined ? `alter system reset ${setting}` : `alter system set ${setting} = '${value}'`);
      }
      await query("select pg_reload_conf()");
    },
    async create() {
      await createCluster({ directory: disk.path, cluster, log: "", runAs }, binaries, { sync: false });
      const rules = join(cluster, "pg_hba.conf");
      await writeFile(
        rules,
        "local all all trust\nlocal replication all trust\nhost all all 127.0.0.1/32 scram-sha-256\n",
      );
    },
    async copy(primary) {
      await rm(cluster, { recursive: true, force: true });
      await mkdir(cluster, { mode: 0o700 });
      if (runAs) await chown(cluster, runAs.uid, runAs.gid);
      const label = await copyWhileItRuns(primary, cluster, runAs);
      for (const [file, text] of Object.entries({ backup_label: label, "standby.signal": "" })) {
        await writeFile(join(cluster, file), text, { mode: 0o600 });
        if (runAs) await chown(join(cluster, file), runAs.uid, runAs.gid);
      }
      const own = [...AT_FIRST, `primary_conninfo = '${primary.conninfo()}'`];
      await appendFile(join(cluster, "postgresql.auto.conf"), `${own.join("\n")}\n`);
      await chmod(cluster, 0o700);
    },
  };
  return server;
}

/**
 * Copies a running server with the functions that backup tools use, because the npm package has no pg_basebackup.
 * Returns the copy's backup_label.
 */
async function copyWhileItRuns(primary: PostgresServer, to: string, runAs: ProcessUser): Promise<string> {
  const [host, port] = [/host=(\S+)/.exec(primary.conninfo())?.[1] as string, primary.port];
  // A backup must begin and end in the same session.
  const client = new pg.Client({ host, port, user: SUPERUSER, database: "postgres", query_timeout: 120_000 });
  client.on("error", () => {});
  await client.connect();
  try {
    await client.query("select pg_backup_start($1, true)", [`copy ${randomBytes(4).toString("hex")}`]);
    const copied = await runToCompletion("/bin/sh", ["-c", COPY, "sh", primary.cluster, to], runAs, 300_000);
    const { rows } = await client.query("select labelfile from pg_backup_stop(false)");
    if (copied.code !== 0 || copied.stderr !== "") throw new Error(`${to} could not be copied: ${copied.stderr}`);
    return rows[0].labelfile as string;
  } finally {
    await client.end();
  }
}
