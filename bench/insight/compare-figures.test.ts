import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { systemClock } from "../../gateway/src/base/clock.ts";
import type { Uuid } from "../../gateway/src/base/ids.ts";
import { createLog } from "../../gateway/src/base/log.ts";
import { openTestDatabase, type TestDatabase } from "../../gateway/src/db/testing.ts";
import { openRollupWriter } from "../../gateway/src/history/rollup-writer.ts";
import { seedHistory } from "../history/seed-history.ts";
import { compareConsoleFigures } from "./compare-figures.ts";

const ROWS = 6_000;
const DAYS = 3;

describe("the figures of the console", () => {
  let db: TestDatabase;
  before(async () => {
    db = await openTestDatabase();
  });
  after(() => db.close());

  test("equal the results of plain SQL queries over all requests", async () => {
    const cast = await seedHistory(db.pool, { rows: ROWS, days: DAYS });
    const rollups = openRollupWriter({ pool: db.pool, clock: systemClock, log: createLog("silent") });
    await rollups.run();
    await rollups.stop();
    const unended = { query: db.pool.query.bind(db.pool), end: async () => {} } as unknown as typeof db.pool;
    const account = cast.builder as Uuid;
    let figures = 0;
    for await (const compared of compareConsoleFigures({
      pool: db.pool,
      connect: async () => unended,
      account,
      now: Date.now(),
      repeats: 0,
    })) {
      figures += compared.figures;
    }
    assert.ok(figures > 1_000, `${figures}`);
  });
});
