/** The two phases of an upgrade: additions run beside older gateways; removals wait until none of them is connected. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, beforeEach, describe, type TestContext, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import pg from "pg";
import { createLog } from "../base/log.ts";
import { readBundledSql } from "./bundled-sql.ts";
import {
  countConnectedGateways,
  listConnectedPrograms,
  makeConnectionName,
  nameBroadcastConnection,
} from "./connected-programs.ts";
import { type AfterPhaseMigrationMode, type MigrationResult, migrate } from "./migrate.ts";
import { planMigration } from "./migration-plan.ts";
import { clientConfig } from "./pool.ts";
import { makeSqlDirectory } from "./testing/sql-directory.ts";
import { openTestDatabase, type TestDatabase } from "./testing.ts";

const log = createLog("silent");
const FIRST = { "0001_item.sql": "create table item (id int primary key, old text, made timestamptz);" };
const ADD = { "0002_add.sql": "alter table item add column new text;" };
const DROP = { "0003_drop.sql": "-- Nobody reads it any more.\n-- phase: after\nalter table item drop column old;" };
const NEXT = { "0004_next.sql": "create table other (a int);" };
/** The oldest schema that the program (the gateway whose files are migrated here) supports. */
const oldestSchema = 1;

const empty = await makeSqlDirectory({ after });
let database: TestDatabase;
/** Functions that close the connections of a test before its database is dropped. */
let connections: (() => Promise<void> | void)[];
beforeEach(async (t) => {
  database = await openTestDatabase({ sql: empty });
  connections = [];
  const { close } = database;
  (t as TestContext).after(async () => {
    for (const end of connections) await end();
    await close();
  });
});

async function run(
  t: TestContext,
  migrations: Record<string, string>,
  phase?: AfterPhaseMigrationMode,
): Promise<MigrationResult> {
  const directory = await makeSqlDirectory(t, { migrations });
  return await migrate(database.pool, { directory, log, oldestSchema, ...(phase && { after: phase }) });
}

/** Opens a connection with this application name. */
async function connect(name: string): Promise<() => Promise<void>> {
  const client = new pg.Client(clientConfig(database.connection, name));
  await client.connect();
  let ended: Promise<void> | undefined;
  const end = (): Promise<void> => {
    ended ??= client.end();
    return ended;
  };
  connections.push(end);
  return end;
}

const recorded = async (): Promise<unknown[]> =>
  (await database.pool.query("select version, works_with from migration order by 1")).rows.map(Object.values);

describe('migrations marked "phase: after"', () => {
  test("are skipped by tollgate migrate and run by tollgate migrate --finish", async (t) => {
    await run(t, FIRST);
    assert.deepEqual(await run(t, { ...FIRST, ...ADD, ...DROP }, "leave"), {
      migrations: ["0002_add.sql"],
      functions: [],
      left: ["0003_drop.sql"],
    });
    const finished = await run(t, { ...FIRST, ...ADD, ...DROP }, "insist");
    assert.deepEqual(finished.migrations, ["0003_drop.sql"]);
    assert.deepEqual(await recorded(), [
      [1, 1],
      [2, 1],
      [3, 3],
    ]);
  });

  for (const name of [
    "tollgate",
    "tollgate heartbeat",
    "tollgate 0.1.0 schema 2",
    "tollgate heartbeat 0.1.0 schema 2",
  ]) {
    test(`are deferred or refused while the program "${name}" is connected`, async (t) => {
      await run(t, FIRST);
      const end = await connect(name);
      const files = { ...FIRST, ...ADD, ...DROP };
      assert.deepEqual((await run(t, files, "if alone")).left, ["0003_drop.sql"]);
      await assert.rejects(
        run(t, files, "insist"),
        /0003_drop\.sql removes objects that older gateways need, and older gateways are connected: 0\.1\.0.*, 1 connection\./,
      );
      await database.pool.query("select old, new from item");
      await end();
      await gone(name);
      assert.deepEqual((await run(t, files, "if alone")).migrations, ["0003_drop.sql"]);
    });
  }

  for (const name of ["tollgate broadcast", "tollgate broadcast 1", "psql", "tollgate 0.2.0 schema 3", "tollgates"]) {
    test(`run while only "${name}" is connected`, async (t) => {
      await run(t, FIRST);
      await connect(name);
      assert.deepEqual((await run(t, { ...FIRST, ...ADD, ...DROP }, "insist")).left, []);
    });
  }

  test("count the worker processes of one gateway as one gateway", async () => {
    for (const gateway of [undefined, undefined, "one", "one", "two"]) await connect(nameBroadcastConnection(gateway));
    assert.equal(await countConnectedGateways(database.pool), 4);
  });

  test("run before the next release's migrations if the upgrade was not finished, and fail while an older gateway is connected", async (t) => {
    await run(t, FIRST);
    const files = { ...FIRST, ...ADD, ...DROP, ...NEXT };
    const end = await connect("tollgate 0.1.0 schema 2");
    for (const mode of ["leave", "if alone", "insist"] as const) {
      await assert.rejects(run(t, files, mode), /0003_drop\.sql removes objects that older gateways need/);
    }
    assert.deepEqual(await recorded(), [[1, 1]]);
    await end();
    await gone("tollgate 0.1.0 schema 2");
    assert.deepEqual((await run(t, files, "leave")).migrations, ["0002_add.sql", "0003_drop.sql", "0004_next.sql"]);
  });

  test("run while only gateways of the same release are connected, and wait while gateways of an older release are", async (t) => {
    await run(t, FIRST);
    await connect("tollgate 0.2.0 schema 3");
    const files = { ...FIRST, ...ADD, ...DROP, ...NEXT, "0005_drop.sql": "-- phase: after\ndrop table other;" };
    assert.deepEqual(await run(t, files, "if alone"), {
      migrations: ["0002_add.sql", "0003_drop.sql", "0004_next.sql"],
      functions: [],
      left: ["0005_drop.sql"],
    });
    await assert.rejects(
      run(t, files, "insist"),
      /0005_drop\.sql removes objects.*: 0\.2\.0 \(schema 3\), 1 connection\./,
    );
  });

  const gone = (name: string): Promise<true> =>
    eventually("it is gone", async () => {
      const { rowCount } = await database.pool.query(
        "select from pg_stat_activity where datname = current_database() and application_name = $1",
        [name],
      );
      return rowCount === 0;
    });
});

