/** The ledger check and its stored results. It runs once a day automatically. */
import type pg from "pg";
import { z } from "zod";
import { type Clock, sleep } from "../base/clock.ts";
import type { NewId } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { MINUTE_MS } from "../base/time.ts";
import { ADVISORY_LOCK_CLASS, ADVISORY_LOCK_IDS } from "../db/advisory-locks.ts";
import { isDatabaseUnreachable, isRetryableDatabaseError } from "../db/errors.ts";
import { column, queryOne, queryRow, row } from "../db/rows.ts";
import { checkLedger } from "../ledger/check.ts";

/** The requester stored with a scheduled check. */
export const SCHEDULED_CHECK_REQUESTER = "by itself";
const LOOK_EVERY_MS = 10 * MINUTE_MS;
const WATCH_EVERY_MS = MINUTE_MS;
const VERDICTS_KEPT = 400;
/** The pause before unfinished statements are canceled again, because another statement may have begun meanwhile. */
const ENDS_MS = 100;

const LedgerCheckResult = row({
  at: column.moment,
  /** Who requested the check: the operator's email address, `command line`, or `by itself`. */
  askedBy: z.string(),
  tookMs: column.count,
  balanced: z.boolean(),
  checks: z.array(row({ name: z.string(), checked: column.count, differences: z.array(z.string()) })),
});
export type LedgerCheckResult = z.infer<typeof LedgerCheckResult>;

const Free = row({ isFree: z.boolean() });
const Due = row({ isDue: z.boolean() });
const DUE = `select not exists (select from books_verdict where at > now() - interval '1 day') as "isDue"`;

export interface LedgerChecks {
  /** Recomputes every sum from its entries. Throws `ProofGivenUp` if the gateway stops meanwhile. */
  prove(askedBy: string): Promise<LedgerCheckResult>;
  last(): Promise<LedgerCheckResult | undefined>;
  /** Cancels running checks, which can take long, so that the gateway can stop. */
  close(): Promise<void>;
}

class ProofGivenUp extends Error {
  override name = "ProofGivenUp";
}

const LAST = `select at, asked_by as "askedBy", took_ms as "tookMs", balanced, checks from books_verdict
  order by at desc, id desc limit 1`;

export function openLedgerChecks({ pool, clock, newId }: { pool: pg.Pool; clock: Clock; newId: NewId }): LedgerChecks {
  const stopping = new AbortController();
  const { signal } = stopping;
  /** Running checks, each with the ID of its database process. */
  const running = new Map<Promise<unknown>, number | undefined>();
  const check = async () => {
    const checking = checkLedger(pool, { signal, onBackend: (pid) => running.set(checking, pid) });
    running.set(checking, undefined);
    try {
      return await checking;
    } catch (cause) {
      throw signal.aborted ? new ProofGivenUp("ledger check cancelled: the gateway is stopping", { cause }) : cause;
    } finally {
      running.delete(checking);
    }
  };
  return {
    async prove(askedBy) {
      const began = clock.monotonic();
      const checks = (await check()).map(({ name, checked, differences }) => ({
        name,
        checked: Number(checked),
        differences,
      }));
      const balanced = checks.every(({ differences }) => differences.length === 0);
      const tookMs = Math.round(clock.monotonic() - began);
      const at = new Date(clock.now());
      await pool.query(
        "insert into books_verdict (id, at, asked_by, took_ms, balanced, checks) values ($1, $2, $3, $4, $5, $6)",
        [newId(), at, askedBy, tookMs, balanced, JSON.stringify(checks)],
      );
      await pool.query(
        "delete from books_verdict where id in (select id from books_verdict order by at desc, id desc offset $1)",
        [VERDICTS_KEPT],
      );
      return { at, askedBy, tookMs, balanced, checks };
    },
    last: () => queryRow(pool, LedgerCheckResult, LAST),
    async close() {
      stopping.abort();
      while (running.size > 0) {
        const pids = [...running.values()].filter((pid) => pid !== undefined);
        try {
          await pool.query("select pg_cancel_backend(pid) from unnest($1::integer[]) pid", [pids]);
        } catch (error) {
          // With the database unreachable, there is no statement to cancel.
          if (isRetryableDatabaseError(error)) return;
          throw error;
        }
        await Promise.race([Promise.allSettled(running.keys()), sleep(clock, ENDS_MS)]);
      }
    },
  };
}

/**
 * Checks the ledger when the latest result is a day old, on one of several gateways. Returns a function that stops the
 * schedule.
 */
export function scheduleLedgerChecks(
  books: LedgerChecks,
  options: { pool: pg.Pool; clock: Clock; log: Log },
): () => Promise<void> {
  const { pool, clock, log } = options;
  let running: Promise<void> = Promise.resolve();
  const stop = clock.every(LOOK_EVERY_MS, () => {
    running = proveIfDue(books, pool).then(
      (verdict) => {
        if (verdict === undefined) return;
        const { balanced, checks, tookMs } = verdict;
        if (balanced) return log.info({ tookMs }, "ledger check passed");
        const differing = checks.filter(({ differences }) => differences.length > 0);
        log.error({ differing }, "ledger check found differences");
      },
      (error) => {
        const level = isDatabaseUnreachable(error) || error instanceof ProofGivenUp ? "debug" : "error";
        log[level]({ err: error }, "ledger check failed to run");
      },
    );
  });
  return async () => {
    stop();
    await running;
  };
}

/** The latest result, cached for readers that must not wait for the database. */
interface WatchedLedgerVerdict {
  /** Undefined before the first result. */
  current(): Pick<LedgerCheckResult, "at" | "balanced"> | undefined;
  stop(): Promise<void>;
}

export function watchLedgerCheckResult(
  books: LedgerChecks,
  { clock, log }: { clock: Clock; log: Log },
): WatchedLedgerVerdict {
  let last: LedgerCheckResult | undefined;
  let running: Promise<void> = Promise.resolve();
  const look = (): void => {
    running = books.last().then(
      (verdict) => {
        last = verdict;
      },
      (error) =>
        log[isDatabaseUnreachable(error) ? "debug" : "warn"]({ err: error }, "could not read the last ledger check"),
    );
  };
  look();
  const stop = clock.every(WATCH_EVERY_MS, look);
  return {
    current: () => last,
    async stop() {
      stop();
      await running;
    },
  };
}

/** Runs the check if it is due. Returns undefined if it is not, or if another gateway is running it. */
async function proveIfDue(books: LedgerChecks, pool: pg.Pool): Promise<LedgerCheckResult | undefined> {
  const client = await pool.connect();
  try {
    const { isFree } = await queryOne(client, Free, 'select pg_try_advisory_lock($1, $2) as "isFree"', [
      ADVISORY_LOCK_CLASS,
      ADVISORY_LOCK_IDS.books,
    ]);
    if (!isFree) return undefined;
    // Reads whether a check is due only after locking, because the lock's previous holder may have stored a result.
    const { isDue } = await queryOne(client, Due, DUE);
    return isDue ? await books.prove(SCHEDULED_CHECK_REQUESTER) : undefined;
  } finally {
    await client.query("select pg_advisory_unlock_all()").finally(() => client.release());
  }
}
