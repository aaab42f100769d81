import assert from "node:assert/strict";
import { test } from "node:test";
import type { Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { manualClock } from "../base/testing.ts";
import { openTestDatabase } from "../db/testing.ts";
import { recordLastUse } from "./last-used.ts";

const KEY = "00000000-0000-7000-8000-00000000000a" as Uuid;

test("the last use of a key is written once, if two gateways record it within 5 seconds", async (t) => {
  const db = await openTestDatabase();
  t.after(() => db.close());
  await db.pool.query(
    `with a as (insert into account (id, kind, name) values ($1, 'builder', 'a') returning id)
     insert into api_key (id, account_id, name, reference, secret_hash) select id, id, 'k', 'abcdefghijkl', sha256('') from a`,
    [KEY],
  );
  const clock = manualClock(Date.parse("2026-11-01T00:00:00Z"));
  const options = { pool: db.pool, clock, log: createLog("silent") };
  const [one, two] = [recordLastUse("api_key", options), recordLastUse("api_key", options)];
  const writeUse = async (gateway: typeof one): Promise<string> => {
    gateway.touch(KEY);
    await gateway.flush();
    const { rows } = await db.pool.query("select last_used_at from api_key where id = $1", [KEY]);
    return (rows[0].last_used_at as Date).toISOString().slice(11, 19);
  };
  assert.equal(await writeUse(one), "00:00:00");
  clock.advance(4_000);
  assert.equal(await writeUse(two), "00:00:00");
  clock.advance(2_000);
  assert.equal(await writeUse(two), "00:00:06");
  for (const gateway of [one, two]) await gateway.close();
});
