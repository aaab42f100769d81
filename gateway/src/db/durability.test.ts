/**
 * A database that is replaced, after the gateway's start, by a server that can lose confirmed commits. `build.test.ts`
 * tests such a server at the start.
 */
import assert from "node:assert/strict";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import pg from "pg";
import { UnreachableError } from "../base/dependency.ts";
import { createLog } from "../base/log.ts";
import { manualClock } from "../base/testing.ts";
import { DatabaseOutageGuard } from "./outage-guard.ts";
import { openGuardedPool } from "./outage-guarded-pool.ts";
import { createScratchDirectory, queryPostgres } from "./private-postgres/testing.ts";
import { formatConnectionUrl, openTestDatabase } from "./testing.ts";

/** The guard's intervals in ms: between heartbeats, and before the first retry of an outage. */
const [BEAT_MS, RETRY_MS] = [500, 250];

test("a gateway that reconnects refuses a database server that can lose commits, and serves again on a safe one", async (t) => {
  const durable = await (await createScratchDirectory(t)).start();
  const lossy = await openTestDatabase();
  const { database: name, user, ...lossyAt } = new pg.Client(formatConnectionUrl(lossy.connection));
  await queryPostgres(durable.connection, `create database ${name} owner ${durable.connection.user}`, "superuser");

  let [host, port] = [durable.connection.host, durable.connection.port];
  const sockets = new Set<Socket>();
  const relay = createServer((socket) => {
    const beyond = connect(`${host}/.s.PGSQL.${port}`);
    for (const [from, into] of [
      [socket, beyond],
      [beyond, socket],
    ] as const) {
      sockets.add(from);
      from.on("data", (bytes) => into.write(bytes));
      from.on("error", () => into.destroy());
      from.on("close", () => {
        sockets.delete(from);
        into.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
  const at = `127.0.0.1:${(relay.address() as AddressInfo).port}`;
  const leadTo = (server: { host: string; port: number }): void => {
    ({ host, port } = server);
    for (const socket of sockets) socket.destroy();
  };

  const clock = manualClock(Date.now());
  const lines: { msg: string; reason?: string }[] = [];
  const log = createLog("info", { write: (line: string) => void lines.push(JSON.parse(line)) });
  const connection = { connectionString: `postgres://${user}@${at}/${name}` };
  const guard = new DatabaseOutageGuard({ connection, clock, log, durability: "checked" });
  const pool = openGuardedPool(connection, { guard, log, sizeMax: 1 });
  t.after(async () => {
    await pool.end();
    guard.stop();
    relay.close();
    await lossy.close();
  });
  guard.watch();
  clock.advance(BEAT_MS);
  await eventually("the heartbeat is answered", () => guard.health.latencyMs !== null);
  assert.equal(guard.health.isAway, false);
  await pool.query("select 1");

  leadTo(lossyAt);
  await eventually("the other is refused", () => guard.health.isAway);
  assert.match(guard.health.reason ?? "", /^the database has fsync = off, so a crash can lose charges/);
  assert.ok(lines.some(({ reason }) => reason === guard.health.reason));
  await assert.rejects(pool.query("select 1"), (error) => error instanceof UnreachableError);

  leadTo(durable.connection);
  clock.advance(RETRY_MS);
  await eventually("it is back", () => !guard.health.isAway);
  await pool.query("select 1");
});
