/** Old request records are dropped by month and refusals by day, and sums, balances and the ledger check stay. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { DAY_MS } from "../base/time.ts";
import { createTestHold, createTestSettlement } from "../ledger/testing.ts";
import type { RetentionRules } from "./history-retention.ts";
import { openRequestHistory } from "./request-history.ts";
import { formatMonth, makeIdAt, monthsAgo } from "./testing-past-months.ts";
import { countDaysOfLastMonths, openRetentionRig, PAST_MONTHS, type RetentionRig } from "./testing-retention.ts";

let rig: RetentionRig;
beforeEach(async () => {
  rig = await openRetentionRig();
});
afterEach(() => rig.close());

describe("months of request records that reached their maximum age", () => {
  test("are dropped one by one; sums, balances, statements and the ledger check stay correct", async () => {
    await rig.openPast();
    assert.deepEqual(await rig.differing(), []);
    const before = await rig.told();
    const all = await rig.partitions();
    for (let months = 1; months <= 3; months++) {
      const done = await rig.retentionOf({ historyDays: countDaysOfLastMonths(months) }).retain();
      assert.deepEqual(
        done?.closed.map(({ month, rows }) => [month, Number(rows)]),
        [[all[months - 1], 13]],
      );
      assert.deepEqual(await rig.differing(), []);
      assert.deepEqual(await rig.partitions(), all.slice(months));
      assert.deepEqual(await rig.told(), before);
    }
    const again = await rig.retentionOf({ historyDays: countDaysOfLastMonths(3) }).retain();
    assert.deepEqual(again, { refusals: 0n, closed: [], waiting: [] });
    const closed = await rig.retentionOf().closed();
    assert.deepEqual(
      closed.map(({ month, export: file }) => [month, file]),
      all.slice(0, 3).map((month) => [month, null]),
    );
    const { rows } = await rig.db.pool.query("select min(created_at) as oldest from request");
    assert.deepEqual(rows[0].oldest, monthsAgo(2));
    assert.deepEqual(await openRequestHistory({ pool: rig.db.pool }).keptFrom(), monthsAgo(2));
  });

  test("are dropped in one run, and none is dropped if no maximum age is configured", async () => {
    await rig.openPast();
    const all = await rig.partitions();
    assert.deepEqual(await rig.retentionOf().retain(), { refusals: 0n, closed: [], waiting: [] });
    assert.deepEqual(await rig.partitions(), all);
    const done = await rig.retentionOf({ historyDays: countDaysOfLastMonths(4) }).retain();
    assert.deepEqual(
      done?.closed.map(({ month }) => month),
      all.slice(0, 4),
    );
    assert.deepEqual(await rig.differing(), []);
  });

  test("are dropped only once their last day is old enough", async () => {
    const days = countDaysOfLastMonths(1);
    assert.deepEqual(
      (await rig.retentionOf({ historyDays: days + 1 }).kept()).map(({ isDue }) => isDue).includes(true),
      false,
    );
    assert.deepEqual((await rig.retentionOf({ historyDays: days }).kept()).map(({ isDue }) => isDue).indexOf(false), 1);
  });

  test("are dropped once when two gateways try concurrently", async () => {
    await rig.openPast();
    const rules = { historyDays: countDaysOfLastMonths(3) };
    const [mine, theirs] = await Promise.all([rig.retentionOf(rules).retain(), rig.retentionOf(rules).retain()]);
    const closed = [mine, theirs].flatMap((done) => done?.closed ?? []).map(({ month }) => month);
    assert.deepEqual(
      closed.toSorted(),
      (await rig.retentionOf().closed()).map(({ month }) => month),
    );
    assert.equal(closed.length, 3);
    assert.deepEqual(await rig.differing(), []);
  });

  test("are dropped once by concurrent calls of the SQL function", async () => {
    await rig.openPast();
    const month = monthsAgo(PAST_MONTHS);
    const call = () =>
      rig.db.pool.query("select history_close_month($1::date, 0) as code", [`${formatMonth(month)}-01`]);
    const results = await Promise.allSettled([call(), call(), call()]);
    const codes = results.map((one) => (one.status === "fulfilled" ? one.value.rows[0].code : one.reason.code));
    assert.equal(codes.filter((code) => code === 1).length, 1);
    for (const code of codes) assert.ok([1, 2, "55P03"].includes(code), String(code));
    assert.equal((await call()).rows[0].code, 2);
    await assert.rejects(
      rig.db.pool.query("select history_close_month('2001-01-01', 0)"),
      /month 2001-01 has no records/,
    );
  });
});

describe("a month is not dropped", () => {
  const due = { historyDays: 1 };
  const waits = async (rules: Partial<RetentionRules> = {}): Promise<(string | undefined)[]> => {
    const done = await rig.retentionOf({ historyDays: countDaysOfLastMonths(1), ...rules }).retain();
    assert.deepEqual(done?.closed, []);
    return done?.waiting.map(({ why }) => why) ?? [];
  };
  const month = (): string => `${formatMonth(monthsAgo(PAST_MONTHS))}-01`;

  test("while one of its requests is in flight", async () => {
    const order = { ...createTestHold(rig.builder), id: makeIdAt(new Date(monthsAgo(PAST_MONTHS).getTime() + DAY_MS)) };
    await rig.ledger.hold(order);
    assert.deepEqual(await waits(), ["some of its requests are in flight"]);
    await assert.rejects(
      rig.db.pool.query("select history_close_month($1::date, 0)", [month()]),
      /cannot be closed: some of its requests are in flight/,
    );
    await rig.ledger.settle(createTestSettlement(order, rig.host));
    assert.deepEqual(await waits(), ["some of its requests are not in the rollups of performance and labels yet"]);
    await rig.rollUp();
    assert.equal((await rig.retentionOf({ historyDays: countDaysOfLastMonths(1) }).retain())?.closed.length, 1);
  });

  test("while its earnings are held back, while an older month is still kept, or before it has ended", async () => {
    const days = countDaysOfLastMonths(1);
    assert.deepEqual(await waits({ payoutHoldDays: days + 2 }), ["some of its earnings are still held back"]);
    const younger = `${formatMonth(monthsAgo(PAST_MONTHS - 1))}-01`;
    await assert.rejects(
      rig.db.pool.query("select history_close_month($1::date, 0)", [younger]),
      /cannot be closed: an older month is still kept/,
    );
    const current = `${formatMonth(monthsAgo(0))}-01`;
    await assert.rejects(rig.db.pool.query("select history_close_month($1::date, 0)", [current]), /it has not ended/);
    assert.equal((await rig.retentionOf(due).kept()).at(-1)?.isDue, false);
  });

  test("while a long query reads its records, and other queries are not blocked", async () => {
    await rig.openPast();
    const reader = await rig.db.pool.connect();
    await reader.query("begin");
    await reader.query("select count(*) from request");
    const before = await rig.partitions();
    assert.deepEqual(await waits(), ["a query is still reading the month's records"]);
    assert.deepEqual(await rig.partitions(), before);
    assert.deepEqual((await rig.db.pool.query("select count(*)::int as count from ledger_closing")).rows, [
      { count: 0 },
    ]);
    await reader.query("commit");
    reader.release();
    assert.equal((await rig.retentionOf({ historyDays: countDaysOfLastMonths(1) }).retain())?.closed.length, 1);
    assert.deepEqual(await rig.differing(), []);
  });

  test("when its records do not match the rollups; the error names the account", async () => {
    await rig.openPast();
    const before = await rig.partitions();
    const change = (by: number) =>
      rig.db.pool.query(
        "update usage_hour set charge_pico = charge_pico + $2 where account_id = $1 and outcome = 'ok' and hour = $3",
        [rig.builder, by, monthsAgo(PAST_MONTHS)],
      );
    await change(1);
    await assert.rejects(
      rig.retentionOf({ historyDays: countDaysOfLastMonths(1) }).retain(),
      new RegExp(`cannot be closed: its records do not match its rollups \\(account ${rig.builder}, charge: records`),
    );
    await change(-1);
    await rig.db.pool.query("update earning_hour set requests = requests + 1 where hour = $1", [
      monthsAgo(PAST_MONTHS),
    ]);
    await assert.rejects(
      rig.retentionOf({ historyDays: countDaysOfLastMonths(1) }).retain(),
      new RegExp(`account ${rig.host}, share: records`),
    );
    assert.deepEqual(await rig.partitions(), before);
  });
});

describe("records of refused requests", () => {
  test("are dropped by their own retention, while served requests, sums and checks stay", async () => {
    await rig.openPast();
    const before = await rig.told();
    const days = 40;
    const due = await rig.retentionOf({ refusalsDays: days }).refusalsDue();
    const count = async () =>
      (await rig.db.pool.query("select count(*)::int as count from request where starts_with(outcome, 'rate_limit_')"))
        .rows[0].count;
    const had = await count();
    const done = await rig.retentionOf({ refusalsDays: days }).retain();
    assert.ok(due > 0n && due < BigInt(had));
    assert.equal(done?.refusals, due);
    assert.equal(await count(), had - Number(due));
    assert.deepEqual(await rig.differing(), []);
    assert.deepEqual(await rig.told(), before);
    assert.equal((await rig.retentionOf({ refusalsDays: days }).retain())?.refusals, 0n);
    // The ledger check still compares the refusals that were not dropped with their rollup.
    await rig.db.pool.query(
      "update usage_hour set requests = requests + 1 where outcome = 'rate_limit_requests' and hour >= $1",
      [monthsAgo(0)],
    );
    assert.deepEqual(await rig.differing(), ["the usage rollups are the sums of their requests"]);
    await rig.db.pool.query(
      "update usage_hour set requests = requests - 1 where outcome = 'rate_limit_requests' and hour >= $1",
      [monthsAgo(0)],
    );
    const both = await rig.retentionOf({ refusalsDays: days, historyDays: countDaysOfLastMonths(2) }).retain();
    assert.equal(both?.closed.length, 2);
    assert.deepEqual(await rig.differing(), []);
  });

  test("are the only records that any database role can delete", async () => {
    const id = await rig.served({ at: monthsAgo(1) });
    await assert.rejects(rig.db.pool.query("delete from request where id = $1", [id]), /append only/);
  });
});
