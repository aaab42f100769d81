/**
 * Waits at the start while the database is unreachable, refuses the password, does not exist, is read-only or is an old
 * primary, because a failover may not have ended or operators may be fixing that. Errors that waiting cannot fix end
 * the start: a wrong database setting, a failed migration, a damaged history file. Then waits while the gateway's
 * settings differ from the deployment's. If the database becomes unreachable before the gateway serves, the start
 * begins again.
 */

import { ListenError } from "../base/listen-error.ts";
import type { SharedSettingName } from "../db/deployment/setting-rules.ts";
import { SettingsDifferError, toLogFields } from "../db/deployment/watch-settings.ts";
import { isConnectionLoss, isDatabaseUnreachable, isResourceShortage, isRetryableDatabaseError } from "../db/errors.ts";
import { DatabaseMisconfigured } from "../db/session-settings.ts";
import { MigrationError } from "../db/sql-files.ts";
import type { BuildContext } from "./build-context.ts";

const RETRY_MS = 1_000;

export class StoppedWhileWaiting extends Error {
  override name = "StoppedWhileWaiting";
}

/** Called with the missing dependency, and with undefined when it is available again. */
export type ReportMissing = (missing: MissingDependency | undefined) => void;

export interface MissingDependency {
  name: "database" | "deployment";
  reason: string;
  /** The shared settings that differ from the deployment's. */
  settings?: readonly SharedSettingName[];
}

type WaitContext = Pick<BuildContext, "clock" | "log" | "stopped" | "development">;

interface Told extends MissingDependency {
  /** Fields for the log line. */
  fields: object;
}

/** Retries `start` until the database is available. */
export const retryUntilDatabaseAvailable = <T>(
  context: WaitContext,
  tell: ReportMissing,
  start: () => Promise<T>,
): Promise<T> => whileItMayPass(context, tell, start, mayPass);

/**
 * Repeats `start` until the database stays available throughout it. A `start` that fails must close everything that it
 * opened.
 */
export const retryUntilStarted = <T>(context: WaitContext, tell: ReportMissing, start: () => Promise<T>): Promise<T> =>
  whileItMayPass(context, tell, start, (error) => mayPass(error) && !isResourceShortage(error));

async function whileItMayPass<T>(
  context: WaitContext,
  tell: ReportMissing,
  start: () => Promise<T>,
  isWorthIt: (error: unknown) => boolean,
): Promise<T> {
  return await retrying(context, tell, start, {
    tellOf(error) {
      // Does not wait after an error of the gateway's own listener, for example if its port is in use. The error has a
      // socket's error code, like that of a lost database connection, but does not concern the database.
      if (error instanceof ListenError || !isWorthIt(error)) return undefined;
      const { message, code = "", remedy } = error as Error & { code?: string; remedy?: string };
      const reason = (message || code) + (remedy === undefined ? "" : `. Next: ${remedy}`);
      return { name: "database", reason, fields: { reason, code } };
    },
    waits: "database is unreachable; waiting for it to start",
    over: "database is reachable",
  });
}

/**
 * Waits until an operator has changed the settings of the gateway or the deployment so that `compare` finds no
 * difference.
 */
export async function waitUntilSettingsMatchDeployment(
  context: WaitContext,
  tell: ReportMissing,
  compare: () => Promise<void>,
): Promise<void> {
  await retrying(context, tell, compare, {
    tellOf(error) {
      if (error instanceof SettingsDifferError) {
        const { settings, reason, next } = toLogFields(error.differences);
        return { name: "deployment", reason: `${reason}. Next: ${next}`, settings, fields: { settings, reason, next } };
      }
      if (!isDatabaseUnreachable(error)) return undefined;
      const { message: reason } = error as Error;
      return { name: "database", reason, fields: { reason } };
    },
    waits: "not ready: this gateway cannot serve yet",
    over: "this gateway's settings match the deployment's shared settings",
  });
}

interface What {
  /** Describes the error; undefined if waiting cannot help. */
  tellOf: (error: unknown) => Told | undefined;
  waits: string;
  over: string;
}

async function retrying<T>(
  { clock, log, stopped, development = false }: WaitContext,
  tell: ReportMissing,
  start: () => Promise<T>,
  { tellOf, waits, over }: What,
): Promise<T> {
  let isOver = false;
  void stopped?.then(() => {
    isOver = true;
  });
  const began = clock.monotonic();
  let told: string | undefined;
  for (;;) {
    try {
      const started = await start();
      tell(undefined);
      if (told !== undefined) log.info({ waitedMs: Math.round(clock.monotonic() - began) }, over);
      return started;
    } catch (error) {
      const now = tellOf(error);
      // On a development platform the error ends the start at once, so that the user sees it.
      if (development || now === undefined) throw error;
      const { fields, ...missing } = now;
      tell(missing);
      if (missing.reason !== told) log.error(fields, waits);
      told = missing.reason;
    }
    let cancel = (): void => {};
    const pause = new Promise<void>((resolve) => {
      cancel = clock.after(RETRY_MS, resolve);
    });
    await Promise.race([pause, stopped ?? pause]);
    cancel();
    if (isOver) throw new StoppedWhileWaiting("stopped while it waited for what it needs");
  }
}

/** Whether the error concerns TLS. Certificates can be replaced while servers run, so waiting may help. */
const isTlsTrouble = ({ message, code = "" }: Error & { code?: string }): boolean =>
  /CERT|_TLS_|_SSL_/.test(code) || /SSL connection/.test(message);

function mayPass(error: unknown): boolean {
  if (error instanceof MigrationError || error instanceof DatabaseMisconfigured) return isConnectionLoss(error);
  return error instanceof Error && (isRetryableDatabaseError(error) || isTlsTrouble(error));
}
