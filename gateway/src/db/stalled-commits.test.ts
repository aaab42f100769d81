/** A store that reads and does not commit: its disk hangs, or, as here, the standby that must confirm is not there. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { systemClock } from "../base/clock.ts";
import { Away } from "../base/dependency.ts";
import { createLog } from "../base/log.ts";
import { query, scratch } from "./embedded/testing.ts";
import { StoreGuard } from "./guard.ts";
import { openGuardedPool } from "./guarded-pool.ts";

test("who waits for a commit that does not come is refused; reading alone does not end the outage", async (t) => {
  const { connection } = await (await scratch(t)).start();
  const log = createLog("silent");
  const guard = new StoreGuard({ connection, clock: systemClock, log });
  const pool = openGuardedPool(connection, { guard, log, sizeMax: 2 });
  t.after(async () => {
    await pool.end();
    guard.stop();
  });
  const confirmedBy = async (standby: string): Promise<void> => {
    await query(connection, `alter system set synchronous_standby_names = '${standby}'`, "superuser");
    await query(connection, "select pg_reload_conf()", "superuser");
  };
  await pool.query("create table thing (a int)");
  guard.watch();
  await confirmedBy("nobody");
  await eventually("the server has heard of it", async () => {
    const [row] = await query<{ names: string }>(
      connection,
      "select current_setting('synchronous_standby_names') as names",
    );
    return row?.names === "nobody";
  });

  await assert.rejects(pool.query("insert into thing values (1)"), (error) => error instanceof Away);
  guard.health.latencyMs = null;
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  assert.deepEqual([guard.health.isAway, guard.health.latencyMs], [true, null], "no sign of life that counts");

  await confirmedBy("");
  await eventually("it is back", () => !guard.health.isAway);
  await pool.query("insert into thing values (2)");
});
