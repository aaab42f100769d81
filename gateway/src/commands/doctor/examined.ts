/** The input of every check, and its error type. */
import { type Check, fail } from "@tollgate/terminal/checks.ts";
import { systemFailure } from "@tollgate/terminal/failure.ts";
import type { Clock } from "../../base/clock.ts";
import type { NewId } from "../../base/ids.ts";
import type { Config } from "../../config.ts";

export interface Examined {
  config: Config;
  clock: Clock;
  newId: NewId;
  /** A gateway of this process starts at the same time. What its start itself looks at and tells is left out. */
  isStarting?: true;
}

/** A part that does not answer. A gateway that serves waits for it and says so itself. */
export interface Finding extends Check {
  isAway?: true;
}

export const away = (name: string, error: unknown, next: string): Finding => ({
  ...fail(name, reasonOf(error), next),
  isAway: true,
});

export function reasonOf(error: unknown): string {
  const { message, code } = error as Error & { code?: string };
  return systemFailure(error)?.message ?? (message || (code ?? String(error)));
}

/** `what: remedy`, as errors of settings are worded. */
export function worded(name: string, message: string, usual: string): Check {
  const [what = "", ...rest] = message.split(": ");
  return fail(name, what, rest.length === 0 ? usual : rest.join(": "));
}
