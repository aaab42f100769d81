/**
 * A database that answers reads but cannot commit, because its disk hangs or a synchronous standby is missing. The
 * tests use a missing standby.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { systemClock } from "../base/clock.ts";
import { UnreachableError } from "../base/dependency.ts";
import { createLog } from "../base/log.ts";
import { makeConnectionName } from "./connected-programs.ts";
import { DatabaseOutageGuard } from "./outage-guard.ts";
import { openGuardedPool } from "./outage-guarded-pool.ts";
import { createScratchDirectory, queryPostgres } from "./private-postgres/testing.ts";

test("the gateway treats a hanging commit as an outage, even while the server still answers reads", async (t) => {
  const { connection } = await (await createScratchDirectory(t)).start();
  const lines: { msg: string }[] = [];
  const log = createLog("info", { write: (line: string) => void lines.push(JSON.parse(line)) });
  const guard = new DatabaseOutageGuard({ connection, clock: systemClock, log, durability: "assumed" });
  const pool = openGuardedPool(connection, { guard, log, sizeMax: 2 });
  t.after(async () => {
    await pool.end();
    guard.stop();
  });
  const confirmedBy = async (standby: string): Promise<void> => {
    await queryPostgres(connection, `alter system set synchronous_standby_names = '${standby}'`, "superuser");
    await queryPostgres(connection, "select pg_reload_conf()", "superuser");
  };
  await pool.query("create table thing (a int)");
  guard.watch();
  await confirmedBy("nobody");
  await eventually("the server has heard of it", async () => {
    const [row] = await queryPostgres<{ names: string }>(
      connection,
      "select current_setting('synchronous_standby_names') as names",
    );
    return row?.names === "nobody";
  });

  await assert.rejects(pool.query("insert into thing values (1)"), (error) => error instanceof UnreachableError);
  guard.health.latencyMs = null;
  // Each heartbeat hangs in its commit on a new connection. A third connection proves that two heartbeats timed out.
  await eventually("heartbeats are repeated during the outage", async () => {
    assert.deepEqual([guard.health.isAway, guard.health.latencyMs], [true, null], "no heartbeat succeeds");
    const [row] = await queryPostgres<{ hanging: number }>(
      connection,
      `select count(*)::int as hanging from pg_stat_activity
        where application_name = '${makeConnectionName("heartbeat")}' and wait_event = 'SyncRep'`,
      "superuser",
    );
    return (row?.hanging ?? 0) >= 3;
  });
  assert.equal(lines.length, 1, "the outage has not ended meanwhile");

  await confirmedBy("");
  await eventually("it is back", () => !guard.health.isAway);
  await pool.query("insert into thing values (2)");
});
