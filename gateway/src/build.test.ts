/** Tests a gateway built from settings: database outages, and a machine with a wrong clock. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, type TestContext, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { type Clock, systemClock } from "./base/clock.ts";
import { createLog } from "./base/log.ts";
import { dollars, pico } from "./base/money.ts";
import { DAY_MS, HOUR_MS } from "./base/time.ts";
import { type BuiltGateway, buildGateway } from "./build.ts";
import { parseConfig } from "./config.ts";
import { openDatabaseProxy } from "./db/testing/database-proxy.ts";
import { formatConnectionUrl, openTestDatabase, type TestDatabase } from "./db/testing.ts";
import { waitPastMidnight } from "./history/testing-past-months.ts";
import { createTestHold, createTestSettlement } from "./ledger/testing.ts";

const HOLD = 1_000_000n;
const WAITS = "database is unreachable; waiting for it to start";
const ENV = {
  ...{ HOST: "127.0.0.1", PORT: "0", INTERNAL_PORT: "0", PLANE_PORT: "0", DRAIN_DELAY_S: "0" },
  DATABASE_DURABILITY: "assumed",
  KEY_PEPPER: "a pepper of tests, 32 characters or more",
  RECEIPT_SEED: Buffer.alloc(32, 1).toString("base64url"),
};

/** A database that a proxy can make unreachable, a data directory, and a log whose messages are collected. */
async function openDatabaseBehindProxy(t: TestContext) {
  const database = await openTestDatabase();
  const proxy = await openDatabaseProxy(database.connection);
  const directory = await mkdtemp(join(tmpdir(), "tollgate-build-"));
  t.after(async () => {
    await proxy.close();
    await database.close();
    await rm(directory, { recursive: true });
  });
  const lines: string[] = [];
  const log = createLog("info", { write: (line) => void lines.push(JSON.parse(line).msg) });
  return { database, proxy, directory, lines, log };
}

describe("a gateway whose database becomes unreachable during start", () => {
  test("waits for the database again, and serves when it is reachable", async (t) => {
    const { proxy, directory, lines, log } = await openDatabaseBehindProxy(t);
    const cuts: Promise<void>[] = [];
    const built = buildGateway({
      config: parseConfig({ ...ENV, DATA_DIR: directory, DATABASE_URL: proxy.connection.connectionString }),
      log,
      onLost: (error) => assert.fail(error),
      anyInternalPort: true,
      // At this point the database is migrated, but the prices are not stored yet.
      progress(what) {
        if (what === "loading the tokenizers" && cuts.length === 0) cuts.push(proxy.refuse());
      },
    });
    await Promise.race([eventually("it waits", () => lines.includes(WAITS)), built]);
    await Promise.all(cuts);
    await proxy.resume();
    const gateway = await built;
    assert.equal((await fetch(`http://127.0.0.1:${gateway.port}/v1/models`)).status, 401);
    assert.equal((await fetch(`http://127.0.0.1:${gateway.internalPort}/healthz`)).status, 200);
    await gateway.close();
    assert.equal(lines.filter((line) => line === "serving").length, 1);
  });
});

describe("a gateway whose database can lose confirmed commits", () => {
  test("does not start, and names the setting and how to change it", async (t) => {
    const database = await openTestDatabase();
    const directory = await mkdtemp(join(tmpdir(), "tollgate-durability-"));
    t.after(async () => {
      await database.close();
      await rm(directory, { recursive: true });
    });
    const { DATABASE_DURABILITY: _, ...env } = ENV;
    const config = parseConfig({ ...env, DATA_DIR: directory, DATABASE_URL: formatConnectionUrl(database.connection) });
    const log = createLog("silent");
    const onLost = (error: Error): void => assert.fail(error);
    const started = buildGateway({ config, log, onLost, anyInternalPort: true, progress() {} });
    await assert.rejects(
      started.then((gateway) => gateway.close()),
      {
        name: "DatabaseMisconfigured",
        message: /^the database has fsync = off, so a crash can lose charges .*ALTER SYSTEM SET fsync = on/,
      },
    );
  });
});

