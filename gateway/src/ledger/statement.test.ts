import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type pg from "pg";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { openAccountStatement } from "./statement.ts";
import { newId } from "./testing.ts";

const ROWS = 5_000;
const LIMIT = 10;

let db: TestDatabase;
before(async () => {
  db = await openTestDatabase();
});
after(() => db.close());

interface PlanNode {
  "Actual Rows": number;
  "Actual Loops": number;
  Plans?: PlanNode[];
}
const mostRows = (node: PlanNode): number =>
  Math.max(node["Actual Rows"] * node["Actual Loops"], ...(node.Plans ?? []).map(mostRows));

test("a page of a statement reads at most three times as many rows as it shows, however many the account has", async () => {
  const account = newId();
  await db.pool.query("insert into ledger_account (id, kind) values ($1, 'builder')", [account]);
  await db.pool.query("select ledger_transfer($1, 'grant', $2, 1000000, 'a reason')", [newId(), account]);
  await db.pool.query(
    `insert into request (id, account_id, key_id, key_name, endpoint, model, stream, outcome, http_status, hold_pico, charge_pico,
                          created_at)
     select overlay(uuid_floor(now() - i * interval '1 second')::text placing lpad(to_hex(i), 12, '0') from 25)::uuid, $1, $1, 'k',
            'chat', 'tiny-3b', false, 'ok', 200, 2, 1, now() - i * interval '1 second' from generate_series(1, ${ROWS}) i`,
    [account],
  );
  await db.pool.query("analyze request");
  const rows: number[] = [];
  const query = async (text: string, values?: unknown[]): Promise<pg.QueryResult> => {
    const explained = await db.pool.query(`explain (analyze, format json) ${text}`, values);
    rows.push(mostRows(explained.rows[0]["QUERY PLAN"][0].Plan));
    return await db.pool.query(text, values);
  };
  const statement = openAccountStatement({ pool: { query } as unknown as pg.Pool });
  const first = await statement.lines(account, { limit: LIMIT });
  assert.deepEqual(
    first.map(({ kind }) => kind),
    ["grant", ...Array.from({ length: LIMIT - 1 }, () => "charge")],
  );
  const second = await statement.lines(account, { limit: LIMIT, before: first.at(-1)?.id });
  assert.equal(new Set([...first, ...second].map(({ id }) => id)).size, 2 * LIMIT);
  assert.ok(Math.max(...rows) <= 3 * LIMIT, `${rows}`);
});
