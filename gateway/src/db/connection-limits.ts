/**
 * Watches how many more connections the database accepts. When few are left, this gateway's pools open no further ones:
 * queries wait for an open connection, and requests that wait too long get 503. So the last connections remain for
 * other gateways, heartbeats and operators.
 */
import type pg from "pg";
import { z } from "zod";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { isDatabaseUnreachable } from "./errors.ts";
import { column, queryRows, row } from "./rows.ts";

const LOOK_EVERY_MS = 5_000;
/** How many connections remain for others: an eighth of the maximum, but at most this many. */
const RESERVE_MAX = 10;

const ConnectionLimit = row({
  limit: z.enum(["server", "role", "database"]),
  max: column.count,
  used: column.count,
});
/** A limit on connections: `max_connections`, or the `connection limit` of the role or the database. */
export type ConnectionLimit = z.infer<typeof ConnectionLimit>;

/** Counts by columns that every role may read of every session. A parallel worker counts as a connection too. */
const LIMITS = `select l."limit", l.max, l.used
  from (select count(*)::int as all, count(*) filter (where usename = session_user)::int as of_role,
               count(*) filter (where datname = current_database())::int as of_database
          from pg_stat_activity where datid is not null and usesysid is not null) used,
       pg_roles r, pg_database d,
       lateral (values
         ('server', greatest(0, current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
            - coalesce(current_setting('reserved_connections', true)::int, 0)), used.all),
         ('role', r.rolconnlimit, used.of_role),
         ('database', d.datconnlimit, used.of_database)) l ("limit", max, used)
 where r.rolname = session_user and d.datname = current_database() and l.max >= 0`;

/** Reads the limits that apply to this session's role and database. */
export const readConnectionLimits = (pool: pg.Pool): Promise<ConnectionLimit[]> =>
  queryRows(pool, ConnectionLimit, LIMITS);

/** Returns the limit with the fewest free connections. Pure. */
export const findTightestLimit = (limits: readonly ConnectionLimit[]): ConnectionLimit | undefined =>
  limits.toSorted((a, b) => a.max - a.used - (b.max - b.used))[0];

/** Whether only the reserve is left. Pure. */
export const isConnectionReserveReached = ({ max, used }: Pick<ConnectionLimit, "max" | "used">): boolean =>
  max - used <= Math.min(RESERVE_MAX, Math.ceil(max / 8));

interface WatchOptions {
  pool: pg.Pool;
  /** `isShort`: whether pools open no further connections. */
  guard: { isShort: boolean };
  clock: Clock;
  log: Log;
}

interface ConnectionLimitMonitor {
  /** The limits at the last reading. */
  limits(): readonly ConnectionLimit[];
  /** Reads the limits now. Rejects when the database fails. */
  look(): Promise<void>;
  stop(): void;
}

export function watchConnectionLimits({ pool, guard, clock, log }: WatchOptions): ConnectionLimitMonitor {
  let limits: readonly ConnectionLimit[] = [];
  let isTold = false;
  let isLooking = false;
  const look = async (): Promise<void> => {
    limits = await readConnectionLimits(pool);
    const tightest = findTightestLimit(limits);
    guard.isShort = tightest !== undefined && isConnectionReserveReached(tightest);
    if (guard.isShort === isTold) return;
    isTold = guard.isShort;
    if (isTold)
      log.error(
        { ...tightest },
        "database connections are running out: this gateway opens no more, and requests that wait for one get 503",
      );
    else log.info({ ...tightest }, "the database has enough free connections again");
  };
  const stop = clock.every(LOOK_EVERY_MS, () => {
    if (isLooking) return;
    isLooking = true;
    look()
      .catch((error) =>
        log[isDatabaseUnreachable(error) ? "debug" : "warn"](
          { err: error },
          "could not read how many database connections are free; retrying",
        ),
      )
      .finally(() => {
        isLooking = false;
      });
  });
  return { limits: () => limits, look, stop };
}
