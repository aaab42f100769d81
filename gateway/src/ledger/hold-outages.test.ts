/** Holds while the database fails: the client gets an error in time, and no credit stays reserved. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import { UnreachableError } from "../base/dependency.ts";
import { createTestHold } from "./testing.ts";
import {
  ANSWER_MS,
  coded,
  type FailingDatabase,
  openFailingDatabase,
  passing,
  without,
} from "./testing-failing-database.ts";

describe("holds during database failures", () => {
  let db: FailingDatabase;
  before(async () => {
    db = await openFailingDatabase();
  });
  after(() => db.close());

  test("releases a hold that the database committed although the connection broke and the client got an error", async (t) => {
    const { ledger, clock, trouble, done } = await db.open(t);
    trouble.after = () => coded("ECONNRESET");
    const asked = ledger.hold(createTestHold(db.builder));
    await eventually("the store took it", () => done.length > 0);
    without(trouble);
    trouble.before = () => coded("ECONNREFUSED");
    clock.advance(ANSWER_MS);
    await assert.rejects(asked, { code: "ECONNRESET" });
    assert.equal((await db.pool.query("select id from hold")).rows.length, 1);
    without(trouble);
    await passing(
      "it is given back",
      clock,
      async () => (await db.pool.query("select id from hold")).rows.length === 0,
    );
    const { rows } = await db.pool.query("select id from request where outcome = 'gateway_lost'");
    assert.deepEqual(rows, [], "and not recorded as lost");
  });

  test("refuses a hold after the database hung for 2 s, and releases it if the database accepted it", async (t) => {
    const { ledger, clock, trouble, asked, done } = await db.open(t);
    const hanging = Promise.withResolvers<void>();
    trouble.hangs = hanging.promise;
    const hold = ledger.hold(createTestHold(db.builder));
    const refused = assert.rejects(hold, UnreachableError);
    await eventually("the database is asked", () => asked.includes("ledger_hold_one"));
    clock.advance(ANSWER_MS);
    await refused;
    without(trouble);
    hanging.resolve();
    await eventually("it was taken and given back", () => done.includes("ledger_void"));
    assert.deepEqual(done, ["ledger_hold_one", "ledger_void"]);
    assert.equal((await ledger.balance(db.builder))?.held, 0n);
    await db.assertLedger();
  });

  test("reads the credit again one second after a slow hold started, not one second after its response", async (t) => {
    const { ledger, clock, trouble, asked } = await db.open(t);
    const hanging = Promise.withResolvers<void>();
    trouble.hangs = hanging.promise;
    const hold = createTestHold(db.builder);
    const holding = ledger.hold(hold);
    await eventually("the database is asked", () => asked.includes("ledger_hold_one"));
    clock.advance(600);
    without(trouble);
    hanging.resolve();
    assert.deepEqual(await holding, { kind: "held" });
    clock.advance(399);
    assert.equal(await ledger.hasCredit(db.builder), true);
    assert.ok(!asked.includes("ledger_credit"));
    clock.advance(1);
    assert.equal(await ledger.hasCredit(db.builder), true);
    assert.ok(asked.includes("ledger_credit"), "what the hold found is a second old");
    await ledger.void(hold.id);
  });

  test("refuses holds immediately while the database is unreachable", async (t) => {
    const { ledger, trouble } = await db.open(t);
    let queries = 0;
    trouble.before = () => {
      queries += 1;
      return new UnreachableError("database", "no answer");
    };
    await assert.rejects(ledger.hold(createTestHold(db.builder)), UnreachableError);
    assert.equal(queries, 1);
  });

  test("while the database is unreachable, refuses the client without waiting for the hold's release", async (t) => {
    const { ledger, clock, trouble } = await db.open(t);
    const hold = await db.held(ledger);
    trouble.before = () => coded("ECONNREFUSED");
    const voided = ledger.void(hold.id);
    clock.advance(ANSWER_MS);
    await voided;
    without(trouble);
    await passing("it is given back", clock, async () => (await ledger.holds(db.builder)) === 0);
  });
});
