/** The input of every check, and the type of its findings. */
import { type CheckResult, failedCheck } from "@tollgate/terminal/check-results.ts";
import { explainSystemError } from "@tollgate/terminal/explain-failure.ts";
import type { Clock } from "../../base/clock.ts";
import type { NewId } from "../../base/ids.ts";
import type { Config } from "../../config.ts";

export interface DoctorContext {
  config: Config;
  clock: Clock;
  newId: NewId;
  /** True when a gateway starts in this process, which then skips checks that the start makes itself. */
  isStarting?: true;
}

/**
 * A check's result. `unreachable`: the service does not answer. A starting gateway waits for the service and logs that
 * itself.
 */
export interface Finding extends CheckResult {
  isAway?: true;
}

export const makeUnreachableFinding = (name: string, error: unknown, next: string): Finding => ({
  ...failedCheck(name, describeError(error), next),
  isAway: true,
});

export function describeError(error: unknown): string {
  const { message, code } = error as Error & { code?: string };
  return explainSystemError(error)?.message ?? (message || (code ?? String(error)));
}

/** Splits an error message of the form `problem: remedy` into a failed check. */
export function failedCheckWithRemedy(name: string, message: string, usual: string): CheckResult {
  const [what = "", ...rest] = message.split(": ");
  return failedCheck(name, what, rest.length === 0 ? usual : rest.join(": "));
}
