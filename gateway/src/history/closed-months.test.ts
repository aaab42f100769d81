/**
 * After a month is closed (its request records are dropped), the ledger check still proves its sums, and lists of requests
 * end where the closed month ends.
 */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { timeoutFreeClock } from "../base/testing.ts";
import { DAY_MS, HOUR_MS } from "../base/time.ts";
import type { TestDatabase } from "../db/testing.ts";
import { checkLedger } from "../ledger/check.ts";
import { openLedger } from "../ledger/ledger.ts";
import { openSpool } from "../ledger/spool.ts";
import { openAccountStatement } from "../ledger/statement.ts";
import { createSpoolDirectory, createTestSettlement, newId, TEST_CHARGE } from "../ledger/testing.ts";
import type { RetentionResult } from "./history-retention.ts";
import { openRequestHistory } from "./request-history.ts";
import { formatMonth, monthsAgo } from "./testing-past-months.ts";
import { countDaysOfLastMonths, openRetentionRig, PAST_MONTHS, type RetentionRig } from "./testing-retention.ts";

let rig: RetentionRig;
beforeEach(async () => {
  rig = await openRetentionRig();
});
afterEach(() => rig.close());

describe("closed months", () => {
  test("are checked forever: the ledger check finds a changed or missing closing entry or rollup", async () => {
    await rig.openPast();
    await rig.retentionOf({ historyDays: countDaysOfLastMonths(2) }).retain();
    assert.deepEqual(await rig.differing(), []);
    const [BALANCE, ZERO, ROLLUPS, DROPPED, TOGETHER] = [
      "every balance is the sum of its entries",
      "entries of every operation sum to zero",
      "every closed month matches its rollups",
      "every closed month's closing entries equal the charges and shares of its deleted records",
      "the balances of all accounts sum to zero",
    ];
    const [first, second] = [monthsAgo(PAST_MONTHS), monthsAgo(PAST_MONTHS - 1)].map((m) => `${formatMonth(m)}-01`);
    await assert.rejects(rig.db.pool.query("update ledger_closing set amount = 0"), /append only/);
    await assert.rejects(rig.db.pool.query("delete from ledger_closing"), /append only/);
    await assert.rejects(rig.db.pool.query("update history_closing set rows = 0"), /append only/);
    // Only the tables' owner can disable the triggers. After each case, the rows are restored from a copy.
    for (const table of ["ledger_closing", "history_closing"]) {
      await rig.db.pool.query(`alter table ${table} disable trigger user`);
      await rig.db.pool.query(`create table copy_of_${table} as select * from ${table}`);
    }
    const undo = async (table: string): Promise<void> => {
      await rig.db.pool.query(`delete from ${table}`);
      await rig.db.pool.query(`insert into ${table} select * from copy_of_${table}`);
      assert.deepEqual(await rig.differing(), []);
    };
    const cases: [what: string, table: string, sql: string, found: (string | undefined)[]][] = [
      [
        "an amount",
        "ledger_closing",
        `update ledger_closing set amount = amount + 1 where account_id = '${rig.builder}'`,
        [ZERO, BALANCE, ROLLUPS, DROPPED],
      ],
      [
        "two amounts that even out",
        "ledger_closing",
        `update ledger_closing set amount = amount + case kind when 'charge' then 1 else -1 end
          where account_id in ('${rig.builder}', '${rig.host}') and month = '${first}'`,
        [BALANCE, ROLLUPS, DROPPED],
      ],
      [
        "a number of requests",
        "ledger_closing",
        `update ledger_closing set requests = requests + 1 where account_id = '${rig.host}' and month = '${first}'`,
        [ROLLUPS],
      ],
      [
        "one that is missing",
        "ledger_closing",
        `delete from ledger_closing where account_id = '${rig.host}' and month = '${second}'`,
        [ZERO, BALANCE, ROLLUPS, DROPPED],
      ],
      [
        "the fee",
        "ledger_closing",
        `delete from ledger_closing where kind = 'fee' and month = '${second}'`,
        [ZERO, BALANCE, TOGETHER],
      ],
      [
        "what was dropped",
        "history_closing",
        `update history_closing set charged = charged - 1 where month = '${first}'`,
        [DROPPED],
      ],
      ["that it was dropped", "history_closing", `delete from history_closing where month = '${first}'`, [DROPPED]],
    ];
    for (const [what, table, sql, found] of cases) {
      assert.ok(((await rig.db.pool.query(sql)).rowCount ?? 0) > 0, what);
      assert.deepEqual((await rig.differing()).toSorted(), found.toSorted(), what);
      await undo(table);
    }
    // Without the month's closing entry, its rollups have no records that support them.
    await rig.db.pool.query(`delete from ledger_closing where month = '${second}'`);
    assert.ok((await rig.differing()).includes("the usage rollups are the sums of their requests"));
    await undo("ledger_closing");
    await rig.db.pool.query(
      "update usage_hour set charge_pico = charge_pico + 1 where account_id = $1 and hour = $2 and outcome = 'ok'",
      [rig.builder, monthsAgo(PAST_MONTHS)],
    );
    assert.deepEqual(await rig.differing(), [ROLLUPS]);
  });

  test("do not change during a ledger check, because the check reads one snapshot", async () => {
    await rig.openPast();
    const client = await rig.db.pool.connect();
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
    let done: RetentionResult | undefined;
    const between = async (...args: unknown[]): Promise<unknown> => {
      if (String(args[0]).startsWith("set local"))
        done = await rig.retentionOf({ historyDays: countDaysOfLastMonths(2) }).retain();
      return await query(...args);
    };
    const release = (): void => {};
    const proving = { connect: async () => Object.assign(Object.create(client), { query: between, release }) };
    const results = await checkLedger(proving as unknown as TestDatabase["pool"]);
    client.release();
    assert.deepEqual(
      results.filter(({ differences }) => differences.length > 0),
      [],
    );
    assert.deepEqual(
      done?.waiting.map(({ why }) => why),
      ["a query is still reading the month's records"],
    );
  });

  test("refuse a late settlement: the gateway gives it up and records it, and no money moves", async (t) => {
    const order = await rig.lost(new Date(monthsAgo(PAST_MONTHS).getTime() + DAY_MS));
    await rig.rollUp();
    await rig.retentionOf({ historyDays: countDaysOfLastMonths(1) }).retain();
    const directory = await createSpoolDirectory(t);
    const log = createLog("silent");
    const spool = await openSpool({ directory, gatewayId: "late", clock: timeoutFreeClock, log });
    const late = openLedger({ pool: rig.db.pool, clock: timeoutFreeClock, gatewayId: "late", spool });
    const before = await rig.db.pool.query("select id, balance from ledger_account order by id");
    assert.equal(await late.settle(createTestSettlement(order, rig.host)), "unknown");
    assert.deepEqual((await rig.db.pool.query("select id, balance from ledger_account order by id")).rows, before.rows);
    const written = await Promise.all(
      (await readdir(directory)).map((name) => readFile(join(directory, name), "utf8")),
    );
    assert.ok(
      written.some(
        (text) =>
          text.includes(order.id) && text.includes("the database has neither the request's hold nor its record"),
      ),
    );
    assert.deepEqual(await rig.differing(), []);
    await late.close();
    await spool.close();
  });

  test("keep a late charge of a gateway with a wrong clock separately, and the ledger check passes", async () => {
    await rig.openPast();
    await rig.retentionOf({ historyDays: countDaysOfLastMonths(2) }).retain();
    await rig.served({ at: new Date(monthsAgo(PAST_MONTHS).getTime() + DAY_MS) });
    await rig.lost(new Date(monthsAgo(PAST_MONTHS - 1).getTime() + DAY_MS));
    await rig.refused(new Date(monthsAgo(PAST_MONTHS - 1).getTime() + DAY_MS));
    assert.deepEqual(await rig.differing(), []);
    await rig.rollUp();
    await rig.retentionOf({ historyDays: countDaysOfLastMonths(3), refusalsDays: 1 }).retain();
    assert.deepEqual(await rig.differing(), []);
  });
});

