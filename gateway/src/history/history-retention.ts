/**
 * Drops old records: requests by whole months (exported first if configured), and refusals by the hour. Rollups stay.
 * For every dropped month the ledger gets a closing entry that replaces the records
 * (gateway/sql/functions/history_close_month.sql). One gateway runs this at a time. An interrupted run starts again.
 */
import type pg from "pg";
import { z } from "zod";
import { DAY_MS } from "../base/time.ts";
import { ADVISORY_LOCK_CLASS, ADVISORY_LOCK_IDS } from "../db/advisory-locks.ts";
import { column, queryOne, queryRows, row } from "../db/rows.ts";
import { exportMonth } from "./month-export.ts";

/** Undefined days: records are kept forever. */
export interface RetentionRules {
  historyDays: number | undefined;
  refusalsDays: number | undefined;
  /** The folder to which months are exported before they are dropped. Undefined: no export. */
  exportDir: string | undefined;
  /** How long hosts' earnings are held back, in days. Their records are kept at least as long. */
  payoutHoldDays: number;
}

const KeptMonth = row({
  /** The month in UTC, such as `2026-03`. */
  month: z.string(),
  /** The reason that prevents a drop of this month now, whether the month is due or not. */
  waits: z.string().nullable(),
});
interface KeptMonth extends z.infer<typeof KeptMonth> {
  /** Whether all records of the month are past their retention. */
  isDue: boolean;
}

const ClosedMonth = row({
  month: z.string(),
  rows: column.bigint,
  charged: column.pico,
  shared: column.pico,
  export: z.string().nullable(),
  sha256: z.string().nullable(),
  closedAt: column.moment,
});
export type ClosedMonth = z.infer<typeof ClosedMonth>;

export interface RetentionResult {
  /** The number of deleted refusal records. */
  refusals: bigint;
  closed: ClosedMonth[];
  /** Due months that could not be dropped yet, with the reason. */
  waiting: { month: string; why: string }[];
}

export interface HistoryRetention {
  /** The months that have records, oldest first. */
  kept(): Promise<KeptMonth[]>;
  /** Counts a month's records. Reads all of them. */
  rowsOf(month: string): Promise<bigint>;
  /** The months whose records were dropped, oldest first. */
  closed(): Promise<ClosedMonth[]>;
  /** Counts the refusals past their retention. Reads all of them. */
  refusalsDue(): Promise<bigint>;
  /** Drops everything that is due. Returns undefined when another gateway is doing so. */
  retain(stoppable?: Stoppable): Promise<RetentionResult | undefined>;
}

interface Stoppable {
  signal: AbortSignal;
  /** Gets the ID of the database process that runs the statements, so that the caller can cancel them. */
  onBackend: (pid: number) => void;
}

const Backend = row({ pid: z.int() });
const Free = row({ isFree: z.boolean() });
const Rows = row({ rows: column.bigint });
const Gone = row({ gone: column.bigint.nullable() });
const Code = row({ code: z.int() });

const LOCK_NOT_AVAILABLE = "55P03";
const CLOSED = `select to_char(month, 'YYYY-MM') as month, rows, charged, shared, export, sha256, closed_at as "closedAt"
  from history_closing`;

interface RetentionOptions {
  pool: pg.Pool;
  rules: RetentionRules;
  now: () => number;
}

