/** When each secret was last used, written in batches: a busy key costs one row every few seconds, not one per request. */
import type pg from "pg";
import type { Clock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { plainArray } from "../db/arrays.ts";

const WRITE_EVERY_MS = 10_000;

interface LastUsed {
  touch(id: Uuid): void;
  /** Writes what is due. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export function keepLastUsed(
  table: "api_key" | "host_token",
  { pool, clock, log }: { pool: pg.Pool; clock: Clock; log: Log },
): LastUsed {
  let used = new Map<Uuid, number>();
  const flush = async (): Promise<void> => {
    if (used.size === 0) return;
    const batch = used;
    used = new Map();
    await pool.query(
      `update ${table} k set last_used_at = greatest(k.last_used_at, to_timestamp(u.ms / 1000.0))
         from unnest($1::text::uuid[], $2::text::bigint[]) as u (id, ms) where k.id = u.id`,
      [plainArray([...batch.keys()]), plainArray([...batch.values()])],
    );
  };
  const stop = clock.every(WRITE_EVERY_MS, () => {
    flush().catch((error) => log.warn({ err: error }, "the last use of keys could not be written"));
  });
  return {
    touch: (id) => void used.set(id, clock.now()),
    flush,
    async close() {
      stop();
      await flush();
    },
  };
}
