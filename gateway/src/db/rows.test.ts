import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { createLog } from "../base/log.ts";
import { inTransaction, openPool } from "./pool.ts";
import { column, enableRowValidation, queryOne, queryRow, queryRows, RowMismatch, row } from "./rows.ts";
import { openTestDatabase, type TestDatabase } from "./testing.ts";

const Item = row({ id: column.uuid, kind: z.enum(["a", "b"]), amount: column.pico });
const ID = "01890000-0000-7000-8000-000000000001";
const FITS = `select '${ID}'::uuid as id, 'a' as kind, 5::numeric as amount`;

let database: TestDatabase;
before(async () => {
  database = await openTestDatabase();
});
after(() => database.close());

test("rows have the types of the schema and the values that the database returned", async () => {
  const [item] = await queryRows(database.pool, Item, FITS);
  const kind: "a" | "b" | undefined = item?.kind;
  assert.deepEqual({ ...item, kind }, { id: ID, kind: "a", amount: 5n });
  assert.equal(await queryRow(database.pool, Item, `${FITS} where false`), undefined);
  assert.equal((await queryOne(database.pool, Item, FITS)).amount, 5n);
});

test("a query accepts parameters and a name", async () => {
  const { pool } = database;
  const Sum = row({ sum: column.bigint });
  assert.deepEqual(await queryOne(pool, Sum, "select $1::int8 + $2 as sum", [1, 2]), { sum: 3n });
  const text = "select $1::int8 * 2 as sum";
  await inTransaction(pool, async (client) => {
    assert.deepEqual(await queryOne(client, Sum, { name: "twice", text }, [4]), { sum: 8n });
    const Name = row({ name: z.string() });
    assert.deepEqual(await queryRows(client, Name, "select name from pg_prepared_statements"), [{ name: "twice" }]);
  });
});

test("an error for a row that does not match the schema names the query and the column", async () => {
  const wrong = `select '${ID}'::uuid as id,\n  'c' as kind, 5 as amount`;
  await assert.rejects(queryRows(database.pool, Item, `${FITS} union all ${wrong}`), (error: Error) => {
    assert.ok(error instanceof RowMismatch);
    assert.match(error.message, /row 1 of the result does not match/);
    assert.match(error.message, /kind: /);
    assert.match(error.message, /, 'c' as kind, 5 as amount$/, "the query, in one line");
    return true;
  });
  const named = { name: "item_of_old", text: "select 1 as id" };
  await assert.rejects(queryRow(database.pool, Item, named), /id: expected a uuid; kind: .*; amount: .*item_of_old$/);
});

test("a row with a column that the schema lacks is refused", async () => {
  await assert.rejects(queryRow(database.pool, Item, `${FITS}, 1 as more`), /"more"/);
});

test("rows from a transaction's client are checked like those from the pool", async () => {
  await assert.rejects(
    inTransaction(database.pool, (client) => queryOne(client, Item, "select 1 as id")),
    RowMismatch,
  );
});

test("a query that must return a row throws an invariant error if it returns none", async () => {
  await assert.rejects(queryOne(database.pool, Item, `${FITS} where false`), /no row returned by: select/);
});

test("a pool without row checks returns rows without parsing them by their schema", async () => {
  const pool = openPool(database.connection, { log: createLog("silent"), sizeMax: 1 });
  try {
    let parses = 0;
    const Counted = row({ id: z.custom<number>(() => ++parses > 0) });
    assert.deepEqual(await queryRows(pool, Counted, "select 'no number' as id"), [{ id: "no number" }]);
    await inTransaction(pool, (client) => queryOne(client, Counted, "select 'no number' as id"));
    assert.equal(parses, 0);
  } finally {
    await pool.end();
  }
  const checked = enableRowValidation(openPool(database.connection, { log: createLog("silent"), sizeMax: 1 }));
  try {
    await assert.rejects(queryRows(checked, Item, "select 1 as id"), RowMismatch);
  } finally {
    await checked.end();
  }
});

/** Files that forward rows which another package requested. */
const PASS_ON = ["accounts/machine-clock-conversion.ts"];

test("all gateway code reads rows through a schema", () => {
  const root = fileURLToPath(new URL("..", import.meta.url));
  const files = globSync("**/*.ts", { cwd: root }).filter(
    (file) => !/\btesting\b|\.test\.ts$|^db\/rows\.ts$/.test(file),
  );
  assert.ok(files.length > 100, "the sources were found");
  const onFaith = /\.query<|[\w)]\.rows\b|\{[^{}]*\brows\b[^{}]*\} = await [^;]*\.query\(/;
  assert.deepEqual(
    files.filter((file) => onFaith.test(readFileSync(join(root, file), "utf8"))),
    PASS_ON,
  );
});
