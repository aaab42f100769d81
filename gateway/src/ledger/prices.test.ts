import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { pico } from "../base/money.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { recordPrices } from "./prices.ts";

let database: TestDatabase;
before(async () => {
  database = await openTestDatabase();
});
after(() => database.close());

const price = (version: number, picodollars: bigint) => ({
  version,
  model: "tiny-3b",
  in: pico(picodollars),
  out: pico(picodollars),
});

test("the gateway finds a price that another gateway records at the same moment", async () => {
  const { pool } = database;
  const other = await pool.connect();
  await other.query("begin");
  await other.query("insert into price (version, model, price_in_pico, price_out_pico) values (901, 'tiny-3b', 5, 5)");
  const recorded = recordPrices(pool, [price(901, 5n)]);
  await eventually("it waits for the other", async () => {
    // Polls outside of the transaction, in which the activity view would never change.
    const { rows } = await pool.query(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return rows.length > 0;
  });
  await other.query("commit");
  other.release();
  await recorded;
});

test("the gateway refuses a changed price unless the model catalog has a new version", async () => {
  await recordPrices(database.pool, [price(902, 5n)]);
  await recordPrices(database.pool, [price(902, 5n)]);
  await assert.rejects(recordPrices(database.pool, [price(902, 6n)]), { name: "PriceChanged" });
});
