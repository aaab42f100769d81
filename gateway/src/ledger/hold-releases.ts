/**
 * Releases the holds of requests that were not dispatched. Each release is retried until the database has done it. No
 * caller waits for an unreachable database, because the client has already been refused.
 */
import type { Clock } from "../base/clock.ts";
import { publicId, type Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { openRetryPauses } from "../base/retry-pauses.ts";
import { isProgrammingError } from "../db/errors.ts";

const WAIT_MAX_MS = 1_000;

interface Releases {
  /** Resolves when the hold is released, or after one second. */
  release(id: Uuid): Promise<void>;
  /** Releases a hold whose statement timed out. It is unknown whether the database has the hold. */
  doubtful(id: Uuid): void;
  idle(): Promise<void>;
  /** Stops the retries. Holds that are not released end with their lease. */
  close(): Promise<void>;
}

interface ReleaseOptions {
  clock: Clock;
  log: Log;
  holdLeaseMs: number;
  /** Tries once to release the hold. Returns false when no such hold exists. */
  release: (id: Uuid) => Promise<boolean>;
}

export function openHoldReleases(options: ReleaseOptions): Releases {
  const { clock, log, holdLeaseMs, release } = options;
  const pauses = openRetryPauses(clock);
  const open = new Set<Promise<unknown>>();

  const untilDone = async (id: Uuid): Promise<boolean> => {
    for (let failures = 1; !pauses.areOver; failures++) {
      try {
        return await release(id);
      } catch (error) {
        if (!isProgrammingError(error)) await pauses.after(failures);
        else return tellBug(id, error);
      }
    }
    return false;
  };
  const tellBug = (id: Uuid, error: unknown): boolean => {
    log.error({ request: publicId("req", id), err: error }, "could not release a hold; it expires with its lease");
    return false;
  };
  /**
   * If the hold does not exist, looks for it again later, because the server may execute the statement that creates the
   * hold even after the connection broke.
   */
  const looking = async (id: Uuid): Promise<void> => {
    for (const delayMs of [WAIT_MAX_MS, holdLeaseMs / 4]) {
      if (await untilDone(id)) return;
      await pauses.of(delayMs);
    }
    await untilDone(id);
  };
  const keep = <T>(work: Promise<T>): Promise<T> => {
    open.add(work);
    void work.finally(() => open.delete(work));
    return work;
  };
  const within = async (work: Promise<unknown>): Promise<void> => {
    const waited = Promise.withResolvers<void>();
    const stopTimer = clock.after(WAIT_MAX_MS, waited.resolve);
    await Promise.race([work, waited.promise]);
    stopTimer();
  };
  const idle = async (): Promise<void> => {
    await Promise.all(open);
  };

  return {
    release: (id) => within(keep(untilDone(id))),
    // Not awaited by anything, including the shutdown.
    doubtful: (id) => void looking(id),
    idle,
    async close() {
      await within(idle());
      pauses.end();
    },
  };
}
