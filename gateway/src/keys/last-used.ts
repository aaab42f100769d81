/**
 * Records when each secret was last used, to within 5 seconds. Times are written in batches: a busy key costs one
 * update every few seconds, however many requests and gateway processes use it.
 */
import type pg from "pg";
import type { Clock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { formatUnquotedArray } from "../db/arrays.ts";
import { isDatabaseUnreachable } from "../db/errors.ts";

const WRITE_EVERY_MS = 10_000;
/** A use this soon after the recorded one is not recorded: probably another gateway process recorded the same calls. */
const SAME_USE_MS = 5_000;

interface LastUsed {
  touch(id: Uuid): void;
  /** Writes the times that are not written yet. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export function recordLastUse(
  table: "api_key" | "host_token",
  { pool, clock, log }: { pool: pg.Pool; clock: Clock; log: Log },
): LastUsed {
  let used = new Map<Uuid, number>();
  const flush = async (): Promise<void> => {
    if (used.size === 0) return;
    const batch = used;
    used = new Map();
    const write = pool.query(
      // Locks the rows in the order of their IDs, because several processes write the same keys.
      `update ${table} k set last_used_at = u.at
         from (select k.id, to_timestamp(u.ms / 1000.0) as at
                 from unnest($1::text::uuid[], $2::text::bigint[]) as u (id, ms) join ${table} k on k.id = u.id
                where k.last_used_at is null or k.last_used_at < to_timestamp((u.ms - $3::int) / 1000.0)
                order by k.id for no key update of k) u
        where k.id = u.id`,
      [formatUnquotedArray([...batch.keys()]), formatUnquotedArray([...batch.values()]), SAME_USE_MS],
    );
    await write.catch((error) => {
      // After a failure, keeps the batch for the next write, together with newer times.
      used = new Map([...batch, ...used]);
      throw error;
    });
  };
  const tryToFlush = (): Promise<void> =>
    flush().catch((error) =>
      log[isDatabaseUnreachable(error) ? "debug" : "warn"](
        { err: error },
        "could not save the API keys' last-used times",
      ),
    );
  const stop = clock.every(WRITE_EVERY_MS, () => void tryToFlush());
  return {
    touch: (id) => void used.set(id, clock.now()),
    flush,
    async close() {
      stop();
      // Ignores a failure, which must not delay the shutdown.
      await tryToFlush();
    },
  };
}
