/**
 * Checks that the seeded rollups (pre-aggregated usage) equal those that the gateway's job computes. Runs the job for
 * one hour of the history in a transaction that is rolled back.
 */
import assert from "node:assert/strict";
import type pg from "pg";

const SLOTS = "select * from performance where grain = 'hour' and slot = $1";
const IN_HOUR = "id >= uuid_floor($1) and id < uuid_floor($1::timestamptz + interval '1 hour')";

export async function compareRollupSample(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    const { rows } = await client.query(
      "select slot, sum(requests)::int as requests from performance where scope = 'platform' and grain = 'hour' group by 1 order by 2 desc limit 1",
    );
    const [hour, requests] = [rows[0].slot as Date, Number(rows[0].requests)];
    await client.query(`create temporary table seeded on commit drop as select * from performance limit 0`);
    await client.query(`insert into seeded ${SLOTS}`, [hour]);
    await client.query("delete from performance where grain = 'hour' and slot = $1", [hour]);
    // An earlier run may have settled requests as a measurement. Deletes their rows, so that the job counts only the
    // requests of this hour.
    await client.query("delete from unrolled");
    await client.query(
      `insert into unrolled (request_id, outcome) select id, outcome from request where ${IN_HOUR} and not starts_with(outcome, 'rate_limit_')`,
      [hour],
    );
    await client.query("select history_roll_up($1)", [requests + 1]);
    await client.query("select history_merge_performance(10000000, 'infinity')");
    const found = await client.query(
      `select (select count(*)::int from seeded) as rows, (select count(*)::int from (${SLOTS} except table seeded) d) as missing,
              (select count(*)::int from (table seeded except ${SLOTS}) d) as more`,
      [hour],
    );
    const { rows: compared, missing, more } = found.rows[0];
    assert.deepEqual([missing, more], [0, 0], "the seed's rollups are those of history_roll_up");
    console.log(`${compared} rollups of an hour with ${requests} requests are what history_roll_up makes of it.`);
  } finally {
    await client.query("rollback");
    client.release();
  }
}
