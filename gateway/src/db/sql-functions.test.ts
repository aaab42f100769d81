import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, beforeEach, describe, type TestContext, test } from "node:test";
import { createLog } from "../base/log.ts";
import { HOST_SHARE_PERCENT } from "../base/money.ts";
import { migrate } from "./migrate.ts";
import { openPool } from "./pool.ts";
import { MigrationError } from "./sql-files.ts";
import { makeSqlDirectory } from "./testing/sql-directory.ts";
import { openTestDatabase, type TestDatabase } from "./testing.ts";

const log = createLog("silent");
const ONE = "-- Says one.\n\ncreate or replace function say() returns int language sql as $$ select 1 $$;\n";
const TWO = ONE.replace("select 1", "select 2");

const empty = await makeSqlDirectory({ after });
let database: TestDatabase;
beforeEach(async (t) => {
  database = await openTestDatabase({ sql: empty });
  const { close } = database;
  (t as TestContext).after(close);
});

/** Creates an SQL directory with one table and with these function files, given by name. */
const files = (t: TestContext, functions: Record<string, string>): Promise<string> =>
  makeSqlDirectory(t, {
    migrations: { "0001_item.sql": "create table item (a int);" },
    functions: Object.fromEntries(Object.entries(functions).map(([name, text]) => [`${name}.sql`, text])),
  });
const write = (directory: string, name: string, text: string): Promise<void> =>
  writeFile(join(directory, "functions", `${name}.sql`), text);
const apply = async (directory: string): Promise<string[]> =>
  (await migrate(database.pool, { directory, log })).functions;

async function value(sql: string): Promise<unknown> {
  const { rows } = await database.pool.query({ text: sql, rowMode: "array" });
  return rows[0]?.[0];
}

const forms = (name: string): Promise<unknown> =>
  value(`select array_agg(oid::regprocedure::text order by 1) from pg_proc where proname = '${name}'`);

const refuses = (directory: string, pattern: RegExp): Promise<void> =>
  assert.rejects(migrate(database.pool, { directory, log }), (error) => {
    assert.ok(error instanceof MigrationError, String(error));
    assert.match(error.message, pattern);
    assert.doesNotMatch(error.message, /\n/);
    return true;
  });

describe("applying SQL functions", () => {
  test("applies a function once, and again when its file changed", async (t) => {
    const directory = await files(t, { say: ONE });
    assert.deepEqual(await apply(directory), ["say"]);
    assert.deepEqual(await apply(directory), []);
    await write(directory, "say", TWO);
    assert.deepEqual(await apply(directory), ["say"]);
    assert.equal(await value("select say()"), 2);
    await write(directory, "say", ONE);
    assert.deepEqual(await apply(directory), ["say"]);
    assert.equal(await value("select say()"), 1);
  });

  test("applies changed functions only, ignoring the opening comment and line endings", async (t) => {
    const directory = await files(t, { say: ONE, tell: ONE.replace("say", "tell") });
    assert.deepEqual(await apply(directory), ["say", "tell"]);
    await write(directory, "say", ONE.replace("Says one.", "Says it:\n-- one.").replaceAll("\n", "\r\n"));
    await write(directory, "tell", TWO.replace("say", "tell"));
    assert.deepEqual(await apply(directory), ["tell"]);
  });

  test("creates a dropped function again", async (t) => {
    const directory = await files(t, { say: ONE });
    await apply(directory);
    await database.pool.query("drop function say()");
    assert.deepEqual(await apply(directory), ["say"]);
  });

  test("keeps a function whose file was removed, for older gateways, and applies it when the file returns", async (t) => {
    const directory = await files(t, { say: ONE });
    await apply(directory);
    await rm(join(directory, "functions", "say.sql"));
    assert.deepEqual(await apply(directory), []);
    assert.equal(await value("select say()"), 1);
    assert.equal(await value("select count(*) from function_file"), 0n);
    await write(directory, "say", TWO);
    assert.deepEqual(await apply(directory), ["say"]);
  });

  test("creates functions that call functions created after them", async (t) => {
    const directory = await files(t, { ask: ONE.replace("say", "ask").replace("select 1", "select say()"), say: ONE });
    assert.deepEqual(await apply(directory), ["ask", "say"]);
    assert.equal(await value("select ask()"), 1);
  });

  test("keeps the old version of a function until the after-phase migration that changes it has run", async (t) => {
    const first = await files(t, { say: ONE });
    await apply(first);
    const directory = await makeSqlDirectory(t, {
      migrations: {
        "0001_item.sql": "create table item (a int);",
        "0002_more.sql": "create table more (a int);",
        "0003_less.sql": "-- phase: after\ndrop table item;",
      },
      functions: { "say.sql": `-- since: 0003\n${TWO}`, "tell.sql": ONE.replace("say", "tell") },
    });
    const early = await migrate(database.pool, { directory, log, after: "leave" });
    assert.deepEqual(early, { migrations: ["0002_more.sql"], functions: ["tell"], left: ["0003_less.sql"] });
    assert.equal(await value("select say()"), 1);
    const late = await migrate(database.pool, { directory, log, after: "insist" });
    assert.deepEqual(late, { migrations: ["0003_less.sql"], functions: ["say"], left: [] });
    assert.equal(await value("select say()"), 2);
  });

  test("replaces {{name}} in a file with the gateway's constant of that name", async (t) => {
    await apply(await files(t, { say: ONE.replace("select 1", "select {{host_share_percent}}") }));
    assert.equal(await value("select say()"), HOST_SHARE_PERCENT);
  });

  test("applies functions once when two gateways start at the same time", async (t) => {
    const directory = await files(t, { say: ONE });
    const other = openPool(database.connection, { log, sizeMax: 1 });
    t.after(() => other.end());
    const runs = await Promise.all([database.pool, other].map((pool) => migrate(pool, { directory, log })));
    assert.deepEqual(
      runs.flatMap(({ functions }) => functions),
      ["say"],
    );
  });
});