describe("a gateway that stops while its database is unreachable", () => {
  test("waits up to DRAIN_SPOOL_S until the charges in its spool are in the ledger", async (t) => {
    const { database, proxy, directory, lines, log } = await openDatabaseBehindProxy(t);
    const DATABASE_URL = proxy.connection.connectionString;
    const gateway = await buildGateway({
      config: parseConfig({ ...ENV, DATA_DIR: directory, DATABASE_URL, DRAIN_SPOOL_S: "3600" }),
      log,
      onLost: (error) => assert.fail(error),
      anyInternalPort: true,
      progress() {},
    });
    const accountId = gateway.newId();
    await database.pool.query("insert into account (id, kind, name) values ($1, 'builder', 'b')", [accountId]);
    await database.pool.query("insert into ledger_account (id, kind) values ($1, 'builder')", [accountId]);
    const grant = { id: gateway.newId(), kind: "grant", accountId, amount: dollars(1), reason: "test" } as const;
    await gateway.ledger.transfer(grant);
    const hold = { ...createTestHold(accountId, HOLD), id: gateway.newId() };
    assert.equal((await gateway.ledger.hold(hold)).kind, "held");
    await proxy.refuse();
    await gateway.ledger.secure(createTestSettlement(hold, null));
    const closed = gateway.close();
    await eventually("it waits for the database", () =>
      lines.includes("waiting until the database accepts the charges in the spool"),
    );
    await proxy.resume();
    await closed;
    const { rows } = await database.pool.query("select charge_pico > 0 as charged from request where id = $1", [
      hold.id,
    ]);
    assert.deepEqual(rows, [{ charged: true }]);
    assert.ok(!lines.some((line) => line.startsWith("stopped with charges")));
  });
});

describe("a gateway whose machine's clock is a day ahead of the database's", () => {
  let database: TestDatabase;
  let directory: string;
  /** How far the clock of the second gateway's machine is ahead. */
  let aheadMs = DAY_MS;
  let right: BuiltGateway;
  let ahead: BuiltGateway;

  before(async () => {
    database = await openTestDatabase();
    directory = await mkdtemp(join(tmpdir(), "tollgate-clock-"));
    right = await open("right", systemClock);
    ahead = await open("ahead", { ...systemClock, now: () => systemClock.now() + aheadMs });
  });
  after(async () => {
    await ahead.close();
    await right.close();
    await rm(directory, { recursive: true });
    await database.close();
  });
  beforeEach(waitPastMidnight);

  async function open(name: string, clock: Clock): Promise<BuiltGateway> {
    const config = parseConfig({
      ...ENV,
      DATA_DIR: join(directory, name),
      DATABASE_URL: formatConnectionUrl(database.connection),
    });
    const log = createLog("silent");
    const onLost = (error: Error): void => assert.fail(error);
    return await buildGateway({ config, log, clock, progress() {}, onLost, anyInternalPort: true });
  }

  const openKey = async () => {
    const accountId = right.newId();
    await database.pool.query("insert into account (id, kind, name) values ($1, 'builder', 'b')", [accountId]);
    await database.pool.query("insert into ledger_account (id, kind) values ($1, 'builder')", [accountId]);
    await right.ledger.transfer({ id: right.newId(), kind: "grant", accountId, amount: dollars(1), reason: "test" });
    const settings = { budgetDay: pico(HOLD) };
    const { id: keyId, token } = await right.apiKeys.create(accountId, { name: "k", by: null, settings });
    return { accountId, keyId, token };
  };
  const holdBy = ({ accountId, keyId }: Awaited<ReturnType<typeof openKey>>, gateway: BuiltGateway) => ({
    ...createTestHold(accountId, HOLD),
    keyId,
    id: gateway.newId(),
  });
  const databaseNow = async (): Promise<number> => {
    const { rows } = await database.pool.query("select clock_timestamp() as now");
    return rows[0].now.getTime();
  };

  test("does not give a key its daily budget a second time", async () => {
    const key = await openKey();
    assert.equal((await right.ledger.hold(holdBy(key, right))).kind, "held");
    assert.deepEqual(await ahead.ledger.hold(holdBy(key, ahead)), { kind: "exceeds_budget", of: "day", available: 0n });
  });

  test("dates its records by the database's clock, even after its own clock was set", async () => {
    for (const offMs of [DAY_MS, -6 * HOUR_MS]) {
      aheadMs = offMs;
      const before = await databaseNow();
      const hold = holdBy(await openKey(), ahead);
      assert.equal((await ahead.ledger.hold(hold)).kind, "held");
      await ahead.ledger.settle(createTestSettlement(hold, null));
      const { rows } = await database.pool.query("select created_at from request where id = $1", [hold.id]);
      const made = rows[0].created_at.getTime();
      const after = await databaseNow();
      assert.ok(made > before - HOUR_MS && made < after + HOUR_MS, `${new Date(made).toISOString()} is off`);
    }
  });

  test("expires a key by the database's clock", async () => {
    aheadMs = DAY_MS;
    const { keyId, token } = await openKey();
    const end = new Date((await databaseNow()) + 6 * HOUR_MS);
    await database.pool.query("update api_key set expires_at = $2 where id = $1", [keyId, end]);
    assert.equal((await ahead.apiKeys.authenticate(`Bearer ${token}`))?.id, keyId);
  });
});
