import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import type pg from "pg";
import { z } from "zod";
import { createLog } from "../base/log.ts";
import { openPool } from "./pool.ts";
import { PreparedQuery } from "./prepared-query.ts";
import { queryRows } from "./rows.ts";
import { openTestDatabase, type TestDatabase } from "./testing.ts";

let database: TestDatabase;
let pool: pg.Pool;
before(async () => {
  database = await openTestDatabase();
  pool = openPool(database.connection, { log: createLog("silent"), sizeMax: 1 });
});
after(async () => {
  await pool.end();
  await database.close();
});

const ask = (name: string, text: string, values: unknown[] = []): Promise<unknown[]> =>
  queryRows(pool, z.unknown(), { name, text }, values);

test("parameters of a prepared query come back from the database unchanged, on the first call and on later ones", async () => {
  const text = 'select $1::text as "text", $2::bigint as big, $3::int as small, $4::boolean as truth, $5::text as none';
  for (const word of ["plain", "naïve Zürich", "日本語 🙂", "", "a\\'\"\n"]) {
    const big = 2n ** 62n;
    const [row] = await ask("values", text, [word, big, -7, true, undefined]);
    assert.deepEqual(row, { text: word, big, small: -7, truth: true, none: null });
  }
  assert.deepEqual(await ask("many", "select n from generate_series(1, $1::int) n", [3]), [
    { n: 1 },
    { n: 2 },
    { n: 3 },
  ]);
  assert.deepEqual(await ask("none", "select 1 where false"), []);
});

test("the server prepares and describes a statement once per connection", async () => {
  const client = await pool.connect();
  const heard: string[] = [];
  for (const event of ["parseComplete", "rowDescription", "bindComplete"])
    client.connection.on(event, () => heard.push(event));
  client.release();
  for (let n = 0; n < 3; n++) assert.deepEqual(await ask("once", "select $1::int as n", [n]), [{ n }]);
  assert.deepEqual(heard, ["parseComplete", "bindComplete", "rowDescription", "bindComplete", "bindComplete"]);
});

test("a server error rejects the call, and the next call succeeds", async () => {
  const divide = (by: number) => ask("divide", "select 1 / $1::int as n", [by]);
  assert.deepEqual(await divide(1), [{ n: 1 }]);
  await assert.rejects(divide(0), { code: "22012" });
  assert.deepEqual(await divide(1), [{ n: 1 }]);
  await assert.rejects(ask("wrong", "selec 1"), { code: "42601" });
  assert.deepEqual(await ask("wrong", "select 1 as n"), [{ n: 1 }]);
});

test("a statement is prepared again after its first call failed", async () => {
  const whole = (text: string) => ask("whole", "select $1::int as n", [text]);
  // The server prepares the statement, but refuses the value.
  await assert.rejects(whole("none"), { code: "22P02" });
  assert.deepEqual(await whole("1"), [{ n: 1 }]);
});

test("pg can prepare a query under a name that a prepared statement of the same connection already has", async () => {
  const query = { name: "both", text: "select 1 as n" };
  const byPg = async (): Promise<unknown[]> => {
    const client = await pool.connect();
    try {
      return (await client.query(query)).rows;
    } finally {
      client.release();
    }
  };
  assert.deepEqual(await ask(query.name, query.text), [{ n: 1 }]);
  assert.deepEqual(await byPg(), [{ n: 1 }]);
  assert.deepEqual(await ask(query.name, query.text), [{ n: 1 }]);
  assert.deepEqual(await byPg(), [{ n: 1 }]);
});

test("after a table's columns change, a prepared statement fails once, and the next call describes it again", async () => {
  await pool.query("create table changing (value int)");
  await pool.query("insert into changing values (1)");
  const read = () => ask("changing", "select * from changing");
  assert.deepEqual(await read(), [{ value: 1 }]);
  await pool.query("alter table changing alter value type bigint");
  await assert.rejects(read(), { code: "0A000" });
  assert.deepEqual(await read(), [{ value: 1n }]);
});

test("a value that cannot be parsed fails only its own query", async () => {
  const half = (n: string) => ask("half", "select $1::numeric as n", [n]);
  assert.deepEqual(await half("2"), [{ n: 2n }]);
  await assert.rejects(half("0.5"), /not a whole number/);
  assert.deepEqual(await half("2"), [{ n: 2n }]);
});

test("parameters other than plain values are refused before anything is sent", () => {
  for (const value of [{}, [1], new Date(0), () => 1])
    assert.throws(() => new PreparedQuery({ name: "plain", text: "select $1::text as t" }, [value]), TypeError);
});

test("a call fails when its connection breaks before the response", async () => {
  const failed = assert.rejects(ask("sleep", "select pg_sleep(60)::text as t"), { code: "57P01" });
  const end = `select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and query like 'select pg_sleep(60)%' and state = 'active'`;
  await eventually("it sleeps", async () => (await database.pool.query(end)).rowCount === 1);
  await failed;
  assert.deepEqual(await ask("sleep", "select pg_sleep(0)::text as t"), [{ t: "" }]);
});
