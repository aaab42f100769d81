/**
 * Tests the migration that adds to payout lines the earnings from the hosts' own requests, and the newly withheld
 * shares.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../base/log.ts";
import { DAY_MS } from "../base/time.ts";
import { migrate } from "./migrate.ts";
import { makeSqlDirectoryUpTo, SQL_SOURCE_DIRECTORY } from "./testing/sql-directory.ts";
import { openTestDatabase } from "./testing.ts";

const id = (n: number): string => `01a1e000-0000-7000-8000-${String(n).padStart(12, "0")}`;
const [HOST, NODE] = [id(1), id(2)];
const NOW = Date.now();
const ago = (ms: number): Date => new Date(NOW - ms);

test("migrating from schema 0056 assigns own-use earnings and withheld shares to past payouts, the rest to the next", async (t) => {
  const { pool, close } = await openTestDatabase({ sql: await makeSqlDirectoryUpTo(t, "0056") });
  t.after(close);
  await pool.query("insert into account (id, kind, name) values ($1, 'host', 'a host')", [HOST]);
  await pool.query("insert into ledger_account (id, kind, balance) values ($1, 'host', 1000)", [HOST]);
  const batches = [
    { n: 10, days: 30, amount: 500, setOff: 0 },
    // A payout line that pays nothing and only holds earnings back.
    { n: 11, days: 20, amount: 0, setOff: 0 },
    { n: 12, days: 10, amount: 200, setOff: 0 },
  ];
  for (const { n, days, amount, setOff } of batches) {
    await pool.query("insert into payout_batch (id, note, created_at, created_by) values ($1, '', $2, 'o')", [
      id(n),
      ago(days * DAY_MS),
    ]);
    await pool.query(
      "insert into payout (id, batch_id, account_id, amount, held_back, set_off, withheld) values ($1, $2, $3, $4, 0, $5, 0)",
      [id(n + 10), id(n), HOST, amount, setOff],
    );
  }
  for (const [days, own] of [
    [38, 100],
    [35, 40],
    [28, 7],
    [15, 3],
    [9, 2],
    [1, 1],
  ] as const) {
    await pool.query(
      `insert into earning_hour (host_account_id, hour, node_id, model, requests, prompt_tokens, completion_tokens, host_pico, own_pico)
       values ($1, date_trunc('hour', $2::timestamptz), $3, 'm', 1, 1, 1, 200, $4)`,
      [HOST, ago(days * DAY_MS), NODE, own],
    );
  }
  for (const [n, days, amount, released] of [
    [30, 31, 5, undefined],
    [31, 15, 6, undefined],
    [32, 14, 9, 12],
    [33, 5, 11, undefined],
  ] as const) {
    const release = released === undefined ? null : id(n + 10);
    if (release !== null) {
      await pool.query(
        "insert into transfer (id, position, kind, account_id, amount, reason, book) values ($1, $1, 'release', $2, 9, 'r', 'reserve')",
        [release, HOST],
      );
    }
    await pool.query(
      `insert into withheld_share (request_id, host_account_id, node_id, amount_pico, reason, at, released_at, released_by, release_id)
       values ($1, $2, $3, $4, 'node_failed', $5, $6, $7, $8)`,
      [
        id(n),
        HOST,
        NODE,
        amount,
        ago(days * DAY_MS),
        released === undefined ? null : ago(released * DAY_MS),
        released === undefined ? null : "o",
        release,
      ],
    );
  }

  await migrate(pool, { directory: SQL_SOURCE_DIRECTORY, log: createLog("silent") });
  const lines = async () =>
    (
      await pool.query({
        text: `select own::int, newly_withheld::int from payout p join payout_batch b on b.id = p.batch_id order by b.created_at`,
        rowMode: "array",
      })
    ).rows;
  assert.deepEqual(await lines(), [
    [100, 5],
    [0, 0],
    [40 + 7, 6],
  ]);

  await pool.query("select payout_paid($1, 'o'), payout_paid($2, 'o')", [id(10), id(12)]);
  await pool.query("select payout_create($1, 'next', 'o', 1, 7)", [id(13)]);
  assert.deepEqual((await lines()).at(-1), [3 + 2, 11]);
});
