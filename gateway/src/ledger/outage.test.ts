/**
 * Settlements on a database that fails in every known way. Every answered request is charged once, and no client waits
 * long for the database.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { UnreachableError } from "../base/dependency.ts";
import { publicId } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { formatExactMicrodollars, pico } from "../base/money.ts";
import { waitOneTurn } from "../base/testing.ts";
import type { HoldOrder } from "./hold.ts";
import { enterSettlementsInLedger, findUnsettledRequests, readSpools } from "./spool-folder.ts";
import { openSpoolReplay } from "./spool-replay.ts";
import { createTestSettlement, TEST_CHARGE } from "./testing.ts";
import {
  ANSWER_MS,
  coded,
  type FailingDatabase,
  onDisk,
  openFailingDatabase,
  passing,
  type Trouble,
  without,
} from "./testing-failing-database.ts";

/** After which time a settlement is written to disk. */
const SPOOL_MS = 1_000;

describe("settling during database failures", () => {
  let db: FailingDatabase;
  before(async () => {
    db = await openFailingDatabase();
  });
  after(() => db.close());

  const troubles: [string, Trouble][] = [
    ["the database's disk is full", { before: () => coded("53100") }],
    ["the database is read-only", { before: () => coded("25006") }],
    ["the database cannot read its own pages", { before: () => coded("XX001") }],
    ["a grant is missing", { before: () => coded("42501") }],
    ["a pooler mixes up prepared statements", { before: () => coded("42P05") }],
    ["a prepared statement is gone", { before: () => coded("26000") }],
    ["a table is missing during a restore", { before: () => coded("42P01") }],
    ["a function is missing during a restore", { before: () => coded("42883") }],
    ["a plan's columns changed", { before: () => coded("0A000") }],
    ["the connection is lost before the commit", { before: () => coded("ECONNRESET") }],
    ["the connection is lost after the commit", { after: () => new Error("Connection terminated unexpectedly") }],
    ["the database is known to be unreachable", { before: () => new UnreachableError("database", "no answer") }],
  ];
  for (const [what, how] of troubles) {
    test(`${what}: writes the settlement to disk at once, and later enters it in the ledger once`, async (t) => {
      const { ledger, clock, trouble, lines, directory } = await db.open(t);
      const holds = [await db.held(ledger), await db.held(ledger)];
      Object.assign(trouble, how);
      await Promise.all(holds.map((hold) => ledger.secure(createTestSettlement(hold, db.host))));
      assert.deepEqual((await onDisk(directory)).sort(), holds.map(({ id }) => id).sort());
      assert.deepEqual(ledger.unsettled().sort(), holds.map(({ id }) => id).sort());
      await ledger.idle();
      without(trouble);
      for (const { id } of holds) await passing("it is charged", clock, () => db.isCharged(id));
      await eventually("nothing waits", () => ledger.unsettled().length === 0);
      await eventually("the disk is empty", async () => (await onDisk(directory)).length === 0);
      for (const { id } of holds) assert.deepEqual(await db.chargesOf(id), [TEST_CHARGE]);
      const { spooled, committed, unsafe, givenUp } = ledger.tallies;
      assert.deepEqual([spooled, committed, unsafe, givenUp], [2, 2, 0, 0]);
      assert.equal(lines.length, 2, "an outage is two lines");
      assert.match(lines[0]?.request ?? "", /^req_/);
      await db.assertLedger();
    });
  }

  test("writes the settlement to disk after 1 s if the account is locked, and later enters it in the ledger once", async (t) => {
    const { ledger, clock, trouble, directory } = await db.open(t);
    const holds = [await db.held(ledger), await db.held(ledger)];
    trouble.before = () => coded("55P03");
    const secured = Promise.all(holds.map((hold) => ledger.secure(createTestSettlement(hold, db.host))));
    await passing("they are on the disk", clock, async () => (await onDisk(directory)).length === holds.length);
    await secured;
    without(trouble);
    for (const { id } of holds) await passing("it is charged", clock, () => db.isCharged(id));
    await passing("nothing waits", clock, () => ledger.unsettled().length === 0);
    for (const { id } of holds) assert.deepEqual(await db.chargesOf(id), [TEST_CHARGE]);
    assert.deepEqual([ledger.tallies.committed, ledger.tallies.givenUp], [2, 0]);
    await db.assertLedger();
  });

  test("writes a settlement to disk after 1 s if the database hangs, later ones at once, and closes without waiting", async (t) => {
    const { ledger, clock, trouble, directory } = await db.open(t);
    const holds = [await db.held(ledger), await db.held(ledger)];
    const hanging = Promise.withResolvers<void>();
    trouble.hangs = hanging.promise;
    const [first, second] = holds as [HoldOrder, HoldOrder];
    const secured = ledger.secure(createTestSettlement(first, db.host));
    clock.advance(SPOOL_MS);
    await secured;
    await ledger.secure(createTestSettlement(second, db.host));
    assert.deepEqual(
      await onDisk(directory),
      holds.map(({ id }) => id),
    );
    assert.equal(ledger.tallies.unsafe, 0);
    await ledger.close();
    hanging.resolve();
    for (const { id } of holds) await eventually("what was on its way is done", () => db.isCharged(id));
    await db.assertLedger();
  });

  test("charges each spooled settlement once after the gateway was killed", async (t) => {
    const first = await db.open(t);
    const holds = [await db.held(first.ledger), await db.held(first.ledger), await db.held(first.ledger)];
    first.trouble.before = () => coded("57P03");
    await Promise.all(holds.map((hold) => first.ledger.secure(createTestSettlement(hold, db.host))));
    await first.ledger.close();
    // One of the leases has expired meanwhile.
    const [late] = holds as [HoldOrder];
    await db.pool.query("update hold set expires_at = now() - interval '1 second' where id = $1", [late.id]);
    await db.pool.query("update hold_sweep set at = now()");
    assert.equal((await db.pool.query("select ledger_expire(10) as expired")).rows[0].expired, 1);

    const second = await db.open(t, { directory: first.directory });
    const replay = openSpoolReplay({
      spool: second.spool,
      clock: second.clock,
      log: createLog("silent"),
      ledger: second.ledger,
    });
    t.after(() => replay.stop());
    await replay.run();
    await replay.run();
    for (const { id } of holds) assert.deepEqual(await db.chargesOf(id), [TEST_CHARGE]);
    assert.deepEqual(await onDisk(first.directory), []);
    assert.deepEqual([second.ledger.tallies.late, second.ledger.tallies.committed], [1, 2]);
    await db.assertLedger();
  });

  test("lets another gateway settle a spooled request whose hold the database lost, only once and as a late settlement", async (t) => {
    const dead = await db.open(t);
    const hold = await db.held(dead.ledger);
    dead.trouble.before = () => coded("57P01");
    await dead.ledger.secure(createTestSettlement(hold, db.host));
    await db.pool.query(
      "with lost as (delete from hold where id = $1 returning *) update ledger_account a set held = a.held - lost.amount from lost where a.id = lost.account_id",
      [hold.id],
    );
    const next = await db.open(t, { directory: dead.directory });
    const settlements = (await readSpools(dead.directory)).flatMap((file) => file.settlements);
    const { waiting, charge } = await findUnsettledRequests(db.pool, settlements);
    assert.deepEqual([waiting.map(({ id }) => id), charge], [[hold.id], TEST_CHARGE]);
    assert.deepEqual(await enterSettlementsInLedger(next.ledger, settlements), { entered: 1, known: 0, givenUp: 0 });
    assert.deepEqual(await enterSettlementsInLedger(next.ledger, settlements), { entered: 0, known: 1, givenUp: 0 });
    assert.deepEqual(await db.chargesOf(hold.id), [TEST_CHARGE]);
    assert.equal(next.ledger.tallies.late, 1);
    assert.deepEqual((await findUnsettledRequests(db.pool, settlements)).waiting, []);
    await db.assertLedger();
  });

  test("logs the number, amount and location of charges left on disk at shutdown", async (t) => {
    const { ledger, trouble, lines, directory } = await db.open(t);
    const holds = [await db.held(ledger), await db.held(ledger)];
    trouble.before = () => coded("57P01");
    for (const hold of holds) await ledger.secure(createTestSettlement(hold, db.host));
    await ledger.close();
    const [line, ...others] = lines.filter(({ level }) => level === 50) as unknown as Record<string, unknown>[];
    assert.deepEqual(others, []);
    assert.match(String(line?.msg), /^stopped with charges that wait in the spool: /);
    assert.deepEqual(
      [line?.settlements, line?.chargeMicro, line?.directory],
      [2, formatExactMicrodollars(pico(2n * TEST_CHARGE)), directory],
    );
    without(trouble);
    const next = await db.open(t, { directory });
    const settlements = (await readSpools(directory)).flatMap((file) => file.settlements);
    await enterSettlementsInLedger(next.ledger, settlements);
    for (const { id } of holds) assert.deepEqual(await db.chargesOf(id), [TEST_CHARGE]);
    await db.assertLedger();
  });

  test("answers the client after 2 s if neither database nor disk accepts the settlement, and charges later", async (t) => {
    const { ledger, clock, trouble, lines, spool } = await db.open(t);
    const hold = await db.held(ledger);
    const append = t.mock.method(spool, "append", async () => {
      throw coded("ENOSPC");
    });
    trouble.before = () => coded("53100");
    const secured = ledger.secure(createTestSettlement(hold, db.host));
    await eventually("neither takes it", () => append.mock.callCount() > 0);
    clock.advance(ANSWER_MS);
    await secured;
    assert.equal(ledger.tallies.unsafe, 1);
    const errors = lines.filter(({ level }) => level >= 50);
    assert.ok(errors.length >= 2 && errors.every(({ request }) => request === publicId("req", hold.id)));
    append.mock.restore();
    await passing("the disk takes it first", clock, () => ledger.tallies.spooled === 1);
    await ledger.idle();
    without(trouble);
    await passing("it is charged", clock, () => db.isCharged(hold.id));
    await db.assertLedger();
  });

  test("keeps a settlement on disk when our own code throws an error, and logs it once", async (t) => {
    const { ledger, clock, trouble, lines, directory } = await db.open(t);
    const hold = await db.held(ledger);
    trouble.before = () => new TypeError("a bug");
    await ledger.secure(createTestSettlement(hold, db.host));
    assert.deepEqual(await onDisk(directory), [hold.id]);
    await passing("it is tried again", clock, () => ledger.tallies.retried > 3);
    const told = lines.filter(({ msg }) => msg === "settling a request failed unexpectedly; retrying");
    assert.deepEqual(
      told.map(({ level, request }) => [level, request]),
      [[50, publicId("req", hold.id)]],
    );
    without(trouble);
    await passing("it is charged", clock, () => db.isCharged(hold.id));
    assert.equal(ledger.tallies.givenUp, 0);
    await db.assertLedger();
  });

  test("waits at shutdown for settlements that are being written to the database", async (t) => {
    const { ledger, trouble, directory } = await db.open(t);
    const hold = await db.held(ledger);
    const hanging = Promise.withResolvers<void>();
    trouble.hangs = hanging.promise;
    const secured = ledger.secure(createTestSettlement(hold, db.host));
    let isClosed = false;
    const closed = ledger.close().then(() => {
      isClosed = true;
    });
    for (let turns = 0; turns < 10; turns++) await waitOneTurn();
    assert.equal(isClosed, false);
    hanging.resolve();
    await Promise.all([secured, closed]);
    assert.deepEqual([await db.chargesOf(hold.id), await onDisk(directory)], [[TEST_CHARGE], []]);
  });

  test("retries a settlement if a migration replaces the SQL function while the settlement runs", async (t) => {
    const { ledger, trouble } = await db.open(t);
    const [mine, anothers] = [await db.held(ledger), await db.held(ledger)];
    const onceTheTableIsGone = (): void => {
      trouble.before = () => {
        without(trouble);
        return coded("42P01");
      };
    };
    onceTheTableIsGone();
    assert.equal(await ledger.settle(createTestSettlement(mine, db.host)), "settled");
    onceTheTableIsGone();
    assert.equal(await ledger.trySettling(createTestSettlement(anothers, db.host)), "settled");
    assert.equal(ledger.tallies.givenUp, 0);
    await db.assertLedger();
  });
});