test('a migration whose phase is neither "before" nor "after" is refused', async (t) => {
  await assert.rejects(
    run(t, { "0001_a.sql": "-- phase: later\nselect 1;" }),
    /^MigrationError: Migration 0001_a\.sql: phase must be before or after, not "later"\.$/,
  );
});

test("the list of connected programs groups connections by version and leaves out broadcast connections", async () => {
  await connect(makeConnectionName("heartbeat"));
  await connect("tollgate broadcast");
  await connect("tollgate heartbeat");
  const client = await database.pool.connect();
  connections.push(() => client.release());
  const [unknown, known] = await listConnectedPrograms(client);
  assert.deepEqual(unknown, { version: "0.1.0 or older", schema: 0, connections: 1 });
  assert.match(known?.version ?? "", /^\d+\.\d+\.\d+ \(schema \d+\)$/);
});

describe("a program on a newer database", () => {
  test("changes nothing while the database has only additions, and refuses to start after removals", async (t) => {
    const say = (n: number) => ({
      "say.sql": `create or replace function say() returns int language sql as $$ select ${n} $$;`,
    });
    const older = await makeSqlDirectory(t, { migrations: FIRST, functions: say(1) });
    const newer = await makeSqlDirectory(t, { migrations: { ...FIRST, ...ADD, ...DROP }, functions: say(2) });
    await migrate(database.pool, { directory: older, log, oldestSchema });
    await migrate(database.pool, { directory: newer, log, oldestSchema, after: "leave" });
    const again = await migrate(database.pool, { directory: older, log, oldestSchema });
    assert.deepEqual(again, { migrations: [], functions: [], left: [] });
    assert.deepEqual((await database.pool.query("select say()")).rows, [{ say: 2 }]);
    await migrate(database.pool, { directory: newer, log, oldestSchema, after: "insist" });
    await assert.rejects(
      migrate(database.pool, { directory: older, log, oldestSchema }),
      /newer than this program: it has migration 0003_drop\.sql, and the newest one known here is 0001_item\.sql/,
    );
  });

  test("does not wait for a long migration that it does not need", async (t) => {
    await run(t, FIRST);
    const busy = new pg.Client(database.connection);
    await busy.connect();
    connections.push(() => busy.end());
    await busy.query("select pg_advisory_lock(1953459308, 2)");
    assert.deepEqual(await run(t, FIRST), { migrations: [], functions: [], left: [] });
  });
});

describe("the migration plan", () => {
  test("lists each phase's migrations and the tables that they lock, without running them", async (t) => {
    await run(t, FIRST);
    await database.pool.query("insert into item select n from generate_series(1, 1000) n; analyze item");
    const files = {
      ...FIRST,
      "0002_add.sql": [
        "-- A comment; with a semicolon.",
        "create table fresh (a int);",
        "create index fresh_a on fresh (a);",
        "",
        "create index item_made",
        "  on item (made);",
        "alter table item alter column old type varchar;",
        "do $$ begin update item set old = ';'; end $$;",
      ].join("\n"),
      ...DROP,
    };
    const directory = await makeSqlDirectory(t, {
      migrations: files,
      functions: { "say.sql": "create or replace function say() returns int language sql as $$ select 1 $$;" },
    });
    const program = await readBundledSql({ directory, oldestSchema });
    const plan = await planMigration(database.pool, program);
    assert.deepEqual([plan.schema, plan.known, plan.functions], [1, 3, ["say"]]);
    const told = plan.migrations.map(({ name, phase, burdens }) => [
      name,
      phase,
      burdens.map(({ line, table, rows }) => [line, table, rows]),
    ]);
    assert.deepEqual(told, [
      [
        "0002_add.sql",
        "before",
        [
          [5, "item", 1000],
          [7, "item", 1000],
          [8, "", undefined],
        ],
      ],
      ["0003_drop.sql", "after", [[3, "item", 1000]]],
    ]);
    const [index, type, block] = plan.migrations[0]?.burdens.map(({ what }) => what) ?? [];
    assert.match(index ?? "", /blocks writes/);
    assert.match(type ?? "", /rewrite the whole table/);
    assert.match(block ?? "", /unknown locking behaviour: do \$\$/);
    assert.deepEqual(await recorded(), [[1, 1]]);
  });

  test("lists all migrations for an empty database, and none for an up-to-date database", async (t) => {
    const directory = await makeSqlDirectory(t, { migrations: FIRST });
    const program = await readBundledSql({ directory, oldestSchema });
    assert.equal((await planMigration(database.pool, program)).migrations.length, 1);
    await migrate(database.pool, { directory, log, oldestSchema });
    const plan = await planMigration(database.pool, program);
    assert.deepEqual([plan.schema, plan.migrations, plan.functions], [1, [], []]);
  });
});

