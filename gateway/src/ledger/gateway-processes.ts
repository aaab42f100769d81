/**
 * Records every gateway process in the database, so that operators learn of a spool (settlements on disk) that no
 * process reads. A process that ends while it cannot reach the database cannot report that settlements are left in its
 * spool. But the holds of those requests expire, and `ledger_end_expired` counts them in the process's row. The count returns
 * to 0 when the process reaches the database again, or when another process or `tollgate admin spool enter` has read
 * the spool. A process deletes its row when it ends with an empty spool.
 */
import type pg from "pg";
import { z } from "zod";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { isDatabaseUnreachable } from "../db/errors.ts";
import { column, queryOne, queryRows, row } from "../db/rows.ts";

/** The migration that creates the table `gateway_process`. */
export const GATEWAY_PROCESSES_MIGRATION = 62;
const SEEN_EVERY_MS = 15_000;
/** How long a process counts as running after it was last seen. */
const RUNNING_S = 60;

const LeftSpool = row({
  gateway: z.string(),
  host: z.string(),
  directory: z.string(),
  seenAt: column.moment,
  requests: column.count,
});
/** A spool that may contain settlements. `requests`: the process's requests whose holds expired. */
export type LeftSpool = z.infer<typeof LeftSpool>;

export interface GatewayProcesses {
  /** Lists the processes whose spool may contain settlements, the longest unseen first. */
  leftSpools(limit: number): Promise<LeftSpool[]>;
  /**
   * Notes that everything in the process's spool is in the ledger. `isOver`: the process has ended, so that holds that
   * expire later are those of requests without an answer.
   */
  spoolRead(gateway: string, isOver: boolean): Promise<void>;
  /** Deletes the row of a process whose spool is lost. Returns false if there is none. */
  forget(gateway: string): Promise<boolean>;
  /** The maximum number of database connections of all running processes except those with this spool directory. */
  connections(except: { host: string; directory: string }): Promise<number>;
  /** Deletes the rows of processes that have ended and left nothing. */
  prune(): Promise<void>;
}

const Connections = row({ connections: column.count });
const IS_LEFT = "expired > 0";

/** `isThere`: whether the database has the table. During an upgrade, the migration may not have run yet. */
export function openGatewayProcesses(pool: pg.Pool, isThere: () => boolean = () => true): GatewayProcesses {
  return {
    async leftSpools(limit) {
      if (!isThere()) return [];
      const text = `select gateway, host, directory, seen_at as "seenAt", expired as requests from gateway_process
        where ${IS_LEFT} order by seen_at, gateway limit $1`;
      return await queryRows(pool, LeftSpool, text, [limit]);
    },
    async spoolRead(gateway, isOver) {
      if (!isThere()) return;
      const text = isOver
        ? "delete from gateway_process where gateway = $1"
        : `update gateway_process set expired = 0 where gateway = $1 and ${IS_LEFT}`;
      await pool.query(text, [gateway]);
    },
    async forget(gateway) {
      if (!isThere()) return false;
      return (await pool.query("delete from gateway_process where gateway = $1", [gateway])).rowCount === 1;
    },
    async connections({ host, directory }) {
      if (!isThere()) return 0;
      const text = `select coalesce(sum(connections), 0)::int as connections from gateway_process
        where seen_at > now() - $1 * interval '1 second' and not (host = $2 and starts_with(directory, $3))`;
      return (await queryOne(pool, Connections, text, [RUNNING_S, host, directory])).connections;
    },
    async prune() {
      if (!isThere()) return;
      await pool.query(`delete from gateway_process where not ${IS_LEFT} and seen_at < now() - interval '1 day'`);
    },
  };
}

interface GatewayProcess {
  gateway: string;
  host: string;
  directory: string;
  connections: number;
}

interface RecordOptions {
  pool: pg.Pool;
  schema: { readonly number: number };
  clock: Clock;
  log: Log;
  process: GatewayProcess;
}

export interface ProcessRecord {
  /** The number of other processes whose spool may contain settlements; undefined before the first reading. */
  spoolsLeft(): number | undefined;
  /** Whether the database has a row of this process, so that another process has to read its spool. */
  readonly isThere: boolean;
  /** Resolves when the record is not being refreshed. */
  idle(): Promise<void>;
  /** Ends the record. `isEmpty`: the spool contains no settlement. */
  end(isEmpty: boolean): Promise<void>;
}

const Left = row({ left: column.count });
const SEEN = `with seen as (
    insert into gateway_process (gateway, host, directory, connections) values ($1, $2, $3, $4)
    on conflict (gateway) do update set seen_at = now(), expired = 0)
  select count(*)::int as left from gateway_process where gateway <> $1 and ${IS_LEFT}`;

/** Records this process, and refreshes the record while it runs. */
export async function recordGatewayProcess(options: RecordOptions): Promise<ProcessRecord> {
  const { pool, schema, clock, log, process } = options;
  const { gateway, host, directory, connections } = process;
  let left: number | undefined;
  let isThere = false;
  let running: Promise<void> | undefined;
  const see = async (): Promise<void> => {
    if (schema.number < GATEWAY_PROCESSES_MIGRATION) return;
    // Set before, because the database may commit without an answer.
    isThere = true;
    ({ left } = await queryOne(pool, Left, SEEN, [gateway, host, directory, connections]));
  };
  const failed = (what: string) => (error: unknown) =>
    log[isDatabaseUnreachable(error) ? "debug" : "warn"]({ err: error }, what);
  await see();
  const stop = clock.every(SEEN_EVERY_MS, () => {
    running ??= see()
      .catch(failed("could not record that this gateway process runs; retrying"))
      .finally(() => {
        running = undefined;
      });
  });
  return {
    spoolsLeft: () => left,
    get isThere() {
      return isThere;
    },
    async idle() {
      await running;
    },
    async end(isEmpty) {
      stop();
      await running;
      if (!isThere || !isEmpty) return;
      try {
        await pool.query("delete from gateway_process where gateway = $1", [gateway]);
        isThere = false;
      } catch (error) {
        failed("could not record that this gateway process ended with an empty spool")(error);
      }
    },
  };
}
