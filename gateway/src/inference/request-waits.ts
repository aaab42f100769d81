/**
 * Bounds the sum of what a request waits for besides its dispatch and its settlement: its key, its limits, its credit
 * and its hold, and at its end the return of its limits. Each has a bound of its own, but a database or limits server
 * that answers each just in time would let a client wait for all of them.
 */
import type { Clock } from "../base/clock.ts";
import { UnreachableError } from "../base/dependency.ts";
import type { Log } from "../base/log.ts";
import { openWaitBudgets, type WaitBudgets } from "../base/wait-budget.ts";

/** With the budget's lateness of a quarter, a builder gets the 503 within 5 s (docs/operators/failures.md). */
const REQUEST_WAITS_MS_MAX = 4_000;

export const openRequestWaits = ({ clock, log }: { clock: Clock; log: Log }): WaitBudgets =>
  openWaitBudgets({
    clock,
    maxMs: REQUEST_WAITS_MS_MAX,
    tooLong: () =>
      new UnreachableError(
        "database",
        "checking the key, limits and credit and placing the hold took over 4 s together",
      ),
    notUndone: (error) => log.error({ err: error }, "could not give back the limits or the hold of a refused request"),
  });