describe("changing a function's signature", () => {
  test("drops the old function when its parameters change; calls with the old parameters use the new function", async (t) => {
    const directory = await files(t, { say: ONE });
    await apply(directory);
    await write(
      directory,
      "say",
      "create or replace function say(a int default 3) returns int language sql as $$ select a $$;",
    );
    await apply(directory);
    assert.equal(await value("select say()"), 3);
    assert.deepEqual(await forms("say"), ["say(integer)"]);
  });

  test("replaces a function whose result type or parameter name changed", async (t) => {
    const directory = await files(t, { say: ONE });
    await apply(directory);
    await write(
      directory,
      "say",
      "create or replace function say(a int) returns text language sql as $$ select a::text $$;",
    );
    await apply(directory);
    await write(directory, "say", "create or replace function say(b int) returns int language sql as $$ select b $$;");
    await apply(directory);
    assert.equal(await value("select say(4)"), 4);
    assert.deepEqual(await forms("say"), ["say(integer)"]);
  });

  test("refuses a changed signature when another object depends on the old function", async (t) => {
    const directory = await files(t, { say: ONE });
    await apply(directory);
    await database.pool.query("create view told as select say()");
    await write(directory, "say", ONE.replace("returns int", "returns bigint"));
    await refuses(
      directory,
      /^Function say\.sql failed: cannot drop function say\(\) because other objects depend on it\.$/,
    );
  });

  test("replaces a trigger's function without dropping the trigger", async (t) => {
    const file = (a: number) => `create or replace function set_a() returns trigger language plpgsql as $$
      begin new.a := ${a}; return new; end $$;
      create or replace trigger set_a before insert on item for each row execute function set_a();`;
    const directory = await files(t, { set_a: file(1) });
    await apply(directory);
    await write(directory, "set_a", file(2));
    await apply(directory);
    await database.pool.query("insert into item values (0)");
    assert.equal(await value("select a from item"), 2);
  });
});

test("replacing a function lets concurrent callers get either the old or the new one", async (t) => {
  const directory = await files(t, { say: ONE });
  await apply(directory);
  const seen = new Set<unknown>();
  let running = true;
  const callers = Array.from({ length: 4 }, async () => {
    while (running) {
      const { rows } = await database.pool.query({ name: "say", text: "select say() as said" });
      seen.add(rows[0]?.said);
    }
  });
  for (let i = 0; i < 20; i++) {
    await write(directory, "say", i % 2 === 0 ? TWO : ONE);
    await apply(directory);
  }
  running = false;
  await Promise.all(callers);
  assert.deepEqual([...seen].sort(), [1, 2]);
});

describe("failing function files", () => {
  test("roll back the migrations of the same run when a function fails", async (t) => {
    const directory = await files(t, {
      say: "-- ü 🙂\ncreate or replace function say() returns int\nlanguage nonsense as $$ $$;",
    });
    await refuses(directory, /^Function say\.sql failed: language "nonsense" does not exist\.$/);
    assert.equal(await value("select to_regclass('item')::text"), null);
  });

  test("are refused when the SQL in a function's body is invalid", async (t) => {
    const directory = await files(t, { say: ONE.replace("select 1", "\n  select nonsense\n") });
    await refuses(directory, /^Function say\.sql failed in line 4: column "nonsense" does not exist\.$/);
  });

  test("are refused when the function's name differs from the file's, or the file defines several functions", async (t) => {
    await refuses(
      await files(t, { tell: ONE }),
      /^Function file tell\.sql must define exactly one function tell; it defines 0\.$/,
    );
    const twice = `${ONE}${ONE.replace("say()", "say(a int)")}`;
    await refuses(
      await files(t, { say: twice }),
      /^Function file say\.sql must define exactly one function say; it defines 2\.$/,
    );
  });

  test("are refused with an unknown constant, an invalid name or a transaction statement", async (t) => {
    await refuses(
      await files(t, { say: "{{nonsense}}" }),
      /^Function say\.sql uses \{\{nonsense\}\}, which is not a constant/,
    );
    await refuses(await files(t, { "1-say": ONE }), /^Function file 1-say\.sql must be named like/);
    await refuses(
      await files(t, { say: `${ONE} commit; begin;` }),
      /^Function say\.sql failed: it ends its own transaction/,
    );
  });
});
