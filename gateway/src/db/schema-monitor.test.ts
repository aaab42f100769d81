/** The schema check at a gateway's start and while it serves. */
import assert from "node:assert/strict";
import { after, beforeEach, type TestContext, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import type { Clock } from "../base/clock.ts";
import { systemClock } from "../base/clock.ts";
import { createLog } from "../base/log.ts";
import { migrate } from "./migrate.ts";
import { openSchemaMonitor } from "./schema-monitor.ts";
import { makeSqlDirectory } from "./testing/sql-directory.ts";
import { openTestDatabase, type TestDatabase } from "./testing.ts";

const THREE = {
  "0001_first.sql": "create table first (a int);",
  "0002_second.sql": "create table second (a int);",
  "0003_third.sql": "-- phase: after\ndrop table first;",
};
const upTo = (count: number): Record<string, string> => Object.fromEntries(Object.entries(THREE).slice(0, count));
const oldestSchema = 1;

const empty = await makeSqlDirectory({ after });
const silent = createLog("silent");
let database: TestDatabase;
let lines: { level: number; msg: string }[];
const log = createLog("info", { write: (line) => lines.push(JSON.parse(line)) });
beforeEach(async (t) => {
  lines = [];
  database = await openTestDatabase({ sql: empty });
  const { close } = database;
  (t as TestContext).after(close);
});

async function apply(t: TestContext, count: number): Promise<void> {
  const directory = await makeSqlDirectory(t, { migrations: upTo(count) });
  await migrate(database.pool, { directory, log: silent, oldestSchema });
}

/** Starts the schema checks of a gateway with this many migrations. `look` makes the next regular check happen. */
async function open(t: TestContext, known: number, mode: "auto" | "check", oldest = oldestSchema) {
  const directory = await makeSqlDirectory(t, { migrations: upTo(known) });
  let look = (): void => {};
  const clock: Clock = {
    ...systemClock,
    every(_, task) {
      look = task;
      return () => {};
    },
  };
  const lost: Error[] = [];
  const onLost = (error: Error): void => void lost.push(error);
  const schema = await openSchemaMonitor({
    pool: database.pool,
    mode,
    clock,
    log,
    onLost,
    directory,
    oldestSchema: oldest,
  });
  return { schema, lost, look: () => look() };
}

test("MIGRATE=auto migrates the database at the start", async (t) => {
  assert.equal((await open(t, 2, "auto")).schema.number, 2);
});

test("MIGRATE=check starts on the previous release's schema, leaves it unchanged and logs a warning", async (t) => {
  await apply(t, 1);
  const { schema } = await open(t, 2, "check");
  assert.equal(schema.number, 1);
  assert.match(lines.find(({ level }) => level === 40)?.msg ?? "", /older than this program.*Run tollgate migrate/);
  assert.equal((await database.pool.query("select from migration")).rowCount, 1);
});

test("MIGRATE=check refuses an older schema and a database without a schema", async (t) => {
  await assert.rejects(
    open(t, 2, "check"),
    /has no schema yet, and this program needs 0001 or newer. Run tollgate migrate/,
  );
  await apply(t, 1);
  await assert.rejects(open(t, 3, "check", 2), /is at migration 0001, and this program needs 0002 or newer/);
});

for (const mode of ["auto", "check"] as const) {
  test(`MIGRATE=${mode} on a newer database: serves with a warning after additions, and refuses after removals`, async (t) => {
    await apply(t, 2);
    assert.equal((await open(t, 1, mode)).schema.number, 2);
    assert.match(lines.find(({ level }) => level === 40)?.msg ?? "", /newer than this program; it is compatible/);
    await apply(t, 3);
    await assert.rejects(open(t, 1, mode), /The database is newer than this program/);
  });
}

test("a part of the gateway that needs a later migration waits until that migration is applied", async (t) => {
  await apply(t, 1);
  const { schema, look, lost } = await open(t, 2, "check");
  const stop = schema.watch();
  await schema.reached(1);
  let isThere = false;
  const waiting = schema.reached(2).then(() => {
    isThere = true;
  });
  look();
  assert.equal(isThere, false);
  await apply(t, 2);
  await eventually("it is told", () => {
    look();
    return isThere;
  });
  await waiting;
  await stop();
  assert.equal(schema.number, 2);
  assert.deepEqual(lost, []);
});

test("a running gateway stops when the database's schema becomes incompatible", async (t) => {
  await apply(t, 1);
  const { schema, look, lost } = await open(t, 1, "check");
  const stop = schema.watch();
  await apply(t, 2);
  look();
  await eventually("it has seen the next schema", () => {
    look();
    return schema.number === 2;
  });
  assert.equal(lost.length, 0);
  await apply(t, 3);
  await eventually("it gives up", () => {
    look();
    return lost.length > 0;
  });
  await stop();
  assert.match(lost[0]?.message ?? "", /newer than this program: it has migration 0003_third\.sql/);
});
