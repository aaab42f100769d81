/**
 * Provides the databases of test platforms, by data directory. By default, a platform gets a copy of a migrated
 * template on the test run's server, because starting a private PostgreSQL takes seconds. With `PRIVATE_DATABASE` in
 * its environment the gateway starts a private one, as in real use: for suites that test it, its files or its log.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { sessionOptions } from "../gateway/src/db/session-settings.ts";
import { formatConnectionUrl, openTestDatabase, type TestDatabase } from "../gateway/src/db/testing.ts";

/** The KEY_PEPPER of every test platform. It is fixed, so that tests can create keys by SQL. */
export const TEST_KEY_PEPPER = "the pepper of the end-to-end tests";

/** The RECEIPT_SEED of platforms with several gateways. */
export const RECEIPT_SEED = Buffer.alloc(32, "e2e").toString("base64url");

/** Makes a gateway start its private PostgreSQL: an empty variable counts as unset. */
export const PRIVATE_DATABASE_ENV = { DATABASE_URL: "" };

export type Query = <Row extends object>(sql: string, values?: unknown[]) => Promise<Row[]>;

const databases = new Map<string, TestDatabase>();

/** Makes the gateway accept a database without durable commits: the test run's server does not flush them to disk. */
export const WITHOUT_DURABLE_COMMITS = { DATABASE_DURABILITY: "assumed" };

type DatabaseSettings = { DATABASE_URL: string; KEY_PEPPER: string; DATABASE_DURABILITY: string };

/**
 * Creates the database of a data directory. Returns the environment variables that a gateway on this directory needs,
 * also when it is started again.
 */
export async function openDatabase(dataDir: string): Promise<DatabaseSettings> {
  const database = databases.get(dataDir) ?? (await openTestDatabase());
  databases.set(dataDir, database);
  return settings(database);
}

/**
 * Returns the environment variables of `openDatabase` if the data directory already has a database; otherwise
 * undefined.
 */
export function findDatabase(dataDir: string | undefined): DatabaseSettings | undefined {
  const database = databases.get(dataDir ?? "");
  return database && settings(database);
}

export async function dropDatabase(dataDir: string): Promise<void> {
  const database = databases.get(dataDir);
  databases.delete(dataDir);
  await database?.close();
}

/** Connects to the database of the platform on this data directory. */
export async function connectToDatabase(dataDir: string): Promise<pg.Client> {
  const url = findDatabase(dataDir)?.DATABASE_URL;
  const client = new pg.Client({
    ...(url === undefined ? await readPrivateDatabaseConfig(dataDir) : { connectionString: url }),
    options: sessionOptions(),
  });
  await client.connect();
  return client;
}

/** Returns the connection settings of a private database, read from the files that its server keeps. */
export async function readPrivateDatabaseConfig(dataDir: string): Promise<pg.ClientConfig> {
  const note = await readIfExists(join(dataDir, "postgres-location.txt"));
  const home = note?.split("\n", 1)[0] ?? join(dataDir, "postgres");
  const pidFile = (await readFile(join(home, "cluster", "postmaster.pid"), "utf8")).split("\n");
  return { host: pidFile[4] as string, port: Number(pidFile[3]), user: "tollgate", database: "tollgate" };
}

export async function readIfExists(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

const settings = ({ connection }: TestDatabase): DatabaseSettings => ({
  DATABASE_URL: formatConnectionUrl(connection),
  KEY_PEPPER: TEST_KEY_PEPPER,
  ...WITHOUT_DURABLE_COMMITS,
});
