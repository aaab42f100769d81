import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { openAccounts } from "../accounts/accounts.ts";
import { systemClock } from "../base/clock.ts";
import { newIds, type Uuid } from "../base/ids.ts";
import { pico } from "../base/money.ts";
import { systemRandom } from "../base/random.ts";
import { timeoutFreeClock } from "../base/testing.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { openFleet } from "../fleet/fleet.ts";
import { checkLedger } from "../ledger/check.ts";
import { openHostMoneyReader } from "../ledger/host-money.ts";
import { type Ledger, openLedger } from "../ledger/ledger.ts";
import { openAccountDirectory } from "./account-directory.ts";
import { openAudit } from "./audit.ts";
import { BALANCE_MAX, GRANT_MAX, grantCredit } from "./credit-grants.ts";
import { openOverview } from "./overview.ts";
import { openPayoutBatches } from "./payouts.ts";

const newId = newIds(systemClock, systemRandom());

describe("operators", () => {
  let db: TestDatabase;
  let ledger: Ledger;
  before(async () => {
    db = await openTestDatabase();
    ledger = openLedger({ pool: db.pool, clock: timeoutFreeClock, gatewayId: "test" });
  });
  after(() => db.close());

  const open = (kind: "builder" | "host", name: string): Promise<Uuid> =>
    openAccounts({ pool: db.pool, newId }).open(kind, name);
  /** Increases a host's balance by a grant. */
  const earn = (accountId: Uuid, amount: bigint) =>
    ledger.transfer({ id: newId(), kind: "grant", accountId, amount: pico(amount), reason: "test" });

  test("record actions before they run, complete them with their outcome, and never change records", async () => {
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
      await assert.rejects(db.pool.query(sql), /append only/, sql);
    }
  });

  test("search accounts by name, people and kind, in pages, and see suspensions", async () => {
    const directory = openAccountDirectory({ pool: db.pool });
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
    await db.pool.query(
      `with grace as (insert into identity (id, email, name) values ($1, 'grace@example.com', 'Grace') returning id)
       insert into account_member (account_id, identity_id, role) select $2, id, 'viewer' from grace`,
      [newId(), ada],
    );
    assert.deepEqual(await found("grace@"), [ada]);
    assert.deepEqual((await directory.find(ada))?.members, [{ email: "grace@example.com", role: "viewer" }]);
    assert.equal(await directory.setSuspended(ada, true), true);
    const since = (await directory.find(ada))?.suspendedAt;
    assert.ok(since instanceof Date);
    await directory.setSuspended(ada, true);
    assert.deepEqual((await directory.find(ada))?.suspendedAt, since, "suspending twice changes nothing");
    await directory.setSuspended(ada, false);
    assert.equal((await directory.find(ada))?.suspendedAt, null);
    assert.equal(await directory.setSuspended(newId(), true), false);
  });

  test("search nodes by name, host and standing, newest first, with host names and reasons", async () => {
    const { nodes } = openAccountDirectory({ pool: db.pool });
    const fleet = openFleet({ pool: db.pool, newId });
    const [barn, mill] = [await open("host", "The barn"), await open("host", "The mill")];
    const register = async (host: Uuid, name: string) =>
      (await fleet.register(host, { name, hardware: { cpus: 2 }, agent: "a" })).id;
    const first = await register(barn, "stall_1");
    const second = await register(mill, "stall_2");
    const third = await register(barn, "hayloft");
    await fleet.elect(null, first, ["tiny-3b"]);
    await fleet.quarantine(first, { reason: "smoke", evidence: { seen: 1 }, by: "o@example.com" });
    const found = async (search: Omit<Parameters<typeof nodes.search>[0], "limit">) =>
      (await nodes.search({ ...search, limit: 10 })).map(({ id }) => id);
    assert.deepEqual(await found({}), [third, second, first]);
    assert.deepEqual(await found({ before: second }), [first]);
    assert.deepEqual(await found({ text: "STALL_" }), [second, first]);
    assert.deepEqual(await found({ text: "stal__1" }), [], "a wildcard is a plain character");
    assert.deepEqual(await found({ host: barn, text: "stall" }), [first]);
    assert.deepEqual(await found({ standing: "quarantined" }), [first]);
    const entry = await nodes.find(first);
    assert.deepEqual({ ...entry, hostName: undefined }, { ...(await fleet.find(null, first)), hostName: undefined });
    assert.equal(entry?.hostName, "The barn");
    assert.deepEqual((await nodes.search({ text: "hayloft", limit: 1 }))[0]?.quarantine, null);
    assert.equal(await nodes.find(newId()), undefined);
  });

  test("cannot grant more than an account's maximum balance, even concurrently", async () => {
    const accountId = await open("builder", "rich");
    const grant = (amount: bigint) =>
      grantCredit(ledger, { id: newId(), accountId, amount: pico(amount), reason: "a test" });
    const outcomes = await Promise.all(Array.from({ length: 12 }, () => grant(GRANT_MAX)));
    assert.equal(outcomes.filter((outcome) => outcome === "granted").length, Number(BALANCE_MAX / GRANT_MAX));
    assert.equal((await ledger.balance(accountId))?.balance, BALANCE_MAX, "exactly as much as the ledger holds");
    assert.equal(await grant(1n), "balance_too_large");
    await assert.rejects(grant(GRANT_MAX + 1n), /bounded at the door/);
    assert.ok((await checkLedger(db.pool)).every(({ differences }) => differences.length === 0));
  });

  test("cannot pay a suspended host until they restore its account", async () => {
    const payouts = openPayoutBatches({ pool: db.pool, newId, holdDays: 0 });
    const { setSuspended } = openAccountDirectory({ pool: db.pool });
    const host = await open("host", "under a cloud");
    await earn(host, 3_000_000n);
    await setSuspended(host, true);
    const order = { note: "", by: "o@example.com", minimum: pico(1_000n) };
    assert.equal(await payouts.create(order), undefined);
    await setSuspended(host, false);
    const batch = await payouts.create(order);
    assert.equal(batch?.total, 3_000_000n);
    await payouts.markPaid(batch?.id as Uuid, "o@example.com");
  });

  test("pay every picodollar exactly once", async () => {
    const payouts = openPayoutBatches({ pool: db.pool, newId, holdDays: 0 });
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
      (await payouts.lines(batch.id, { limit: 10 })).map(({ accountId, amount }) => [accountId, amount]),
      [[rich, 5_000_000n]],
    );
    const marks = await Promise.all([1, 2, 3].map(() => payouts.markPaid(batch.id, "o@example.com")));
    assert.deepEqual(marks.sort(), ["paid", "repeated", "repeated"]);
    assert.equal((await ledger.balance(rich))?.balance, 7_000n);
    assert.equal((await openHostMoneyReader({ pool: db.pool, holdDays: 0 })(rich)).paidOut, 5_000_000n);
    assert.equal(await payouts.markPaid(newId(), "x"), "absent");
    assert.equal(await payouts.create({ ...order, minimum: pico(1_000_000n) }), undefined);
    assert.ok(
      (await payouts.list({ limit: 10 })).every(({ hosts }) => hosts > 0),
      "no empty batch is left",
    );
    assert.ok((await payouts.find(batch.id))?.paidAt instanceof Date);
    assert.ok((await checkLedger(db.pool)).every(({ differences }) => differences.length === 0));
  });

  test("see overview figures that add up", async () => {
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
    const fleet = openFleet({ pool: db.pool, newId });
    const suspended = await open("host", "suspended");
    await openAccountDirectory({ pool: db.pool }).setSuspended(suspended, true);
    for (const host of [await open("host", "ready"), suspended]) {
      const { id } = await fleet.register(host, { name: "one", hardware: {}, agent: "" });
      await fleet.elect(host, id, ["mid-14b", "tiny-3b"]);
    }
    assert.deepEqual(await overview.readyNodes(), [
      { model: "mid-14b", nodes: 1 },
      { model: "tiny-3b", nodes: 1 },
    ]);
  });
});
