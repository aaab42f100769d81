import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import pg from "pg";
import { createLog } from "../base/log.ts";
import { inTransaction, openPool, poolConfig } from "./pool.ts";
import { openTestDatabase, type TestDatabase } from "./testing.ts";

let database: TestDatabase;
before(async () => {
  database = await openTestDatabase();
  await database.pool.query("create table item (a int primary key)");
});
after(() => database.close());

const items = async (): Promise<number[]> =>
  (await database.pool.query<{ a: number }>("select a from item order by a")).rows.map((row) => row.a);

test("the pool never parses amounts to floating-point numbers", async () => {
  const big = 9_007_199_254_740_993n;
  const { rows } = await database.pool.query(
    `select $1::int8 as one, array[$1::int8, null] as many, '{{1,2},{3,4}}'::int8[] as nested, null::int8 as none,
            12345678901234567890123456789012345678::numeric(38,0) as wide, array[1::numeric, null] as sums,
            '2026-03-01T12:00:00Z'::timestamptz as at, '2026-03-01'::date as day`,
    [big],
  );
  assert.deepEqual(rows[0], {
    one: big,
    many: [big, null],
    nested: [
      [1n, 2n],
      [3n, 4n],
    ],
    none: null,
    wide: 12345678901234567890123456789012345678n,
    sums: [1n, null],
    at: new Date("2026-03-01T12:00:00Z"),
    day: "2026-03-01",
  });
});

test("the pool refuses a fractional numeric instead of rounding it", async () => {
  await assert.rejects(database.pool.query("select 0.1::numeric as part"), /0\.1 is not a whole number/);
  await assert.rejects(database.pool.query("select array[1.50::numeric] as parts"), /1\.50 is not a whole number/);
  const { rows } = await database.pool.query("select 1 as after");
  assert.deepEqual(rows, [{ after: 1 }], "the connection is as good as before");
});

test("the pool leaves pg's type parsers unchanged for the rest of the process", () => {
  assert.equal(pg.types.getTypeParser(pg.types.builtins.INT8)("1"), "1");
});

test("the pool ends statements that exceed the timeout", async () => {
  const { rows } = await database.pool.query("show statement_timeout");
  assert.deepEqual(rows, [{ statement_timeout: "30s" }]);
});

test("a transaction commits completely or not at all", async () => {
  const result = await inTransaction(database.pool, async (client) => {
    await client.query("insert into item values (1)");
    return "done";
  });
  assert.equal(result, "done");
  const failure = new Error("no");
  await assert.rejects(
    inTransaction(database.pool, async (client) => {
      await client.query("insert into item values (2)");
      throw failure;
    }),
    (error) => error === failure,
  );
  assert.deepEqual(await items(), [1]);
});

test("a transaction fails if its code ignored the failure of a statement", async () => {
  await assert.rejects(
    inTransaction(database.pool, async (client) => {
      await client.query("insert into item values (3)");
      await assert.rejects(client.query("insert into item values (3)"), { code: "23505" });
    }),
    /rolled back/,
  );
  assert.ok(!(await items()).includes(3));
});

test("a connection that cannot roll back is closed, and its first error is thrown", async (t) => {
  const pool = openPool(database.connection, { log: createLog("silent"), sizeMax: 1 });
  t.after(() => pool.end());
  await assert.rejects(
    inTransaction(pool, async (client) => {
      client.query = () => Promise.reject(new Error("unknown state"));
      throw new Error("first");
    }),
    /first/,
  );
  assert.equal(pool.totalCount, 0);
});

test("a pool replaces a lost connection, whether it was idle or in a transaction, and logs the loss", async (t) => {
  const lines: string[] = [];
  const log = createLog("warn", { write: (line: string) => void lines.push(line) });
  const pool = openPool(database.connection, { log, sizeMax: 1 });
  t.after(() => pool.end());
  const end = async (client: pg.Pool | pg.PoolClient): Promise<void> => {
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    await database.pool.query("select pg_terminate_backend($1)", [rows[0]?.pid]);
  };

  await assert.rejects(
    inTransaction(pool, async (client) => {
      await end(client);
      await client.query("select 1");
    }),
  );
  await pool.query("select 1");
  const before = lines.length;
  await end(pool);
  await eventually("the idle connection's end is logged", () => lines.length > before);
  assert.match(lines.at(-1) ?? "", /database connection lost/);
  await pool.query("select 1");
});

test("an idle pool closes connections down to its minimum, but opens none to reach the minimum", async (t) => {
  const options = poolConfig(database.connection, { sizeMax: 4, sizeKept: 2 });
  const pool = new pg.Pool({ ...options, idleTimeoutMillis: 1 });
  // Ignores errors of idle connections, which may report that the test's database was dropped.
  pool.on("error", () => {});
  t.after(() => pool.end());
  assert.equal(pool.totalCount, 0);
  const clients = await Promise.all(Array.from({ length: 4 }, () => pool.connect()));
  let closed = 0;
  pool.on("remove", () => {
    closed += 1;
  });
  for (const client of clients) client.release();
  await eventually("the others are closed", () => closed === 2);
  assert.equal(pool.totalCount, 2);
  assert.equal(poolConfig(database.connection, { sizeMax: 2, sizeKept: 6 }).min, 2);
});
