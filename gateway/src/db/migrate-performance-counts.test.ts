/** Performance counts of earlier schemas stay unchanged, and counts of later rollups are merged into them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../base/log.ts";
import { openPerformanceReader } from "../history/performance-reader.ts";
import { newId } from "../ledger/testing.ts";
import { migrate } from "./migrate.ts";
import { makeSqlDirectoryUpTo, SQL_SOURCE_DIRECTORY } from "./testing/sql-directory.ts";
import { openTestDatabase } from "./testing.ts";

const GRAINS = ["5min", "hour", "day"] as const;
const OLD_REQUESTS = 30;
const WAITING = 40;

for (const last of ["0028", "0053"]) {
  test(`migrating from schema ${last} keeps performance counts, and the next rollup adds the requests that waited for it`, async (t) => {
    const { pool, close } = await openTestDatabase({ sql: await makeSqlDirectoryUpTo(t, last) });
    t.after(close);
    const account = newId();
    // One hour ago, rounded to a 5-minute slot. The requests counted before the migration and those that still wait for
    // the rollup have this same time, so that they are counted in the same rows.
    const { rows: moments } = await pool.query(
      "select date_bin('5 minutes', now() - interval '1 hour', '2000-01-01Z') as at",
    );
    const at = moments[0].at as Date;
    await pool.query(
      `insert into performance (scope, subject, grain, slot, key_id, model, requests, ok, closed, failed, prompt_tokens, completion_tokens,
                                flow_tokens, flow_ms, busy_ms, ttft, duration)
       select 'account', $1, g.grain, date_bin(g.length, $2, '2000-01-01Z'), k, 'tiny-3b', $3::int, $3::int, 0, 0, 7, 8, 9, 10, 11,
              array[(5::bigint << 40) | $3::int], array[(100::bigint << 40) | ($3::int - 1), (200::bigint << 40) | 1]
         from (values ('5min', interval '5 minutes'), ('hour', '1 hour'), ('day', '1 day')) as g (grain, length),
              unnest(array['00000000-0000-0000-0000-000000000000'::uuid, $1]) as k`,
      [account, at, OLD_REQUESTS],
    );
    const { rows: waiting } = await pool.query(
      `insert into request (id, account_id, key_id, key_name, endpoint, model, stream, outcome, http_status, prompt_tokens,
                            completion_tokens, charge_pico, ttft_ms, duration_ms, created_at)
       select (left(uuid_floor($2)::text, 14) || '7' || substr(gen_random_uuid()::text, 16))::uuid, $1, $1, 'k', 'chat', 'tiny-3b', false, 'ok',
              200, 1, 1, 0, 5, 100, $2
         from generate_series(1, $3::int) returning id`,
      [account, at, WAITING],
    );
    await pool.query("insert into unrolled (request_id, outcome) select id, 'ok' from unnest($1::uuid[]) id", [
      waiting.map(({ id }) => id),
    ]);
    const figures = async () => {
      const of = (grain: (typeof GRAINS)[number]) => {
        const span = { from: new Date(at.getTime() - 86_400_000), to: new Date(at.getTime() + 86_400_000) };
        return openPerformanceReader({ pool }).sums({
          scope: "account",
          subjects: [account],
          by: ["key"],
          grain,
          ...span,
        });
      };
      return await Promise.all(GRAINS.map(of));
    };
    const was = await figures();
    assert.deepEqual(
      was.map((sums) => sums.map(({ requests }) => requests)),
      GRAINS.map(() => [OLD_REQUESTS]),
    );

    await migrate(pool, { directory: SQL_SOURCE_DIRECTORY, log: createLog("silent") });

    assert.deepEqual(await figures(), was);
    assert.equal((await pool.query("select history_roll_up(1000) as n")).rows[0].n, WAITING);
    const counted = await figures();
    for (const sums of counted) {
      assert.deepEqual(
        sums.map(({ requests, ok, promptTokens, ttft }) => [requests, ok, promptTokens, ttft.p99]),
        [[OLD_REQUESTS + WAITING, OLD_REQUESTS + WAITING, 7 + WAITING, 5]],
      );
    }
    const rowsNow =
      "select (select count(*)::int from performance) as rows, (select count(*)::int from performance_part) as parts";
    assert.deepEqual((await pool.query(rowsNow)).rows, [{ rows: 6, parts: 3 }]);
    await pool.query("select history_merge_performance(1000)");
    // The merge adds three rows for the whole platform, one per grain.
    assert.deepEqual((await pool.query(rowsNow)).rows, [{ rows: 9, parts: 0 }]);
    assert.deepEqual(await figures(), counted);
  });
}
