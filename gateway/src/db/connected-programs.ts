/**
 * Reads from connection names which program versions use a database. Every gateway keeps a connection for its
 * heartbeat, so a migration can see every version that it could affect.
 */
import type pg from "pg";
import { z } from "zod";
import { VERSION } from "../base/version.ts";
import { NEWEST_KNOWN_MIGRATION } from "./migrations.ts";
import { column, queryOne, queryRows, row } from "./rows.ts";

/** The connection name with the program's version: `tollgate 0.1.0 schema 28`, `tollgate heartbeat 0.1.0 schema 28`. */
export const makeConnectionName = (use = ""): string =>
  ["tollgate", use, VERSION, "schema", NEWEST_KNOWN_MIGRATION].filter((word) => word !== "").join(" ");

const BROADCAST = "tollgate broadcast";

/**
 * The name of the connection that receives broadcasts, by which gateways are counted. It contains no version, so that
 * gateways of every version count. Worker processes of one gateway (`WORKERS`) add the same ID.
 */
export const nameBroadcastConnection = (gateway?: string): string =>
  gateway === undefined ? BROADCAST : `${BROADCAST} ${gateway}`;

const Count = row({ count: column.count });
const COUNT = `select (count(*) filter (where application_name = $1)
    + count(distinct application_name) filter (where application_name like $1 || ' %'))::int as count
  from pg_stat_activity where datname = current_database()`;

/**
 * Counts the gateways that use the database. Each worker process listens on its own connection, but a gateway counts
 * once.
 */
export const countConnectedGateways = async (pool: pg.Pool): Promise<number> =>
  (await queryOne(pool, Count, COUNT, [BROADCAST])).count;

const NAME = /^tollgate (?:heartbeat )?(\S+) schema (\d+)$/;

const Connected = row({ name: z.string(), connections: column.count });

export interface ConnectedProgram {
  /** For display: "0.1.0 (schema 28)". */
  version: string;
  /** The program's newest known migration; 0 for versions whose connections have no version. */
  schema: number;
  connections: number;
}

/**
 * Lists all other connections of Tollgate programs, by version. Every user of the database can see connection names. Do
 * not poll it inside a transaction, where PostgreSQL returns the same list each time.
 */
export async function listConnectedPrograms(client: pg.PoolClient): Promise<ConnectedProgram[]> {
  const rows = await queryRows(
    client,
    Connected,
    `select application_name as name, count(*)::int as connections from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()
        and (application_name = 'tollgate' or application_name like 'tollgate %') and not application_name ^@ $1
      group by 1`,
    [BROADCAST],
  );
  const programs = new Map<string, ConnectedProgram>();
  for (const { name, connections } of rows) {
    const [, number, schema] = NAME.exec(name) ?? [];
    const version = number === undefined ? "0.1.0 or older" : `${number} (schema ${schema})`;
    const known = programs.get(version);
    programs.set(version, {
      version,
      schema: Number(schema ?? 0),
      connections: connections + (known?.connections ?? 0),
    });
  }
  return [...programs.values()].sort((a, b) => a.schema - b.schema);
}

export const formatConnectedPrograms = (programs: ConnectedProgram[]): string =>
  programs
    .map(({ version, connections }) => `${version}, ${connections} connection${connections === 1 ? "" : "s"}`)
    .join("; ");
