/** Settlements that the database refuses are retried from the disk, and given up and recorded if that never helps. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { publicId } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { pico } from "../base/money.ts";
import type { ManualClock } from "../base/testing.ts";
import { openGivenUpSettlements } from "./given-up-settlements.ts";
import type { HoldOrder } from "./hold.ts";
import type { Ledger } from "./ledger.ts";
import { readLines } from "./spool-lines.ts";
import { openSpoolReplay } from "./spool-replay.ts";
import { createTestSettlement, newId, TEST_CHARGE } from "./testing.ts";
import { coded, type FailingDatabase, onDisk, openFailingDatabase } from "./testing-failing-database.ts";

describe("settlements that the database refuses", () => {
  let db: FailingDatabase;
  before(async () => {
    db = await openFailingDatabase();
  });
  after(() => db.close());

  /** A settlement that the database refuses: it charges more than the hold. */
  const refusedOf = (hold: HoldOrder) => ({ ...createTestSettlement(hold, db.host), charge: pico(hold.amount + 1n) });
  /** Waits until a settlement with refused values was tried again, after its longest pause. */
  const triedAgain = async ({ ledger, clock }: { ledger: Ledger; clock: ManualClock }): Promise<void> => {
    const { retried, givenUp } = ledger.tallies;
    await eventually("it is tried again", () => {
      clock.advance(60_000);
      return ledger.tallies.retried > retried || ledger.tallies.givenUp > givenUp;
    });
  };

  test("keeps a settlement on disk and retries it if the database refuses its values, and delays no other settlement", async (t) => {
    const { ledger, clock, directory } = await db.open(t);
    const [bad, good, later] = [await db.held(ledger), await db.held(ledger), await db.held(ledger)];
    // Makes the hold smaller than the charge, as in a partly restored database.
    const resize = async (by: bigint): Promise<void> => {
      await db.pool.query("update ledger_account set held = held + $2 where id = $1", [db.builder, by]);
      await db.pool.query("update hold set amount = amount + $2 where id = $1", [bad.id, by]);
    };
    await resize(1n - bad.amount);
    await Promise.all([bad, good].map((hold) => ledger.secure(createTestSettlement(hold, db.host))));
    assert.deepEqual(await db.chargesOf(good.id), [TEST_CHARGE]);
    await ledger.secure(createTestSettlement(later, db.host));
    assert.deepEqual(await db.chargesOf(later.id), [TEST_CHARGE]);
    assert.deepEqual([await onDisk(directory), ledger.unsettled()], [[bad.id], [bad.id]], "the others are not on disk");
    await resize(bad.amount - 1n);
    await eventually("it is charged", () => {
      clock.advance(60_000);
      return db.isCharged(bad.id);
    });
    assert.equal(ledger.tallies.givenUp, 0);
    await eventually("the disk is empty", async () => (await onDisk(directory)).length === 0);
    await db.assertLedger();
  });

  test("gives up only a settlement that the database refuses for a quarter of an hour while it accepts others, and records it", async (t) => {
    const { ledger, clock, lines, directory } = await db.open(t);
    const bad = await db.held(ledger);
    await ledger.secure(refusedOf(bad));
    clock.advance(16 * 60_000);
    await triedAgain({ ledger, clock });
    assert.equal(ledger.tallies.givenUp, 0, "the database has accepted none, and may be incomplete");
    await ledger.secure(createTestSettlement(await db.held(ledger), db.host));
    await triedAgain({ ledger, clock });
    await eventually("nothing waits", () => ledger.unsettled().length === 0);
    await eventually("the disk is empty", async () => (await onDisk(directory)).length === 0);
    await ledger.secure(createTestSettlement({ id: newId(), accountId: db.builder }, db.host));
    const notes = (await readFile(join(directory, "given-up.jsonl"), "utf8"))
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
    assert.equal(notes[0].request, publicId("req", bad.id));
    assert.match(notes[0].reason, /violates check constraint/);
    assert.deepEqual(readLines(`${notes[0].line}\n`).settlements[0]?.hold, bad);
    assert.match(notes[1].reason, /the database has neither the request's hold nor its record/);
    assert.equal(ledger.tallies.givenUp, 2);
    const told = lines.filter(({ msg }) => msg.startsWith("gave up a settlement"));
    assert.equal(told[0]?.request, notes[0].request);
    await ledger.void(bad.id);
    await db.assertLedger();
  });

  test("still counts a given-up settlement after a restart, until it is entered in the ledger", async (t) => {
    const { ledger, directory, spool } = await db.open(t, { giveUpAfterMs: 0 });
    const before = await openGivenUpSettlements(db.pool).count();
    const hold = await db.held(ledger);
    const settlement = createTestSettlement(hold, db.host);
    await ledger.secure({ ...settlement, charge: pico(hold.amount + 1n) });
    await ledger.close();
    await spool.close();
    // Another gateway counts the given-up settlement, even after its request was recorded as lost when the lease
    // expired.
    const other = await db.open(t, { directory });
    assert.equal(await openGivenUpSettlements(db.pool).count(), before + 1);
    await other.ledger.expire();
    await db.pool.query("update hold set expires_at = now() - interval '1 second' where id = $1", [hold.id]);
    assert.equal(await other.ledger.expire(), 1);
    assert.equal(await openGivenUpSettlements(db.pool).count(), before + 1);
    assert.equal(await other.ledger.trySettling(settlement), "late");
    assert.equal(await openGivenUpSettlements(db.pool).count(), before);
    await openGivenUpSettlements(db.pool).prune();
    const { rowCount } = await db.pool.query("select from settlement_given_up where request_id = $1", [hold.id]);
    assert.equal(rowCount, 0);
    await db.assertLedger();
  });

  test("keeps a settlement on disk if the database refuses it, until it is recorded as given up", async (t) => {
    const { ledger, clock, directory, spool } = await db.open(t);
    const hold = await db.held(ledger);
    await ledger.secure(refusedOf(hold));
    assert.deepEqual(await onDisk(directory), [hold.id]);
    t.mock.method(spool, "giveUp", async () => {
      throw coded("ENOSPC");
    });
    await ledger.secure(createTestSettlement(await db.held(ledger), db.host));
    clock.advance(16 * 60_000);
    await eventually("nothing waits", () => {
      clock.advance(60_000);
      return ledger.unsettled().length === 0;
    });
    assert.equal(ledger.tallies.givenUp, 1);
    await spool.close();
    assert.deepEqual(await onDisk(directory), [hold.id]);

    // Another gateway opens the same spool directory.
    const other = await db.open(t, { directory });
    const giveUp = t.mock.method(other.spool, "giveUp", async () => {
      throw coded("ENOSPC");
    });
    const replay = openSpoolReplay({ ...other, log: createLog("silent"), isAlive: () => false });
    t.after(() => replay.stop());
    assert.equal(await replay.run(), false);
    await other.ledger.secure(createTestSettlement(await db.held(other.ledger), db.host));
    other.clock.advance(16 * 60_000);
    await replay.run();
    assert.ok(giveUp.mock.callCount() > 0);
    assert.deepEqual(await onDisk(directory), [hold.id]);
    giveUp.mock.restore();
    await replay.run();
    assert.deepEqual(await onDisk(directory), [], "written down");
    await other.ledger.void(hold.id);
    await db.assertLedger();
  });
});
