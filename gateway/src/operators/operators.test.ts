import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { openAccounts } from "../accounts/accounts.ts";
import { systemClock } from "../base/clock.ts";
import { newIds, type Uuid } from "../base/ids.ts";
import { pico } from "../base/money.ts";
import { systemRandom } from "../base/random.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { checkBooks } from "../ledger/check.ts";
import { type Ledger, openLedger } from "../ledger/ledger.ts";
import { openAudit } from "./audit.ts";
import { openDirectory } from "./directory.ts";
import { openOverview } from "./overview.ts";
import { openPayouts } from "./payouts.ts";

const newId = newIds(systemClock, systemRandom());

describe("operators", () => {
  let db: TestDatabase;
  let ledger: Ledger;
  before(async () => {
    db = await openTestDatabase();
    ledger = openLedger({ pool: db.pool, clock: systemClock, gatewayId: "test" });
  });
  after(() => db.close());

  const open = (kind: "builder" | "host", name: string): Promise<Uuid> =>
    openAccounts({ pool: db.pool, newId }).open(kind, name);
  /** A host that has earned: a grant is the shortest way to money. */
  const earn = (accountId: Uuid, amount: bigint) =>
    ledger.transfer({ id: newId(), kind: "grant", accountId, amount: pico(amount), reason: "test" });

  test("an act is on the record before it happens, with its end, and is never rewritten", async () => {
    const audit = openAudit({ pool: db.pool, newId });
    const act = { operator: "o@example.com", action: "account.suspend", subject: "acc_1", details: { reason: "r" } };
    const during = await audit.record(act, async () => (await audit.list({ limit: 1 }))[0]?.outcome);
    assert.equal(during, null);
    await assert.rejects(
      audit.record(act, () => Promise.reject(Object.assign(new Error("no"), { code: "not_found" }))),
      /no/,
    );
    await assert.rejects(
      audit.record(act, () => Promise.reject(new Error("bug"))),
      /bug/,
    );
    assert.deepEqual(
      (await audit.list({ limit: 10 })).map(({ outcome }) => outcome),
      ["failed", "not_found", "done"],
    );
    for (const sql of [
      "update operator_action set operator = 'someone else'",
      "update operator_action set outcome = 'undone'",
      "delete from operator_action",
      "truncate operator_action",
    ]) {
      await assert.rejects(db.pool.query(sql), /never rewritten/, sql);
    }
  });

  test("accounts are found by name, owner and kind, in pages; suspension is told and undone", async () => {
    const directory = openDirectory({ pool: db.pool });
    const ada = await open("builder", "Ada's 100% under_score");
    await open("host", "Barn");
    await db.pool.query("insert into identity (id, email, name) values ($1, 'ada@example.com', 'Ada')", [newId()]);
    await db.pool.query(
      "insert into account_owner (identity_id, account_id) select id, $1 from identity where email = 'ada@example.com'",
      [ada],
    );
    const found = async (text: string) => (await directory.search({ text, limit: 10 })).map(({ id }) => id);
    assert.deepEqual(await found("ada@EXAMPLE"), [ada]);
    assert.deepEqual(await found("100% under_"), [ada]);
    assert.deepEqual(await found("100_"), [], "a wildcard is a plain character");
    assert.deepEqual((await directory.search({ kind: "host", text: "Barn", limit: 10 })).length, 1);
    assert.deepEqual((await directory.find(ada))?.owners, ["ada@example.com"]);
    assert.equal(await directory.setSuspended(ada, true), true);
    const since = (await directory.find(ada))?.suspendedAt;
    assert.ok(since instanceof Date);
    await directory.setSuspended(ada, true);
    assert.deepEqual((await directory.find(ada))?.suspendedAt, since, "suspending twice changes nothing");
    await directory.setSuspended(ada, false);
    assert.equal((await directory.find(ada))?.suspendedAt, null);
    assert.equal(await directory.setSuspended(newId(), true), false);
  });

  test("payouts promise each picodollar once, and are booked whole and once", async () => {
    const payouts = openPayouts({ pool: db.pool, newId });
    const [rich, poor] = [await open("host", "rich"), await open("host", "poor")];
    await earn(rich, 5_000_000n);
    await earn(poor, 10n);
    const order = { note: "november", by: "o@example.com", minimum: pico(1_000n) };
    const made = await Promise.all([payouts.create(order), payouts.create(order), payouts.create(order)]);
    const [batch, ...others] = made.filter((one) => one !== undefined);
    assert.ok(batch !== undefined && others.length === 0, "three at once make one");
    assert.deepEqual([batch.hosts, batch.total], [1, 5_000_000n]);
    await earn(rich, 7_000n);
    const second = await payouts.create(order);
    assert.equal(second?.total, 7_000n, "only what was not promised before");
    assert.deepEqual(
      (await payouts.lines(batch.id)).map(({ accountId, amount }) => [accountId, amount]),
      [[rich, 5_000_000n]],
    );
    const marks = await Promise.all([1, 2, 3].map(() => payouts.markPaid(batch.id, "o@example.com")));
    assert.deepEqual(marks.sort(), ["paid", "repeated", "repeated"]);
    assert.equal((await ledger.balance(rich))?.balance, 7_000n);
    assert.equal(await ledger.paidOut(rich), 5_000_000n);
    assert.equal(await payouts.markPaid(newId(), "x"), "absent");
    assert.ok((await payouts.find(batch.id))?.paidAt instanceof Date);
    assert.ok((await checkBooks(db.pool)).every(({ differences }) => differences.length === 0));
  });

  test("the overview adds up", async () => {
    const overview = openOverview({ pool: db.pool });
    const before = await overview.totals();
    await earn(await open("builder", "b"), 3_000n);
    await earn(await open("host", "h"), 4_000n);
    const now = await overview.totals();
    assert.deepEqual(
      [now.builderCredit - before.builderCredit, now.hostsOwed - before.hostsOwed, now.builders - before.builders],
      [3_000n, 4_000n, 1],
    );
    assert.deepEqual(await overview.traffic({ from: new Date(0), to: new Date() }), []);
  });
});
