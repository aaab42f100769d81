/**
 * Databases for tests: a temporary PostgreSQL server without durability, and per call a new database, copied from a
 * migrated template.
 * - `npm test` starts one server with one template for the whole run (`startTestServer`), and passes TEST_DATABASE_URL
 *   and TEST_DATABASE_TEMPLATE to its test processes.
 * - A single test file starts its own server on first use.
 * - TEST_DATABASE_URL alone may name your own server. Its user must be allowed to create databases.
 * - TEST_POSTGRES=15 selects that major version, if it is installed.
 *
 * A small shell process watches each temporary server. When the process that started the server ends, a pipe closes.
 * The watcher then stops the server and removes its files.
 */

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chown, mkdtemp, open } from "node:fs/promises";
import type { Socket } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { eventually } from "@tollgate/stage/wait.ts";
import pg from "pg";
import { createLog } from "../base/log.ts";
import { migrate } from "./migrate.ts";
import { type Connection, openPool } from "./pool.ts";
import type { ClusterHome } from "./private-postgres/cluster-home.ts";
import { createCluster, SUPERUSER } from "./private-postgres/create-cluster.ts";
import { choosePostgresUser, spawnOptions } from "./private-postgres/os-user.ts";
import { findBinary } from "./private-postgres/postgres-binaries.ts";
import { findPostmaster } from "./private-postgres/postmaster.ts";
import { readLogTail } from "./private-postgres/socket-and-log.ts";
import { serverArguments } from "./private-postgres/start-or-find-server.ts";
import { enableRowValidation } from "./rows.ts";
import { findPostgresBinaries } from "./testing/postgres-versions.ts";

/** A timeout for connections that is long enough on a busy machine. */
export const TEST_CONNECTION_TIMEOUT_MS = 120_000;

export interface TestDatabase {
  pool: pg.Pool;
  connection: Connection;
  /** Closes the pool and drops the database. */
  close(): Promise<void>;
}

const SQL = fileURLToPath(new URL("../../sql/", import.meta.url));
const USER = "tollgate";

/** Server settings without durability, because test data need not survive a crash. */
const FAST_AND_LOSSY = {
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  max_connections: "200",
  shared_buffers: "64MB",
  autovacuum: "off",
  jit: "off",
  // An unusual time zone and unusual formats reveal code that depends on the server's settings.
  timezone: "Asia/Kolkata",
  datestyle: "German",
  intervalstyle: "sql_standard",
  default_transaction_isolation: "serializable",
  bytea_output: "escape",
};

/** A shell script that waits for the end of its standard input, which ends with the process that started the server. */
const WATCHER = `
directory=$1; shift
trap '' INT TERM HUP
"$@" </dev/null &
server=$!
read -r _
kill -QUIT "$server"
wait "$server"
rm -rf "$directory"
`;

const log = createLog("silent");

/** The server of this process. Module state is allowed only in tests. */
let server: Promise<TestServer> | undefined;
const templates = new Map<string, Promise<string>>();
let openCount = 0;

interface TestServer {
  admin: Connection;
  /**
   * The user that tests connect as. Like a gateway's user, it is no superuser. Undefined: the user of the given URL.
   */
  user: string | undefined;
  /** An existing database with the gateway's schema, which tests copy and never drop. */
  template?: string | undefined;
}

/**
 * Starts a server for several test processes and returns their environment variables. The server ends with this
 * process.
 */
export async function startTestServer(
  major = wantedMajor(),
): Promise<{ TEST_DATABASE_URL: string; TEST_DATABASE_TEMPLATE: string }> {
  const admin = await startThrowAway(major);
  await administer(admin, `create role ${USER} login createdb`);
  const template = await makeTemplate({ admin, user: USER }, SQL);
  const { host, port } = admin;
  // A URL cannot contain a socket directory as its host, so the directory is a parameter.
  const url = `postgres://${USER}@localhost:${port}/postgres?host=${encodeURIComponent(host)}`;
  return { TEST_DATABASE_URL: url, TEST_DATABASE_TEMPLATE: template };
}

/** Creates a database. `sql`: an SQL directory, by default gateway/sql. */
export async function openTestDatabase(options: { sql?: string } = {}): Promise<TestDatabase> {
  openCount++;
  server ??= openServer();
  const running = await server;
  const { admin, user } = running;
  const name = newName();
  const template = await templateOf(running, options.sql);
  await administer(admin, `create database ${name} template ${template}${copiedBy(running)}${ownedBy(user)}`);
  const connection = inDatabase(admin, name, user);
  const pool = enableRowValidation(
    openPool(connection, { log, sizeMax: 10, connectMsMax: TEST_CONNECTION_TIMEOUT_MS }),
  );
  const close = async (): Promise<void> => {
    await pool.end();
    await administer(admin, `drop database ${name} with (force)`);
    openCount--;
    if (openCount === 0) await dropTemplates(admin);
  };
  return { pool, connection, close };
}

