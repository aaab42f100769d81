import assert from "node:assert/strict";
import { test } from "node:test";
import type { Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { manualClock } from "../base/testing.ts";
import { openTestDatabase } from "../db/testing.ts";
import { openRequestAttempts } from "./request-attempts.ts";

const id = (n: number): Uuid => `00000000-0000-7000-8000-${String(n).padStart(12, "0")}` as Uuid;
const [HOST, NODE, LOST_NODE] = [id(1), id(2), id(3)];

test("attempts at a node that a failover lost are dropped, and do not keep other attempts from being saved", async (t) => {
  const db = await openTestDatabase();
  t.after(() => db.close());
  await db.pool.query("insert into account (id, kind, name) values ($1, 'host', 'a host')", [HOST]);
  await db.pool.query("insert into node (id, account_id, name) values ($1, $2, 'a node')", [NODE, HOST]);
  const attempts = openRequestAttempts({
    pool: db.pool,
    clock: manualClock(),
    log: createLog("silent"),
    schema: { number: Number.POSITIVE_INFINITY },
  });
  const attempt = { end: "failed", offeredMs: 0, acceptedMs: 1, firstOutputMs: null, endedMs: 2 } as const;
  attempts.note(id(10), [{ nodeId: LOST_NODE, ...attempt }]);
  attempts.note(id(11), [{ nodeId: NODE, ...attempt }]);
  await attempts.flush();
  assert.deepEqual(await attempts.of(id(10)), []);
  assert.deepEqual(await attempts.of(id(11)), [{ nodeId: NODE, nodeName: "a node", ...attempt }]);
  await attempts.close();
});
