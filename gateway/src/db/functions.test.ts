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

/** Functions by their names, without the ending, beside a table. */
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

describe("what is applied", () => {
  test("a function, once; and again when its file changed", async (t) => {
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

  test("only those that changed; another opening comment or other line ends are no change", async (t) => {
    const directory = await files(t, { say: ONE, tell: ONE.replace("say", "tell") });
    assert.deepEqual(await apply(directory), ["say", "tell"]);
    await write(directory, "say", ONE.replace("Says one.", "Says it:\n-- one.").replaceAll("\n", "\r\n"));
    await write(directory, "tell", TWO.replace("say", "tell"));
    assert.deepEqual(await apply(directory), ["tell"]);
  });

  test("one that somebody dropped is made again", async (t) => {
    const directory = await files(t, { say: ONE });
    await apply(directory);
    await database.pool.query("drop function say()");
    assert.deepEqual(await apply(directory), ["say"]);
  });

  test("a file that is gone leaves its function, for gateways that still call it; if it comes back it is applied", async (t) => {
    const directory = await files(t, { say: ONE });
    await apply(directory);
    await rm(join(directory, "functions", "say.sql"));
    assert.deepEqual(await apply(directory), []);
    assert.equal(await value("select say()"), 1);
    assert.equal(await value("select count(*) from function_file"), 0n);
    await write(directory, "say", TWO);
    assert.deepEqual(await apply(directory), ["say"]);
  });

  test("a function may call one that comes after it", async (t) => {
    const directory = await files(t, { ask: ONE.replace("say", "ask").replace("select 1", "select say()"), say: ONE });
    assert.deepEqual(await apply(directory), ["ask", "say"]);
    assert.equal(await value("select ask()"), 1);
  });

  test("one that came with a migration of the phase after stays as it was until then", async (t) => {
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

  test("constants of the gateway are put in", async (t) => {
    await apply(await files(t, { say: ONE.replace("select 1", "select {{host_share_percent}}") }));
    assert.equal(await value("select say()"), HOST_SHARE_PERCENT);
  });

  test("of two gateways that start at once one applies them", async (t) => {
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

describe("a function of another form", () => {
  test("other parameters: the old form is gone, and a default serves who calls as before", async (t) => {
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

  test("another result, another parameter's name", async (t) => {
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

  test("is refused where something else is built on the old one", async (t) => {
    const directory = await files(t, { say: ONE });
    await apply(directory);
    await database.pool.query("create view told as select say()");
    await write(directory, "say", ONE.replace("returns int", "returns bigint"));
    await refuses(
      directory,
      /^Function say\.sql failed: cannot drop function say\(\) because other objects depend on it\.$/,
    );
  });

  test("a trigger's function is replaced under its trigger", async (t) => {
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

test("who calls a function while it is replaced gets the old one or the new one", async (t) => {
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

describe("what is refused, and leaves nothing", () => {
  test("a function that fails takes the migrations of the run with it", async (t) => {
    const directory = await files(t, {
      say: "-- ü 🙂\ncreate or replace function say() returns int\nlanguage nonsense as $$ $$;",
    });
    await refuses(directory, /^Function say\.sql failed: language "nonsense" does not exist\.$/);
    assert.equal(await value("select to_regclass('item')::text"), null);
  });

  test("a body in SQL that cannot run", async (t) => {
    const directory = await files(t, { say: ONE.replace("select 1", "\n  select nonsense\n") });
    await refuses(directory, /^Function say\.sql failed in line 4: column "nonsense" does not exist\.$/);
  });

  test("a file that makes another function than its name says, or more forms of it", async (t) => {
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

  test("a constant that does not exist, a name that is none, a transaction of its own", async (t) => {
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
