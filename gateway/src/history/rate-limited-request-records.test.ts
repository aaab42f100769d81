/** Tests the migration of a database with records: new columns are null in old records, all other columns stay. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { newIds, type Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import { timeoutFreeClock } from "../base/testing.ts";
import { migrate } from "../db/migrate.ts";
import { makeSqlDirectoryUpTo, SQL_SOURCE_DIRECTORY } from "../db/testing/sql-directory.ts";
import { openTestDatabase } from "../db/testing.ts";
import { openRateLimitedRequestRecords } from "./rate-limited-request-records.ts";
import { openRequestHistory } from "./request-history.ts";
import { openUsageHistory } from "./usage-history.ts";

const newId = newIds(systemClock, systemRandom());
const log = createLog("silent");

test("migrating from a schema before 0015 keeps request records, leaves their new columns empty, and allows records of refused requests", async (t) => {
  const { pool, close } = await openTestDatabase({ sql: await makeSqlDirectoryUpTo(t, "0014") });
  t.after(close);

  const [account, key] = [newId(), newId()];
  const ids = Array.from({ length: 1_200 }, () => newId());
  await pool.query(
    `select history_refuse($1, array_fill($2::uuid, array[1200]), array_fill($3::uuid, array[1200]),
       array_fill('k'::text, array[1200]), array_fill('chat'::text, array[1200]), array_fill(null::text, array[1200]),
       array_fill(false, array[1200]), array_fill('rate_limit_requests'::text, array[1200]),
       array_fill(429::smallint, array[1200]), array_fill(''::text, array[1200]))`,
    [ids, account, key],
  );
  const [full, served] = [newId(), newId()];
  await pool.query(
    `insert into request (id, account_id, key_id, key_name, endpoint, model, stream, outcome, http_status, created_at)
     values ($1, $3, $4, 'k', 'chat', 'tiny-3b', true, 'rate_limit_sku_capacity', 429, now()),
            ($2, $3, $4, 'k', 'chat', 'tiny-3b', false, 'ok', 200, now())`,
    [full, served, account, key],
  );

  const { migrations } = await migrate(pool, { directory: SQL_SOURCE_DIRECTORY, log });
  assert.equal(migrations[0], "0015_refusals.sql");
  const history = openRequestHistory({ pool });
  const streams = async (id: Uuid) => (await history.find(account, id))?.stream;
  assert.deepEqual([await streams(ids[0] as Uuid), await streams(full), await streams(served)], [null, true, false]);
  const records = await history.list(account, { limit: 5_000 });
  assert.equal(records.length, 1_202);
  assert.ok(records.every(({ count }) => count === 1));

  // In that hour the key has more refusals than get a record each, so later ones share a record, unless a new hour has
  // begun.
  const more = Array.from({ length: 10 }, () => newId());
  const refusals = openRateLimitedRequestRecords({ pool, clock: timeoutFreeClock });
  const what = { endpoint: "chat", model: null, stream: null, outcome: "rate_limit_requests" } as const;
  for (const id of more) {
    await refusals.record({ id, accountId: account, keyId: key, keyName: "k", ...what, httpStatus: 429, client: "" });
  }
  const [sum] = await openUsageHistory({ pool }).sums(account, {
    by: "outcome",
    from: new Date(Date.now() - 7_200_000),
    to: new Date(Date.now() + 3_600_000),
  });
  assert.deepEqual([sum?.bucket, sum?.requests], ["rate_limit_requests", 1_210]);
  const counts = (await history.list(account, { limit: 5_000 })).map(({ count }) => count);
  assert.equal(
    counts.reduce((total, count) => total + count, 0),
    1_212,
  );
});
