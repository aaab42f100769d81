/** The record of gateway processes: which of them may have left settlements in a spool (on disk) that no process has read. */
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { describe, type TestContext, test } from "node:test";
import type pg from "pg";
import { createLog } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import { manualClock, waitOneTurn } from "../base/testing.ts";
import { openTestDatabase } from "../db/testing.ts";
import { openGatewayProcesses } from "../ledger/gateway-processes.ts";
import { createSpoolDirectory, createTestHold, createTestSettlement, newId } from "../ledger/testing.ts";
import type { CloseFunction } from "./assembly-context.ts";
import { type LedgerAndSpool, openLedgerAndSpool } from "./ledger-and-spool.ts";
import { createTestDatabaseAccess } from "./testing.ts";

const LEASE_MS = 60_000;

async function openDatabaseWithBuilder(t: TestContext) {
  const db = await openTestDatabase();
  t.after(() => db.close());
  const builder = newId();
  await db.pool.query("insert into ledger_account (id, kind) values ($1, 'builder')", [builder]);
  await db.pool.query("select ledger_transfer($1, 'grant', $2, 100000000000, 'test')", [newId(), builder]);
  return { ...db, builder, processes: openGatewayProcesses(db.pool) };
}
type Database = Awaited<ReturnType<typeof openDatabaseWithBuilder>>;

/** Opens the ledger and the spool of a gateway whose queries, or only those of its ledger, can be made to fail. */
async function openGateway({ pool }: Database, directory: string, gatewayId: string) {
  const state: { cut: "nothing" | "ledger" | "all" } = { cut: "nothing" };
  const cuttable = (isCut: () => boolean): pg.Pool =>
    new Proxy(pool, {
      get(target, name) {
        const value = Reflect.get(target, name);
        if (name !== "query") return typeof value === "function" ? value.bind(target) : value;
        return (...args: unknown[]) =>
          isCut()
            ? Promise.reject(Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }))
            : (value as (...all: unknown[]) => unknown).apply(target, args);
      },
    });
  const store = {
    ...createTestDatabaseAccess({ pool: cuttable(() => state.cut === "all") }),
    ledgerPool: cuttable(() => state.cut !== "nothing"),
  };
  const stops: CloseFunction[] = [];
  const clock = manualClock(Date.now());
  const money: LedgerAndSpool = await openLedgerAndSpool(
    {
      ...{ random: systemRandom(), newId, gatewayId, log: createLog("silent"), clock },
      onClose: (stop) => void stops.push(stop),
    },
    { holdLeaseMs: LEASE_MS, upkeep: false, replayWindowMs: 900_000 },
    { store, spool: { directory, pid: process.pid, isAlive: () => false } },
  );
  const close = async (): Promise<void> => {
    for (let stop = stops.pop(); stop !== undefined; stop = stops.pop()) {
      const stopped = Promise.resolve(stop());
      // Ends the wait for a database that accepts nothing.
      await waitOneTurn();
      clock.advance(10_000);
      await stopped;
    }
  };
  return { ...money, state, clock, close };
}

/** Ends the holds whose gateway does not renew them, as any other gateway does after a lease. */
async function expireHolds({ pool }: Database): Promise<void> {
  await pool.query("update hold_sweep set at = now()");
  await pool.query("update hold set expires_at = now() - interval '1 minute'");
  await pool.query("select ledger_sweep(1000, interval '1 minute')");
}

