/** Writes a gateway's log into the trace of the simulated world, and reports errors that no fault explains. */
import type { Log } from "../../gateway/src/base/log.ts";
import { isRetryableDatabaseError } from "../../gateway/src/db/errors.ts";
import { PLANE_UNREACHABLE } from "../world/network.ts";
import type { ProcessLifetime } from "../world/process-lifetime.ts";
import type { World } from "../world/world.ts";

type Level = "debug" | "info" | "warn" | "error";

/**
 * The only log line about a loss that the platform accepts: neither database nor disk could be written to
 * (ledger/settler.ts).
 */
const UNSAFE = "request answered, but its settlement is only in memory: a crash would lose it";

export function gatewayLog(world: World, life: ProcessLifetime, name: string): Log {
  const write =
    (level: Level) =>
    (fields: unknown, message?: string): void => {
      // A process that ended writes no log lines. The check reads `hears` and not `mayAct`, because each call of
      // `mayAct` may crash the simulated process. A log line has no effect on the world, so no crash before it needs to
      // be tested.
      if (!life.hears || !isWritten(level)) return;
      const said = typeof fields === "string" ? fields : `${message} ${JSON.stringify(plain(fields as object))}`;
      world.trace.add(name, `${level} ${said}`);
      if (message === UNSAFE) world.toldUnsafe.add((fields as { request: string }).request);
      const error = (fields as { err?: unknown }).err;
      if (level === "error" && error instanceof Error && !isExpected(error))
        world.fail("nothing fails on our side", `${name}: ${message}: ${error.stack}`);
    };
  const log = { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
  return Object.assign(log, { child: () => log, isLevelEnabled: isWritten }) as unknown as Log;
}

/** Whether a line of this level is written, as with a gateway's default log level. */
const isWritten = (level: string): boolean => level !== "debug";

/** Returns whether the simulated faults cause this error; any other error is a bug of the gateway. */
const isExpected = (error: Error): boolean => isRetryableDatabaseError(error) || error.message === PLANE_UNREACHABLE;

const plain = (fields: object): object =>
  Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [
      key,
      value instanceof Error ? value.message : typeof value === "bigint" ? String(value) : value,
    ]),
  );
