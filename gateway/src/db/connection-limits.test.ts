import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { createLog } from "../base/log.ts";
import { manualClock } from "../base/testing.ts";
import {
  findTightestLimit,
  isConnectionReserveReached,
  readConnectionLimits,
  watchConnectionLimits,
} from "./connection-limits.ts";
import { openTestDatabase } from "./testing.ts";

async function openDatabase(t: TestContext) {
  const { pool, close } = await openTestDatabase();
  t.after(close);
  const limitTo = (connections: number): Promise<unknown> =>
    pool.query(
      `do $$ begin execute format('alter database %I connection limit ${connections}', current_database()); end $$`,
    );
  return { pool, limitTo };
}

describe("the limits on database connections", () => {
  test("are those of the server and, if set, of the database, with the connections that count towards each", async (t) => {
    const { pool, limitTo } = await openDatabase(t);
    const [server, ...others] = await readConnectionLimits(pool);
    assert.deepEqual(others, []);
    const { rows } = await pool.query(
      "select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as max",
    );
    assert.deepEqual([server?.limit, server?.max], ["server", rows[0].max]);
    assert.ok((server?.used ?? 0) >= 1);
    await limitTo(7);
    const second = await pool.connect();
    const limits = await readConnectionLimits(pool);
    second.release();
    assert.deepEqual(
      limits.filter(({ limit }) => limit === "database"),
      [{ limit: "database", max: 7, used: 2 }],
    );
    assert.equal(findTightestLimit(limits)?.limit, "database");
  });

  test("leave an eighth as a reserve, at least one connection and at most ten", () => {
    const reached = (max: number): number[] =>
      Array.from({ length: max + 1 }, (_, used) => used).filter((used) => isConnectionReserveReached({ max, used }));
    assert.deepEqual(
      [3, 20, 97, 500].map((max) => reached(max)[0]),
      [2, 17, 87, 490],
    );
    assert.deepEqual(reached(0), [0]);
  });

  test("stop the pools from opening connections while only the reserve is left, and are logged once", async (t) => {
    const { pool, limitTo } = await openDatabase(t);
    const lines: { msg: string; limit?: string; max?: number; used?: number }[] = [];
    const log = createLog("info", { write: (line) => void lines.push(JSON.parse(line)) });
    const clock = manualClock();
    const guard = { isShort: false };
    const limits = watchConnectionLimits({ pool, guard, clock, log });
    t.after(() => limits.stop());
    await limitTo(2);
    await limits.look();
    await limits.look();
    assert.equal(guard.isShort, true);
    assert.deepEqual(
      lines.map(({ msg, limit, max, used }) => [msg.split(":")[0], limit, max, used]),
      [["database connections are running out", "database", 2, 1]],
    );
    await limitTo(-1);
    clock.advance(5_000);
    await eventually("it reads the limits again", () => !guard.isShort);
    assert.deepEqual(
      limits.limits().map(({ limit }) => limit),
      ["server"],
    );
    assert.equal(lines.at(-1)?.msg, "the database has enough free connections again");
  });
});