describe("lists at the boundary of dropped months", () => {
  test("start at the oldest record, with filters and in both directions, and fill every page", async () => {
    const key = newId();
    const ids: Uuid[] = [];
    for (let ago = PAST_MONTHS; ago > 0; ago--) {
      for (let n = 0; n < 12; n++) {
        const at = new Date(monthsAgo(ago).getTime() + n * HOUR_MS);
        ids.push(await rig.served({ at, keyId: key }));
        await rig.refused(at);
      }
    }
    await rig.rollUp();
    const rules = { historyDays: countDaysOfLastMonths(2), refusalsDays: countDaysOfLastMonths(4) + 1 };
    await rig.retentionOf(rules).retain();
    const kept = ids.slice(24);
    const history = openRequestHistory({ pool: rig.db.pool });
    const page = async (more: object): Promise<string[]> =>
      (await history.list(rig.builder, { limit: 5, ...more })).map(({ id }) => id);
    assert.deepEqual(await page({ oldestFirst: true }), kept.slice(0, 5));
    for (const filter of [{ model: "tiny-3b" }, { keyIds: [key] }, { outcomes: ["ok" as const] }]) {
      const all: string[] = [];
      for (let before: string | undefined; ; before = all.at(-1)) {
        const found = await page({ ...filter, before, oldestFirst: true });
        all.push(...found);
        if (found.length < 5) break;
      }
      const refusals = all.filter((id) => !ids.includes(id as Uuid));
      assert.deepEqual(
        all.filter((id) => ids.includes(id as Uuid)),
        kept,
        JSON.stringify(filter),
      );
      assert.equal(refusals.length, "model" in filter ? 12 : 0);
    }
    const refusals = await history.list(rig.builder, { outcomes: ["rate_limit_requests"], limit: 100 });
    assert.equal(refusals.length, 12);
    assert.deepEqual(await rig.differing(), []);
  });

  test("show one statement line for a closed month, between the lines before and after that month", async () => {
    await rig.openPast();
    const statement = openAccountStatement({ pool: rig.db.pool });
    const before = await statement.lines(rig.builder, { limit: 1000 });
    await rig.retentionOf({ historyDays: countDaysOfLastMonths(2) }).retain();
    const pages: typeof before = [];
    for (let last: string | undefined; ; last = pages.at(-1)?.id) {
      const page = await statement.lines(rig.builder, { before: last, limit: 3 });
      pages.push(...page);
      if (page.length < 3) break;
    }
    const sum = (lines: typeof before): bigint => lines.reduce((total, { amount }) => total + amount, 0n);
    assert.equal(sum(pages), sum(before));
    const closings = pages.filter(({ of }) => of === "closing");
    assert.deepEqual(
      closings.map(({ at, kind, amount }) => [formatMonth(at), kind, amount]),
      // A month has eight paid requests, including one that was settled late. Two of them belong to the other builder.
      [monthsAgo(PAST_MONTHS - 1), monthsAgo(PAST_MONTHS)].map((m) => [formatMonth(m), "charge", -6n * TEST_CHARGE]),
    );
    assert.deepEqual(pages.slice(-2), closings);
    assert.deepEqual(
      pages.filter(({ of }) => of !== "closing"),
      before.slice(0, pages.length - 2),
    );
  });
});
