/**
 * Bounds how long one caller waits for free connections in sum, however many queries it makes one after the other. The
 * caller's budget is found through the asynchronous context, because queries are deep below the code that answers it.
 * Time in queries does not count: a slow database must stay usable.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type pg from "pg";
import type { Clock } from "../base/clock.ts";
import { UnreachableError } from "../base/dependency.ts";
import { openWaitBudgets, type WaitBudget, type WaitBudgets } from "../base/wait-budget.ts";

/** With the budget's lateness of a quarter, a caller gets the 503 within 5 s (docs/operators/failures.md). */
const CONNECTION_WAITS_MS_MAX = 4_000;

const current = new AsyncLocalStorage<WaitBudget>();

export const openConnectionWaits = (clock: Clock): WaitBudgets =>
  openWaitBudgets({
    clock,
    maxMs: CONNECTION_WAITS_MS_MAX,
    tooLong: () => new UnreachableError("database", "no connection was free for 4 s, in sum over the caller's queries"),
  });

/** Runs the caller's work. Its waits for connections use up this budget. */
export const withConnectionWaits = <T>(waits: WaitBudget, work: () => T): T => current.run(waits, work);

/** Waits for a connection within the caller's budget, if there is one. A connection that comes later is given back. */
export function withinConnectionWaits(connect: () => Promise<pg.PoolClient>): Promise<pg.PoolClient> {
  const waits = current.getStore();
  return waits === undefined ? connect() : waits.of(connect(), (late) => late.release());
}

export const hasConnectionWaits = (): boolean => current.getStore() !== undefined;
