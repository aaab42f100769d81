/** Runs retention every hour, in one gateway at a time. */
import type pg from "pg";
import { type Clock, sleep } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { HOUR_MS } from "../base/time.ts";
import { isDatabaseUnreachable, isRetryableDatabaseError } from "../db/errors.ts";
import type { HistoryRetention } from "./history-retention.ts";

const LOOK_EVERY_MS = HOUR_MS;
/**
 * To stop a running statement, the gateway cancels it at this interval until it ends, because the first attempt may
 * come before the statement has begun.
 */
const ENDS_MS = 100;

export interface RetentionRunner {
  /**
   * The number of months with records, and of those due for deletion, at the latest run. Undefined before the first.
   */
  months(): { kept: number; due: number } | undefined;
  stop(): Promise<void>;
}

interface RetainingOptions {
  retention: HistoryRetention;
  pool: pg.Pool;
  clock: Clock;
  log: Log;
}

export function startRetentionRunner({ retention, pool, clock, log }: RetainingOptions): RetentionRunner {
  const stopping = new AbortController();
  const { signal } = stopping;
  let months: ReturnType<RetentionRunner["months"]>;
  let running: Promise<void> | undefined;
  let backend: number | undefined;
  const count = async (): Promise<void> => {
    const kept = await retention.kept();
    months = { kept: kept.length, due: kept.filter(({ isDue }) => isDue).length };
  };
  const run = async (): Promise<void> => {
    const onBackend = (pid: number): void => {
      backend = pid;
    };
    const done = await retention.retain({ signal, onBackend });
    if (done !== undefined) {
      const { refusals, closed, waiting } = done;
      if (refusals > 0n) log.info({ records: Number(refusals) }, "deleted old records of rate-limited requests");
      for (const { month, rows, export: file } of closed) {
        log.info(
          { month, records: Number(rows), export: file },
          "deleted the month's request records; the ledger keeps their sums",
        );
      }
      for (const { month, why } of waiting) log.warn({ month, why }, "old request records cannot be deleted yet");
    }
    await count();
  };
  const failed = (error: unknown): void =>
    log[isDatabaseUnreachable(error) || signal.aborted ? "debug" : "error"](
      { err: error },
      "could not delete old records",
    );
  const begin = (work: () => Promise<void>): void => {
    running ??= work()
      .catch(failed)
      .finally(() => {
        running = undefined;
        backend = undefined;
      });
  };
  begin(count);
  const stopLooking = clock.every(LOOK_EVERY_MS, () => begin(run));
  return {
    months: () => months,
    async stop() {
      stopLooking();
      stopping.abort();
      while (running !== undefined) {
        try {
          if (backend !== undefined) await pool.query("select pg_cancel_backend($1)", [backend]);
        } catch (error) {
          // An unreachable database drops nothing, so there is nothing to cancel.
          if (isRetryableDatabaseError(error)) return;
          throw error;
        }
        await Promise.race([running, sleep(clock, ENDS_MS)]);
      }
    },
  };
}
