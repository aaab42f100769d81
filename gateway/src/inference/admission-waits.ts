/**
 * Bounds the sum of what a request waits for before its dispatch: its key, its limits, its credit and its hold. Each has
 * a bound of its own, but a database that answers each just in time would let a client wait for all of them.
 */
import type { Clock } from "../base/clock.ts";
import { UnreachableError } from "../base/dependency.ts";
import type { Log } from "../base/log.ts";
import { openWaitBudgets, type WaitBudgets } from "../base/wait-budget.ts";

/** With the budget's lateness of a quarter, a builder gets the 503 within 5 s (docs/operators/failures.md). */
const ADMISSION_WAITS_MS_MAX = 4_000;

export const openAdmissionWaits = ({ clock, log }: { clock: Clock; log: Log }): WaitBudgets =>
  openWaitBudgets({
    clock,
    maxMs: ADMISSION_WAITS_MS_MAX,
    tooLong: () =>
      new UnreachableError(
        "database",
        "checking the key, limits and credit and placing the hold took over 4 s together",
      ),
    notUndone: (error) => log.error({ err: error }, "could not give back the limits or the hold of a refused request"),
  });
