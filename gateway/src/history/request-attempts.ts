/**
 * The attempts of requests that were tried more than once, because the record of a request has the times of its last
 * attempt only. Attempts are written once a second for many requests, so that no request waits for them.
 */
import type pg from "pg";
import { z } from "zod";
import type { Clock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { ATTEMPT_ENDS, type AttemptEnd } from "../base/stored-enumerations.ts";
import { isDatabaseUnreachable } from "../db/errors.ts";
import { column, queryRows, row } from "../db/rows.ts";

/** The migration that adds the table `request_attempt`. */
const ATTEMPTS_MIGRATION = 61;
const WRITE_EVERY_MS = 1_000;
/** The most requests whose attempts wait to be written. Attempts of further requests are dropped. */
const WAITING_MAX = 10_000;

/** All times in milliseconds since the start of dispatch. Null: not reached. */
interface RequestAttempt {
  nodeId: Uuid;
  /** How the attempt ended, by the table in `dispatch/attempt-state-machine.ts`. */
  end: AttemptEnd;
  offeredMs: number;
  acceptedMs: number | null;
  firstOutputMs: number | null;
  endedMs: number;
}

const StoredAttempt = row({
  nodeId: column.uuid,
  nodeName: z.string(),
  end: z.enum(ATTEMPT_ENDS),
  offeredMs: column.count,
  acceptedMs: column.count.nullable(),
  firstOutputMs: column.count.nullable(),
  endedMs: column.count,
});
export type StoredAttempt = z.infer<typeof StoredAttempt>;

export interface RequestAttempts {
  /** Returns without waiting for the database. */
  note(requestId: Uuid, attempts: RequestAttempt[]): void;
  /** Returns the attempts in order. Empty for a request with one attempt or none. */
  of(requestId: Uuid): Promise<StoredAttempt[]>;
  flush(): Promise<void>;
  prune(before: Date): Promise<void>;
  close(): Promise<void>;
}

interface Options {
  pool: pg.Pool;
  clock: Clock;
  log: Log;
  schema: { readonly number: number };
}

export function openRequestAttempts({ pool, clock, log, schema }: Options): RequestAttempts {
  let waiting = new Map<Uuid, RequestAttempt[]>();
  const isThere = (): boolean => schema.number >= ATTEMPTS_MIGRATION;
  const flush = async (): Promise<void> => {
    if (waiting.size === 0 || !isThere()) return;
    const batch = waiting;
    waiting = new Map();
    const rows = [...batch].flatMap(([request, attempts]) =>
      attempts.map((one, i) => ({ request, number: i, ...one })),
    );
    // A failover may have lost a node. Its attempts are left out, because the insert would fail each time.
    const text = `insert into request_attempt (request_id, number, node_id, ended_as, offered_ms, accepted_ms, first_output_ms, ended_ms)
      select request, number, "nodeId", "end", "offeredMs", "acceptedMs", "firstOutputMs", "endedMs" from jsonb_to_recordset($1::jsonb)
        as (request uuid, number smallint, "nodeId" uuid, "end" text, "offeredMs" int, "acceptedMs" int, "firstOutputMs" int, "endedMs" int)
       where exists (select from node where id = "nodeId")
      on conflict do nothing`;
    try {
      await pool.query(text, [JSON.stringify(rows)]);
    } catch (error) {
      for (const [request, attempts] of batch) note(request, attempts);
      throw error;
    }
  };
  const note: RequestAttempts["note"] = (requestId, attempts) => {
    if (waiting.size < WAITING_MAX) waiting.set(requestId, attempts);
  };
  const tryToFlush = (): Promise<void> =>
    flush().catch((error) =>
      log[isDatabaseUnreachable(error) ? "debug" : "warn"]({ err: error }, "could not save request attempts; retrying"),
    );
  const stop = clock.every(WRITE_EVERY_MS, () => void tryToFlush());
  return {
    note,
    flush,
    async of(requestId) {
      if (!isThere()) return [];
      return await queryRows(
        pool,
        StoredAttempt,
        `select a.node_id as "nodeId", n.name as "nodeName", a.ended_as as "end", a.offered_ms as "offeredMs", a.accepted_ms as "acceptedMs",
                a.first_output_ms as "firstOutputMs", a.ended_ms as "endedMs"
           from request_attempt a join node n on n.id = a.node_id where a.request_id = $1 order by a.number`,
        [requestId],
      );
    },
    async prune(before) {
      if (isThere()) await pool.query("delete from request_attempt where at < $1", [before]);
    },
    async close() {
      stop();
      await tryToFlush();
    },
  };
}
