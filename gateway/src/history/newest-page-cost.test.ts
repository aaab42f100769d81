/**
 * Tests that the newest page of an account with most of the records reads only that page, however many records of
 * others are newer.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type pg from "pg";
import { systemClock } from "../base/clock.ts";
import { newIds, type Uuid } from "../base/ids.ts";
import { systemRandom } from "../base/random.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { openAccountStatement } from "../ledger/statement.ts";
import { openEarningsHistory } from "./earnings.ts";
import { createJobHistory } from "./node-jobs.ts";
import { openRequestHistory } from "./request-history.ts";

const newId = newIds(systemClock, systemRandom());
const [OWNER, OTHER] = [newId(), newId()];
const LIMIT = 11;

interface PlanNode {
  "Rows Removed by Filter"?: number;
  "Actual Rows": number;
  "Actual Loops": number;
  Plans?: PlanNode[];
}

/** The number of rows that a query plan read. */
const rowsRead = ({ Plans = [], ...node }: PlanNode): number =>
  Plans.length === 0
    ? node["Actual Loops"] * (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0))
    : Plans.reduce((sum, child) => sum + rowsRead(child), 0);

/**
 * First records of which nine tenths are `owner`'s, for the planner's statistics; then newer records of other accounts
 * only.
 */
const RECORDS = `
  insert into request (id, account_id, key_id, key_name, endpoint, model, stream, outcome, http_status, hold_pico, charge_pico, host_pico,
                       host_account_id, node_id, created_at)
  select overlay(gen_random_uuid()::text placing left(uuid_floor(at)::text, 13) from 1)::uuid, owner, owner, 'k', 'chat', 'tiny-3b', false, 'ok', 200,
         2, 2, 1, owner, owner, at
    from generate_series(1, $3) i, lateral (select $2::timestamptz + i * interval '1 second' as at) t,
         lateral (select case when i % 10 = 0 then $4::uuid else $1::uuid end as owner) o`;

describe("the newest page of an account after many newer records of others", () => {
  let db: TestDatabase;
  before(async () => {
    db = await openTestDatabase();
    const start = Date.now() - 20_000_000;
    await db.pool.query(RECORDS, [OWNER, new Date(start), 9_000, OTHER]);
    await db.pool.query("vacuum analyze request");
    await db.pool.query(RECORDS, [OTHER, new Date(start + 9_000_000), 3_000, OTHER]);
  });
  after(() => db.close());

  const pages: Record<string, (pool: pg.Pool) => Promise<unknown[]>> = {
    history: (pool) => openRequestHistory({ pool }).list(OWNER, { limit: LIMIT }),
    "history of a span": (pool) =>
      openRequestHistory({ pool }).list(OWNER, {
        limit: LIMIT,
        from: new Date(Date.now() - 86_400_000),
        to: new Date(),
      }),
    earnings: (pool) => openEarningsHistory({ pool }).lines(OWNER, { limit: LIMIT }),
    jobs: (pool) => createJobHistory({ pool }).list(OWNER as Uuid, { limit: LIMIT }),
    statement: (pool) => openAccountStatement({ pool }).lines(OWNER, { before: undefined, limit: LIMIT }),
  };
  for (const [name, ask] of Object.entries(pages)) {
    test(name, async () => {
      let read = 0;
      const query = async (text: string, values: unknown[]): Promise<pg.QueryResult> => {
        const explained = await db.pool.query(`explain (analyze, format json) ${text}`, values);
        read += rowsRead(explained.rows[0]["QUERY PLAN"][0].Plan);
        return await db.pool.query(text, values);
      };
      assert.equal((await ask({ query } as unknown as pg.Pool)).length, LIMIT);
      assert.ok(read < 10 * LIMIT, `${read} rows were read`);
    });
  }
});
