/**
 * Queries of a guarded pool while the database hangs, refuses connections and recovers. The guard's clock moves only
 * when a test moves it, so no heartbeat is sent or late by itself.
 */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import type pg from "pg";
import { UnreachableError } from "../base/dependency.ts";
import { createLog } from "../base/log.ts";
import { type ManualClock, manualClock } from "../base/testing.ts";
import { DAY_MS } from "../base/time.ts";
import { makeConnectionName } from "./connected-programs.ts";
import { openConnectionWaits, withConnectionWaits } from "./connection-waits.ts";
import type { ClockReading } from "./database-clock.ts";
import type { DatabaseLineage } from "./lineage/database-lineage.ts";
import { DatabaseOutageGuard } from "./outage-guard.ts";
import { openGuardedPool } from "./outage-guarded-pool.ts";
import { inTransaction } from "./pool.ts";
import { type DatabaseProxy, openDatabaseProxy } from "./testing/database-proxy.ts";
import { openTestDatabase, type TestDatabase } from "./testing.ts";

/** The guard's intervals in ms: between heartbeats, until a heartbeat times out, and before the next try. */
const [BEAT_MS, SILENT_MS, RETRY_MS] = [500, 2_000, 250];

const isAway = (error: unknown): boolean => error instanceof UnreachableError && error.dependency === "database";