describe("the record of gateway processes", () => {
  test("has no row of a gateway that stopped with an empty spool", async (t) => {
    const db = await openDatabaseWithBuilder(t);
    const gateway = await openGateway(db, await createSpoolDirectory(t), "orderly");
    const rows = async (): Promise<unknown> =>
      (await db.pool.query("select gateway, connections from gateway_process")).rows;
    assert.deepEqual(await rows(), [{ gateway: "orderly", connections: 10 }]);
    await gateway.close();
    assert.deepEqual(await rows(), []);
  });

  test("adds up the connections of running gateways, except those with the given spool directory", async (t) => {
    const db = await openDatabaseWithBuilder(t);
    await db.pool.query(
      `insert into gateway_process (gateway, host, directory, connections, seen_at) values
        ('a', 'one', '/data/spool', 24, now()), ('b', 'two', '/data/spool', 18, now()), ('c', 'two', '/data/spool/worker-1', 18, now()),
        ('ended', 'three', '/data/spool', 100, now() - interval '2 minutes')`,
    );
    assert.equal(await db.processes.connections({ host: "two", directory: "/data/spool" }), 24);
    assert.equal(await db.processes.connections({ host: "four", directory: "/data/spool" }), 60);
  });

  test("reports a gateway that stopped while it was cut off from the database, until another one reads its spool", async (t) => {
    const db = await openDatabaseWithBuilder(t);
    const directory = await createSpoolDirectory(t);
    const lost = await openGateway(db, directory, "lost");
    const holds = [createTestHold(db.builder), createTestHold(db.builder)];
    for (const hold of holds) await lost.ledger.hold(hold);
    lost.state.cut = "all";
    for (const hold of holds) await lost.ledger.secure(createTestSettlement(hold, null));
    await lost.close();
    assert.deepEqual(await db.processes.leftSpools(10), [], "its holds may still be renewed");
    await expireHolds(db);
    assert.deepEqual(
      (await db.processes.leftSpools(10)).map(({ gateway, directory: left, requests }) => [gateway, left, requests]),
      [["lost", directory, 2]],
    );
    const other = await openGateway(db, await createSpoolDirectory(t), "other");
    assert.equal(other.processRecord.spoolsLeft(), 1);
    const heir = await openGateway(db, directory, "heir");
    assert.equal(await heir.isSpoolEmpty(), true);
    assert.deepEqual(await db.processes.leftSpools(10), []);
    const { rows } = await db.pool.query("select count(*)::int as charged from request where charge_pico > 0");
    assert.deepEqual(rows, [{ charged: 2 }]);
    await Promise.all([other.close(), heir.close()]);
  });

  test("reports a gateway that reached the database when it stopped, but had settlements that the ledger did not accept", async (t) => {
    const db = await openDatabaseWithBuilder(t);
    const lost = await openGateway(db, await createSpoolDirectory(t), "lost");
    const hold = createTestHold(db.builder);
    await lost.ledger.hold(hold);
    lost.state.cut = "ledger";
    await lost.ledger.secure(createTestSettlement(hold, null));
    await lost.close();
    await expireHolds(db);
    assert.deepEqual(
      (await db.processes.leftSpools(10)).map(({ gateway, requests }) => [gateway, requests]),
      [["lost", 1]],
    );
  });

  test("reports no gateway whose holds expired after another one had read its spool and removed the file", async (t) => {
    const db = await openDatabaseWithBuilder(t);
    const directory = await createSpoolDirectory(t);
    const killed = await openGateway(db, directory, "killed");
    await killed.ledger.hold(createTestHold(db.builder));
    const heir = await openGateway(db, directory, "heir");
    assert.equal(await heir.isSpoolEmpty(), true);
    await expireHolds(db);
    assert.deepEqual(await db.processes.leftSpools(10), []);
    await heir.close();
  });

  test("reports no gateway that reaches the database again after holds of it expired", async (t) => {
    const db = await openDatabaseWithBuilder(t);
    const gateway = await openGateway(db, await createSpoolDirectory(t), "slow");
    await gateway.ledger.hold(createTestHold(db.builder));
    await expireHolds(db);
    assert.equal((await db.processes.leftSpools(10)).length, 1);
    gateway.clock.advance(15_000);
    await gateway.processRecord.idle();
    assert.deepEqual(await db.processes.leftSpools(10), []);
    await gateway.close();
  });

  test("keeps a stopped gateway's spool file for the next gateway if the first could not report that its spool was empty", async (t) => {
    const db = await openDatabaseWithBuilder(t);
    const directory = await createSpoolDirectory(t);
    const mute = await openGateway(db, directory, "mute");
    await mute.ledger.hold(createTestHold(db.builder));
    mute.state.cut = "all";
    await mute.close();
    assert.equal((await readdir(directory)).filter((name) => name.includes("~mute~")).length, 1);
    await expireHolds(db);
    assert.equal((await db.processes.leftSpools(10)).length, 1);
    const heir = await openGateway(db, directory, "heir");
    assert.equal(await heir.isSpoolEmpty(), true);
    assert.deepEqual(await db.processes.leftSpools(10), []);
    await heir.close();
    assert.deepEqual(
      (await readdir(directory)).filter((name) => name.endsWith(".spool")),
      [],
    );
  });

  test("drops a process one day after it ended and left no settlements, and a process that an operator gives up", async (t) => {
    const db = await openDatabaseWithBuilder(t);
    await db.pool.query(
      `insert into gateway_process (gateway, host, directory, connections, seen_at, expired) values
        ('ended', '', '', 0, now() - interval '2 days', 0), ('left', '', '', 0, now() - interval '2 days', 3),
        ('running', '', '', 0, now(), 0)`,
    );
    await db.processes.prune();
    const { rows } = await db.pool.query("select gateway from gateway_process order by 1");
    assert.deepEqual(rows, [{ gateway: "left" }, { gateway: "running" }]);
    assert.equal(await db.processes.forget("left"), true);
    assert.equal(await db.processes.forget("left"), false);
    assert.deepEqual(await db.processes.leftSpools(10), []);
  });
});