export function openHistoryRetention({ pool, rules, now }: RetentionOptions): HistoryRetention {
  const { historyDays, refusalsDays, exportDir, payoutHoldDays } = rules;
  const isDue = (month: string): boolean => historyDays !== undefined && endOf(month) + historyDays * DAY_MS <= now();
  const kept = async (): Promise<KeptMonth[]> => {
    const text = `select to_char(m, 'YYYY-MM') as month, history_month_waits(m, $1) as waits
        from history_months() m where m <= now()`;
    const months = await queryRows(pool, KeptMonth, text, [payoutHoldDays]);
    return months.map((one) => ({ ...one, isDue: isDue(one.month) }));
  };
  const refusalsBefore = (): Date | undefined =>
    refusalsDays === undefined ? undefined : new Date(now() - refusalsDays * DAY_MS);

  const forgetRefusals = async (client: pg.PoolClient, signal: AbortSignal): Promise<bigint> => {
    const before = refusalsBefore();
    let total = 0n;
    if (before === undefined) return total;
    for (;;) {
      signal.throwIfAborted();
      const { gone } = await patiently(client, () =>
        queryOne(client, Gone, "select history_forget_refusals($1) as gone", [before]),
      );
      if (gone === null) return total;
      total += gone;
    }
  };

  const close = async (client: pg.PoolClient, month: string, signal: AbortSignal): Promise<ClosedMonth> => {
    const exported = exportDir && (await exportMonth(client, { month, directory: exportDir, signal }));
    const { fingerprint = null, file = null, sha256 = null } = exported || {};
    signal.throwIfAborted();
    await patiently(client, () =>
      queryOne(client, Code, "select history_close_month($1::date, $2, $3, $4, $5) as code", [
        `${month}-01`,
        payoutHoldDays,
        fingerprint?.toString() ?? null,
        file,
        sha256,
      ]),
    );
    return await queryOne(client, ClosedMonth, `${CLOSED} where month = $1::date`, [`${month}-01`]);
  };

  const retainOn = async (client: pg.PoolClient, signal: AbortSignal): Promise<RetentionResult> => {
    const done: RetentionResult = { refusals: await forgetRefusals(client, signal), closed: [], waiting: [] };
    for (;;) {
      // Months are dropped in order, so after each month the list is read again.
      const [next] = (await kept()).filter((one) => one.isDue);
      if (next === undefined) return done;
      if (next.waits !== null) return { ...done, waiting: [{ month: next.month, why: next.waits }] };
      try {
        done.closed.push(await close(client, next.month, signal));
      } catch (error) {
        if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE) throw error;
        return { ...done, waiting: [{ month: next.month, why: "a query is still reading the month's records" }] };
      }
    }
  };

  return {
    kept,
    closed: () => queryRows(pool, ClosedMonth, `${CLOSED} order by month`),
    async rowsOf(month) {
      const { rows } = await counted(pool, `select count(*) as rows from ${partitionOf(month)}`);
      return rows;
    },
    async refusalsDue() {
      const before = refusalsBefore();
      if (before === undefined) return 0n;
      const text = `select count(*) as rows from request
        where id >= uuid_floor((select min(m) from history_months() m)::timestamp at time zone 'UTC')
          and id < uuid_floor(date_trunc('hour', $1::timestamptz)) and starts_with(outcome, 'rate_limit_')`;
      const { rows } = await counted(pool, text, [before]);
      return rows;
    },
    async retain({ signal, onBackend } = { signal: new AbortController().signal, onBackend: () => {} }) {
      const client = await pool.connect();
      try {
        onBackend((await queryOne(client, Backend, "select pg_backend_pid() as pid")).pid);
        const lock = 'select pg_try_advisory_lock($1, $2) as "isFree"';
        const { isFree } = await queryOne(client, Free, lock, [ADVISORY_LOCK_CLASS, ADVISORY_LOCK_IDS.retention]);
        return isFree ? await retainOn(client, signal) : undefined;
      } finally {
        // A connection that still has the lock, or whose statement is being cancelled, is not reused.
        const isGood = !signal.aborted && (await client.query("select pg_advisory_unlock_all()").then(yes, no));
        client.release(!isGood);
      }
    },
  };
}

const yes = (): boolean => true;
const no = (): boolean => false;

const partitionOf = (month: string): string => `request_${month.replace("-", "_")}`;

/** The end of the month (exclusive). */
function endOf(month: string): number {
  const [year, ordinal] = month.split("-").map(Number) as [number, number];
  return Date.UTC(year, ordinal, 1);
}

/** Runs in a transaction without a statement timeout. */
async function patiently<T>(client: pg.PoolClient, work: () => Promise<T>): Promise<T> {
  await client.query("begin");
  try {
    await client.query("set local statement_timeout = 0");
    const result = await work();
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback");
    throw error;
  }
}

async function counted(pool: pg.Pool, text: string, values: unknown[] = []): Promise<z.infer<typeof Rows>> {
  const client = await pool.connect();
  try {
    return await patiently(client, () => queryOne(client, Rows, text, values));
  } finally {
    client.release();
  }
}