describe("a connection pool with a database guard", () => {
  let database: TestDatabase;
  let proxy: DatabaseProxy;
  let clock: ManualClock;
  let guard: DatabaseOutageGuard;
  let pool: pg.Pool;
  let readings: ClockReading[];
  let lines: { level: number; msg: string; reason?: string; refused?: number; connections?: number }[];
  beforeEach(async () => {
    database = await openTestDatabase();
    proxy = await openDatabaseProxy(database.connection);
    lines = [];
    readings = [];
    const log = createLog("info", { write: (line) => void lines.push(JSON.parse(line)) });
    clock = manualClock(Date.now());
    const time = { read: (reading: ClockReading) => void readings.push(reading) };
    guard = new DatabaseOutageGuard({ connection: proxy.connection, clock, log, durability: "assumed", time });
    pool = openGuardedPool(proxy.connection, { guard, log, sizeMax: 3 });
    guard.watch();
  });
  afterEach(async () => {
    await proxy.resume();
    await pool.end();
    guard.stop();
    await proxy.close();
    await database.close();
  });

  test("fails only the query whose connection is lost during the check of the database's history", async (t) => {
    const lineage = {
      check: async (client: pg.Client) => {
        const asked = client.query("select 1");
        client.connection.stream.destroy();
        await asked;
      },
    } as unknown as DatabaseLineage;
    const log = createLog("silent");
    const watched = new DatabaseOutageGuard({
      connection: database.connection,
      clock,
      log,
      durability: "assumed",
      lineage,
    });
    const own = openGuardedPool(database.connection, { guard: watched, log, sizeMax: 1 });
    t.after(() => own.end());
    await assert.rejects(own.query("select 1"), /Connection terminated unexpectedly/);
  });

  test('fails queries on the heartbeat\'s connection with "unreachable" when that connection is closed', async (t) => {
    const asked = Promise.withResolvers<void>();
    const failed = Promise.withResolvers<unknown>();
    const lineage = {
      isOn: true,
      beat: async (client: pg.Client) => {
        proxy.hang();
        const answer = client.query("select 1");
        asked.resolve();
        await answer.catch(failed.resolve);
      },
    } as unknown as DatabaseLineage;
    const log = createLog("silent");
    const watched = new DatabaseOutageGuard({
      connection: proxy.connection,
      clock,
      log,
      durability: "assumed",
      lineage,
    });
    t.after(() => watched.stop());
    watched.watch();
    clock.advance(BEAT_MS);
    await asked.promise;
    clock.advance(SILENT_MS);
    const error = await failed.promise;
    assert.ok(isAway(error), String(error));
  });

  const away = () => eventually("it is known to be away", () => guard.health.isAway);
  const back = async () => {
    clock.advance(RETRY_MS);
    await eventually("it is known to be back", () => !guard.health.isAway);
  };
  const beat = async () => {
    guard.health.latencyMs = null;
    clock.advance(BEAT_MS);
    await eventually("the heartbeat is answered", () => guard.health.latencyMs !== null);
  };
  const said = (text: string) => lines.filter(({ msg }) => msg.includes(text));

  test("fails waiting queries while the database hangs, refuses new ones, closes connections, and later recovers", async () => {
    await beat();
    const held = await pool.connect();
    await held.query("select 1");
    const idle = await pool.connect();
    idle.release();
    proxy.hang();
    // Two of these five queries wait for an answer, and three wait for a connection.
    const asks = Array.from({ length: 5 }, () => pool.query("select 1"));
    const transaction = inTransaction(pool, (client) => client.query("select 1"));
    clock.advance(BEAT_MS + SILENT_MS);
    for (const ask of [...asks, transaction]) await assert.rejects(ask, isAway);
    assert.equal(guard.health.isAway, true);
    await assert.rejects(held.query("select 1"), /not queryable/);
    held.release(true);
    await eventually("no connection is left", () => pool.totalCount === 0);
    await assert.rejects(pool.query("select 1"), isAway);
    await assert.rejects(pool.connect(), isAway);
    assert.equal(guard.health.refused >= 2, true);

    await proxy.resume();
    await back();
    assert.equal((await pool.query("select 1 as one")).rows[0].one, 1);
    assert.deepEqual(
      lines.map(({ level, msg }) => [level, msg]),
      [
        [50, "database is unreachable; requests that need it are refused until it is back"],
        [30, "database is reachable again"],
      ],
    );
  });

  test("detects a stopped database at once and logs one line for any number of connections", async () => {
    const clients = await Promise.all(Array.from({ length: 3 }, () => pool.connect()));
    for (const client of clients) client.release();
    await proxy.refuse();
    await away();
    await assert.rejects(pool.query("select 1"), isAway);
    await proxy.resume();
    await back();
    await pool.query("select 1");
    assert.deepEqual(
      [said("database is unreachable").length, said("database is reachable again").length, lines.length],
      [1, 1, 2],
    );
  });

  test("does not treat a lost connection as an outage, not even the heartbeat's", async () => {
    const end = async (where: string): Promise<void> => {
      await database.pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and ${where}`,
      );
    };
    const client = await pool.connect();
    await beat();
    await end(
      `application_name = '${makeConnectionName()}' and pid <> pg_backend_pid() and query not like '%pg_terminate%'`,
    );
    await eventually("it was looked into", () => said("connection lost").length > 0);
    client.release(true);
    guard.health.latencyMs = null;
    await end(`application_name = '${makeConnectionName("heartbeat")}'`);
    await eventually("the heartbeat is answered on a new connection", () => guard.health.latencyMs !== null);
    await pool.query("select 1");
    assert.deepEqual([said("connection lost").length, said("is unreachable").length], [1, 0]);
  });

  test("checks at the next heartbeat whether connections in use still respond", async (t) => {
    const clock = manualClock();
    const log = createLog("silent");
    const resting = new DatabaseOutageGuard({ connection: proxy.connection, clock, log, durability: "assumed" });
    const used = openGuardedPool(proxy.connection, { guard: resting, log, sizeMax: 1 });
    t.after(async () => {
      await used.end();
      resting.stop();
    });
    const sign = () => eventually("a sign of life comes", () => resting.health.latencyMs !== null);
    resting.watch();
    clock.advance(500);
    await sign();
    // The database is unused, so no heartbeat is sent now: the next one is due 2 s after the first.
    clock.advance(500);
    resting.health.latencyMs = null;
    const client = await used.connect();
    clock.advance(500);
    await sign().finally(() => client.release());
  });

  test("does not treat a long query as an outage", async () => {
    await pool.query("create table ended ()");
    // The query sleeps and waits for no lock, because lock waits have their own timeout.
    const slow = pool.query(
      "do $$ begin while not exists (select from ended) loop perform pg_sleep(0.01); end loop; end $$",
    );
    // When a query has run for 2 s, the next heartbeats test whether the database still commits. It does, so this is
    // not an outage.
    for (let passedMs = 0; passedMs < 3 * SILENT_MS; passedMs += BEAT_MS) await beat();
    await database.pool.query("insert into ended default values");
    await slow;
    assert.deepEqual(lines, []);
  });

  test("reports no outage when waiting for a connection or a lock times out", async () => {
    await pool.query("create table thing (id int primary key); insert into thing values (1)");
    const clients = await Promise.all(Array.from({ length: 3 }, () => pool.connect()));
    const [first, second] = clients as [pg.PoolClient, pg.PoolClient];
    const noConnection = pool.query("select 1");
    await first.query("begin; select from thing for update");
    const noLock = second.query("update thing set id = 2");
    // The pool may report the two errors in either order.
    await Promise.all([
      assert.rejects(noConnection, /timeout exceeded when trying to connect/),
      assert.rejects(noLock, { code: "55P03" }),
    ]);
    await first.query("rollback");
    for (const client of clients) client.release();
    assert.equal(guard.health.isAway, false);
  });

  test("treats a read-only database as unreachable", async () => {
    await beat();
    await database.pool.query(
      `do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$`,
    );
    // Makes the heartbeat's next connection read-only.
    await database.pool.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = $1",
      [makeConnectionName("heartbeat")],
    );
    await away();
    assert.equal(lines[0]?.reason, "the database is read-only");
    await database.pool.query(
      `set default_transaction_read_only = off;
       do $$ begin execute format('alter database %I reset default_transaction_read_only', current_database()); end $$`,
    );
    await back();
    await pool.query("create table thing ()");
  });

  test("logs once a minute that the database accepts no more connections, and counts refusals", async () => {
    const limitTo = (connections: number) =>
      database.pool.query(
        `do $$ begin execute format('alter database %I connection limit ${connections}', current_database()); end $$`,
      );
    await limitTo(0);
    try {
      for (let i = 0; i < 3; i++) await assert.rejects(pool.query("select 1"), { code: "53300" });
    } finally {
      await limitTo(-1);
    }
    assert.equal(guard.tooMany, 3);
    assert.equal(guard.isShort, true);
    const told = lines.filter(({ msg }) => msg.startsWith("the database refuses more connections: raise"));
    assert.equal(told.length, 1);
    assert.match(told[0]?.reason ?? "", /^too many connections for database/);
  });

  test("opens no further connection while few are free, so that queries wait for an open one; without any, opens one", async () => {
    guard.isShort = true;
    const first = await pool.connect();
    const waiting = pool.connect();
    assert.deepEqual([pool.totalCount, pool.waitingCount], [1, 1]);
    first.release();
    const second = await waiting;
    assert.equal(second, first);
    guard.isShort = false;
    const third = await pool.connect();
    assert.equal(pool.totalCount, 2);
    second.release();
    third.release();
  });

  test("lets one caller wait 5 s for connections in sum over its queries, and gives back a connection that comes later", async () => {
    // A clock apart from the guard's, which would send heartbeats.
    const caller = manualClock();
    const waits = openConnectionWaits(caller).begin();
    const query = (): Promise<unknown> => withConnectionWaits(waits, () => pool.query("select 1"));
    const held = await Promise.all(Array.from({ length: 3 }, () => pool.connect()));
    const giveBack = (): void => held.pop()?.release();
    const first = query();
    caller.advance(3_000);
    giveBack();
    await first;
    held.push(await pool.connect());
    const second = query();
    caller.advance(2_000);
    await assert.rejects(second, /no connection was free for 4 s, in sum/);
    await assert.rejects(query(), isAway);
    // A caller without a budget still waits.
    const other = pool.query("select 1");
    while (held.length > 0) giveBack();
    await other;
    await eventually("all connections are idle", () => pool.idleCount === pool.totalCount && pool.waitingCount === 0);
  });

  test("reads the database's clock with every heartbeat", async () => {
    await beat();
    const { theirs, askedAt, heardAt } = readings.at(-1) as ClockReading;
    assert.ok(askedAt <= heardAt);
    const { rows } = await database.pool.query("select extract(epoch from clock_timestamp())::float8 * 1000 as ms");
    assert.ok(theirs > rows[0].ms - DAY_MS && theirs <= rows[0].ms, new Date(theirs).toISOString());
  });
});
