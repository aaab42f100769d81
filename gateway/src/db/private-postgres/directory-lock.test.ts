/** The lock on the data directory: a gateway that loses its connection acquires the lock again or reports the loss. */
import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import pg from "pg";
import { ADVISORY_LOCK_CLASS, ADVISORY_LOCK_IDS } from "../advisory-locks.ts";
import type { PrivatePostgres } from "../private-postgres.ts";
import type { PrivatePostgresError } from "./errors.ts";
import { makeSuperuserConfig } from "./postmaster.ts";
import { createScratchDirectory, queryPostgres, startGatewayInOwnProcess } from "./testing.ts";

/** All tests share this data directory. Each begins without a running server. */
const place = await createScratchDirectory({ after });
afterEach(() => place.stopAll());

async function holder({ connection }: Pick<PrivatePostgres, "connection">): Promise<number | undefined> {
  const rows = await queryPostgres<{ pid: number }>(
    connection,
    `select pid from pg_locks
      where locktype = 'advisory' and granted and classid = ${ADVISORY_LOCK_CLASS} and objid = ${ADVISORY_LOCK_IDS.dataDirectory}`,
    "superuser",
  );
  return rows[0]?.pid;
}

test("the gateway acquires the data directory's lock again after the lock's session ends", async () => {
  const postgres = await place.start({ onLost: (error) => assert.fail(error) });
  const before = await holder(postgres);
  await queryPostgres(postgres.connection, `select pg_terminate_backend(${before})`, "superuser");
  await eventually("another session holds it", async () => {
    const now = await holder(postgres);
    return now !== undefined && now !== before;
  });
});

test("the gateway acquires the data directory's lock again after PostgreSQL has recovered from a crash", async () => {
  const postgres = await place.start({ onLost: (error) => assert.fail(error) });
  const before = await holder(postgres);
  assert.ok(before);
  // The crash of one server process makes PostgreSQL end all sessions and restart.
  process.kill(before, "SIGKILL");
  await eventually("another session holds it", async () => {
    // Connections fail while PostgreSQL recovers.
    const now = await holder(postgres).catch(() => undefined);
    return now !== undefined && now !== before;
  });
});

test("a start waits until the session of a killed gateway ends and frees the lock", async (t) => {
  const killed = startGatewayInOwnProcess(t, place);
  const { host } = await killed.next("ready");
  const connection = { host, port: 5432, user: "tollgate", database: "tollgate" };
  const before = await holder({ connection });
  assert.ok(before);
  process.kill(before, "SIGSTOP");
  await killed.kill();
  const starting = place.start();
  await eventually("the next gateway asks for the lock", async () => {
    const sql = `select from pg_stat_activity where application_name = 'tollgate gateway ${process.pid}'`;
    return (await queryPostgres(connection, sql, "superuser")).length === 1;
  });
  process.kill(before, "SIGCONT");
  assert.equal((await starting).adopted, true);
});

test("a gateway is notified when another process takes its data directory's lock", async (t) => {
  const lost = Promise.withResolvers<PrivatePostgresError>();
  const postgres = await place.start({ onLost: lost.resolve });
  const before = await holder(postgres);
  const rival = new pg.Client(makeSuperuserConfig(postgres.connection, "tollgate gateway 1"));
  t.after(() => rival.end());
  rival.on("error", () => undefined);
  await rival.connect();
  const taken = rival.query("select pg_advisory_lock($1, $2)", [ADVISORY_LOCK_CLASS, ADVISORY_LOCK_IDS.dataDirectory]);
  await eventually("the rival waits", async () => {
    const rows = await queryPostgres(
      postgres.connection,
      "select from pg_locks where locktype = 'advisory' and not granted",
      "superuser",
    );
    return rows.length === 1;
  });
  await queryPostgres(postgres.connection, `select pg_terminate_backend(${before})`, "superuser");
  await taken;
  const error = await lost.promise;
  assert.match(error.message, /is in use by process 1: stop that process first/);
});

test("a gateway is notified when its PostgreSQL server dies, and the next start recovers the data", async () => {
  const lost = Promise.withResolvers<PrivatePostgresError>();
  const postgres = await place.start({ onLost: lost.resolve });
  await queryPostgres(postgres.connection, "create table kept (a int)");
  await queryPostgres(postgres.connection, "insert into kept values (1)");
  process.kill(postgres.pid, "SIGKILL");
  assert.match((await lost.promise).message, new RegExp(`process ${postgres.pid}\\) exited unexpectedly`));
  await postgres.stop();
  const next = await place.start();
  assert.deepEqual(await queryPostgres(next.connection, "select a from kept"), [{ a: 1 }]);
});
