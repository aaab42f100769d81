/** Lost changes that cannot be entered, at once or at all: they are listed, kept in the journal, and tried again. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Uuid } from "../base/ids.ts";
import { CHANGE_REENTRY_AGE_MS_MAX, pruneChangeIds } from "./lost-commit-reentry.ts";
import { newId } from "./testing.ts";
import { BUILDER, HOST, KEY, type LostChangesRig, NODE, openLostChangesRig } from "./testing-lost-changes.ts";

describe("re-entering lost changes that conflict with the database", () => {
  let rig: LostChangesRig;
  before(async () => {
    rig = await openLostChangesRig();
  });
  after(() => rig.close());

  test("skips and lists a row that was changed again after the failover", async () => {
    const one = await rig.gateway();
    await one.query("update account set name = 'lost' where id = $1", [HOST]);
    await one.query("update api_key set name = 'lost' where id = $1", [KEY]);
    await rig.now.pool.query("update account set name = 'newer' where id = $1", [HOST]);
    const { entered, notEntered } = await rig.enter([one.journal]);
    assert.deepEqual(entered, { api_key: 1 });
    assert.equal(notEntered.length, 1);
    assert.match(notEntered[0]?.reason ?? "", /account: name of .* was changed since/);
    await rig.lost.pool.query("update account set name = 'newer' where id = $1", [HOST]);
  });

  test("enters all other changes while a row is locked, and that row's change afterwards", async () => {
    const one = await rig.gateway();
    await one.query("update node set name = 'of a locked row' where id = $1", [NODE]);
    await one.query("update api_key set name = 'of a free row' where id = $1", [KEY]);
    const session = await rig.now.pool.connect();
    try {
      await session.query("begin");
      await session.query("select from node where id = $1 for update", [NODE]);
      const { entered, notEntered } = await rig.enter([one.journal]);
      assert.deepEqual(entered, { api_key: 1 });
      assert.match(notEntered[0]?.reason ?? "", /^node: .*lock.*; it is tried again$/);
      assert.equal(rig.isComplete, false);
    } finally {
      await session.query("rollback");
      session.release();
    }
    assert.deepEqual(await rig.enter([one.journal]), { entered: { node: 1 }, notEntered: [] });
    assert.equal(rig.isComplete, true);
  });

  test("lists a payment that exceeds the account's balance, and a change that is too old", async () => {
    const one = await rig.gateway();
    const poor = newId();
    for (const { pool } of [rig.lost, rig.now]) {
      await pool.query("insert into account (id, kind, name, created_at) values ($1, 'host', 'p', '2026-01-01')", [
        poor,
      ]);
      await pool.query("insert into ledger_account (id, kind) values ($1, 'host')", [poor]);
    }
    await rig.lost.pool.query("update ledger_account set balance = 5 where id = $1", [poor]);
    await one.query("select ledger_transfer($1, 'payout', $2, 5, 'p')", [newId(), poor]);
    assert.deepEqual((await rig.enter([one.journal], false)).notEntered, [], "the lost requests come first");
    assert.match(
      (await rig.enter([one.journal])).notEntered[0]?.reason ?? "",
      /transfer: the account has less than it takes/,
    );
    const late = await rig.gateway();
    await late.query("update api_key set name = 'late' where id = $1", [KEY]);
    // One millisecond more, because the database's clock has microseconds and is rounded down here.
    const [old] = (await rig.enter([late.journal], true, Date.now() + CHANGE_REENTRY_AGE_MS_MAX + 1)).notEntered;
    assert.equal(old?.reason, "older than 7 days");
  });

  test("journals both entered and waiting changes again, so that another failover cannot lose them", async () => {
    const one = await rig.gateway();
    await one.query("update node set name = 'again' where id = $1", [NODE]);
    await rig.enter([one.journal], false);
    assert.deepEqual(rig.added, one.journal);
    const waiting = await rig.gateway();
    const account = newId();
    await rig.lost.pool.query("insert into account (id, kind, name) values ($1, 'builder', 'unknown here')", [account]);
    await waiting.query("update account set name = 'renamed' where id = $1", [account]);
    assert.equal((await rig.enter([waiting.journal])).notEntered.length, 1);
    assert.deepEqual(rig.added, waiting.journal);
    await rig.lost.pool.query("delete from account where id = $1", [account]);
  });

  test("retries a failed change after another gateway has entered the row that it needs, and deletes it from the failure list", async () => {
    const [one, other] = [await rig.gateway(), await rig.gateway()];
    const account = newId();
    await one.query("insert into account (id, kind, name) values ($1, 'builder', 'x')", [account]);
    await other.query("update account set suspended_at = now() where id = $1", [account]);
    const early = await rig.enter([other.journal]);
    assert.match(early.notEntered[0]?.reason ?? "", /does not exist/);
    const epoch = newId();
    await rig.now.pool.query(
      "insert into ledger_history (epoch, system, timeline, position, reason) values ($1, '1', 2, 0, 'failover')",
      [epoch],
    );
    await rig.now.pool.query(
      "insert into history_loss (epoch, gateway, positions, entered, not_entered) values ($1, 'other', 1, '{}', $2)",
      [epoch, JSON.stringify(early.notEntered)],
    );
    assert.deepEqual((await rig.enter([one.journal])).entered, { account: 2 });
    const { rows } = await rig.now.pool.query("select not_entered from history_loss");
    assert.deepEqual(rows, [{ not_entered: [] }]);
    const suspended = await rig.now.pool.query("select from account where id = $1 and suspended_at is not null", [
      account,
    ]);
    assert.equal(suspended.rowCount, 1);
  });

  test("remembers the IDs of entered changes for 8 days", async () => {
    await rig.now.pool.query("insert into history_change (id, at) values ($1, now() - interval '9 days')", [newId()]);
    const { rows: before } = await rig.now.pool.query("select count(*)::int as ids from history_change");
    await pruneChangeIds(rig.now.pool);
    const { rows } = await rig.now.pool.query("select count(*)::int as ids from history_change");
    assert.equal(before[0].ids - rows[0].ids, 1);
  });

  test("moves money once for a payment event that the provider delivered again", async () => {
    const one = await rig.gateway();
    const event = (id: Uuid): [string, unknown[]] => [
      "insert into payment_event (id, provider_event, type, occurred_at, outcome) values ($1, 'evt_twice', 't', now(), 'applied')",
      [id],
    ];
    const moved = "select ledger_transfer($1, 'purchase', $2, 11, 'bought')";
    await one.query("begin");
    await one.query(...event(newId()));
    await one.query(moved, [newId(), BUILDER]);
    await one.query("commit");
    await rig.now.pool.query(...event(newId()));
    const { rows: before } = await rig.now.pool.query("select balance from ledger_account where id = $1", [BUILDER]);
    assert.match((await rig.enter([one.journal])).notEntered[0]?.reason ?? "", /payment_event: duplicate key/);
    const { rows } = await rig.now.pool.query("select balance from ledger_account where id = $1", [BUILDER]);
    assert.deepEqual(rows, before);
  });
});