describe("a migration without a transaction", () => {
  const ALONE = "-- transaction: none\ncreate index concurrently if not exists item_made on item (made);\n";
  const isValid = async (name: string): Promise<unknown> =>
    (await database.pool.query("select indisvalid from pg_index where indexrelid = to_regclass($1)", [name])).rows[0]
      ?.indisvalid;

  test("builds its index, while migrations before and after it run in transactions", async (t) => {
    const files = { ...FIRST, "0002_made.sql": ALONE, "0003_more.sql": "create table other (a int);" };
    assert.equal((await run(t, files)).migrations.length, 3);
    assert.equal(await isValid("item_made"), true);
  });

  test("keeps earlier migrations when it fails, and the next run replaces the invalid index", async (t) => {
    const unique = ALONE.replace("create index", "create unique index").replace("(made)", "(old)");
    const directory = await makeSqlDirectory(t, { migrations: { ...FIRST } });
    await migrate(database.pool, { directory, log, oldestSchema });
    await database.pool.query("insert into item values (1, 'same'), (2, 'same')");
    for (const [name, sql] of Object.entries({ ...ADD, "0003_made.sql": unique, ...NEXT })) {
      await writeFile(join(directory, "migrations", name), sql);
    }
    const again = () => migrate(database.pool, { directory, log, oldestSchema });
    await assert.rejects(
      again(),
      /^MigrationError: Migration 0003_made\.sql failed in line 2: could not create unique/,
    );
    assert.equal(await isValid("item_made"), false);
    assert.deepEqual(await recorded(), [
      [1, 1],
      [2, 1],
    ]);
    await database.pool.query("delete from item where id = 2");
    assert.deepEqual((await again()).migrations, ["0003_made.sql", "0004_next.sql"]);
    assert.equal(await isValid("item_made"), true);
  });

  test("builds its index on every partition of a partitioned table, even after an interrupted attempt", async (t) => {
    const directory = await makeSqlDirectory(t, {
      migrations: {
        "0001_item.sql": `create table item (id int, made int) partition by range (id);
          create table item_one partition of item for values from (0) to (10);
          create table item_two partition of item for values from (10) to (20);`,
      },
    });
    await migrate(database.pool, { directory, log, oldestSchema });
    await writeFile(join(directory, "migrations", "0002_made.sql"), ALONE);
    // Simulates an interruption: the parent index exists, one partition's index is attached, and another's is missing.
    await database.pool.query("create index item_made on only item (made)");
    await database.pool.query("create index item_one_item_made on item_one (made)");
    await database.pool.query("alter index item_made attach partition item_one_item_made");
    assert.deepEqual((await migrate(database.pool, { directory, log, oldestSchema })).migrations, ["0002_made.sql"]);
    assert.equal(await isValid("item_made"), true);
    await database.pool.query("create table item_three partition of item for values from (20) to (30)");
    const { rows } = await database.pool.query(
      "select count(*)::int as joined from pg_inherits where inhparent = 'item_made'::regclass",
    );
    assert.deepEqual(rows, [{ joined: 3 }]);
  });

  test("must be a single statement that can be repeated", async (t) => {
    for (const sql of [
      "create index concurrently item_made on item (made);",
      "create index concurrently if not exists a on item (made); create index concurrently if not exists b on item (made);",
      "drop table item;",
    ]) {
      await assert.rejects(
        run(t, { ...FIRST, "0002_made.sql": `-- transaction: none\n${sql}` }),
        /0002_made\.sql runs outside a transaction, so it must be a single statement/,
      );
    }
  });

  test("is not blocked by a session that waits for the migration lock", async (t) => {
    const directory = await makeSqlDirectory(t, { migrations: { ...FIRST, "0002_made.sql": ALONE } });
    const runs = Array.from({ length: 4 }, () => migrate(database.pool, { directory, log, oldestSchema }));
    assert.equal((await Promise.all(runs)).flatMap(({ migrations }) => migrations).length, 2);
  });
});