function templateOf(running: TestServer, sql: string | undefined): Promise<string> | string {
  if (sql === undefined && running.template !== undefined) return running.template;
  const directory = sql ?? SQL;
  const template = templates.get(directory) ?? makeTemplate(running, directory);
  templates.set(directory, template);
  return template;
}

async function makeTemplate({ admin, user }: TestServer, directory: string): Promise<string> {
  const name = newName();
  await administer(admin, `create database ${name}${ownedBy(user)}`);
  const pool = enableRowValidation(openPool(inDatabase(admin, name, user), { log, sizeMax: 1 }));
  try {
    await migrate(pool, { directory, log });
  } finally {
    // Closes all connections, because PostgreSQL copies only databases without connections.
    await pool.end();
  }
  return name;
}

/** Drops the template databases. A temporary server's templates end with it, but a given server would collect them. */
async function dropTemplates(admin: Connection): Promise<void> {
  if ("host" in admin) return;
  const names = [...templates.values()];
  templates.clear();
  for (const name of names) await administer(admin, `drop database ${await name} with (force)`);
}

async function openServer(): Promise<TestServer> {
  const { TEST_DATABASE_URL: url, TEST_DATABASE_TEMPLATE: template } = process.env;
  if (url) return { admin: { connectionString: url }, user: undefined, template };
  const admin = await startThrowAway(wantedMajor());
  await administer(admin, `create role ${USER} login`);
  return { admin, user: USER };
}

function wantedMajor(): number | undefined {
  const { TEST_POSTGRES: major } = process.env;
  return major ? Number(major) : undefined;
}

async function startThrowAway(major: number | undefined): Promise<Extract<Connection, { host: string }>> {
  const runAs = await choosePostgresUser();
  // Fixed to /tmp, because the system's temporary directory may be too long for a socket path, or closed to other
  // users.
  const directory = await mkdtemp("/tmp/tollgate-test-");
  const home: ClusterHome = {
    directory,
    cluster: join(directory, "cluster"),
    log: join(directory, "postgres.log"),
    runAs,
  };
  // Gives the directory to the user that PostgreSQL runs as. The watcher process, which is started below as the same
  // user, must be able to remove the directory.
  if (runAs) await chown(directory, runAs.uid, runAs.gid);
  const binaries = await findPostgresBinaries(major, { runAs, place: directory });
  await createCluster(home, binaries, { sync: false });
  const serverLog = await open(home.log, "a", 0o600);
  const command = [findBinary(binaries, "postgres"), ...serverArguments(home.cluster, directory, FAST_AND_LOSSY)];
  const watcher = spawn("/bin/sh", ["-c", WATCHER, "sh", directory, ...command], {
    ...spawnOptions(runAs),
    detached: true,
    stdio: ["pipe", serverLog.fd, serverLog.fd],
  });
  await serverLog.close();
  watcher.unref();
  (watcher.stdin as Socket).unref();
  const file = await eventually("the tests' PostgreSQL is ready", async () => {
    if (watcher.exitCode !== null) throw new Error(`PostgreSQL did not start: ${await readLogTail(home.log)}`);
    const sighting = await findPostmaster(home.cluster);
    return sighting.kind === "live" && sighting.file.status === "ready" && sighting.file;
  });
  return { host: file.socketDir, port: file.port, user: SUPERUSER, database: "postgres" };
}

async function administer(admin: Connection, sql: string): Promise<void> {
  const client = new pg.Client(admin);
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

/** Formats a connection as a URL. A socket directory cannot be the host, so it is a parameter. */
export function formatConnectionUrl(connection: Connection): string {
  if ("connectionString" in connection) return connection.connectionString;
  const { host, port, user, database } = connection;
  return `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
}

const newName = (): string => `tollgate_test_${randomBytes(6).toString("hex")}`;
/** Copies databases file by file: without fsync, this costs a third of writing their pages to the write-ahead log. */
const copiedBy = ({ user, template }: TestServer): string =>
  user !== undefined || template !== undefined ? " strategy file_copy" : "";
const ownedBy = (user: string | undefined): string => (user ? ` owner ${user}` : "");

function inDatabase(admin: Connection, database: string, user: string | undefined): Connection {
  if ("host" in admin) return { ...admin, database, user: user ?? admin.user };
  const url = new URL(admin.connectionString);
  url.pathname = `/${database}`;
  return { connectionString: url.href };
}
