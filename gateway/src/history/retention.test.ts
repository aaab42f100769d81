/**
 * Tests that months of request records are dropped, exported first if configured, while the ledger check always passes.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, type TestContext, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { eventually } from "@tollgate/stage/wait.ts";
import { systemClock } from "../base/clock.ts";
import { parseId, publicId, type Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { pico } from "../base/money.ts";
import { manualClock, timeoutFreeClock } from "../base/testing.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { checkLedger } from "../ledger/check.ts";
import { type Ledger, openLedger } from "../ledger/ledger.ts";
import { openSpool } from "../ledger/spool.ts";
import { openAccountStatement } from "../ledger/statement.ts";
import { createSpoolDirectory, createTestHold, createTestSettlement, newId, TEST_CHARGE } from "../ledger/testing.ts";
import { openEarningsHistory } from "./earnings.ts";
import { openHistory } from "./history.ts";
import { exportMonth } from "./month-export.ts";
import { openRefusals } from "./refusals.ts";
import { openRetention, type RetentionResult, type RetentionRules } from "./retention.ts";
import { startRetention } from "./retention-runner.ts";
import { formatMonth, makeIdAt, makePastMonths, monthsAgo, waitPastMidnight } from "./testing.ts";
import { openUsageHistory } from "./usage.ts";

const MONTHS = 5;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let db: TestDatabase;
let ledger: Ledger;
let [builder, other, host]: [Uuid, Uuid, Uuid] = ["", "", ""] as unknown as [Uuid, Uuid, Uuid];
beforeEach(async () => {
  await waitPastMidnight();
  db = await openTestDatabase();
  // The lease of holds is too long to expire on any machine.
  ledger = openLedger({ pool: db.pool, clock: timeoutFreeClock, gatewayId: "test", holdLeaseMs: HOUR_MS });
  await ledger.expire();
  await db.pool.query("insert into price values (1, 'tiny-3b', 20000, 40000)");
  await makePastMonths(db.pool, MONTHS);
  [builder, other, host] = [await open("builder"), await open("builder"), await open("host")];
});
afterEach(async () => {
  await ledger.close();
  await db.close();
});

async function open(kind: "builder" | "host"): Promise<Uuid> {
  const id = newId();
  await db.pool.query("insert into account (id, kind, name) values ($1, $2, 'an account')", [id, kind]);
  await db.pool.query("insert into ledger_account (id, kind) values ($1, $2)", [id, kind]);
  if (kind === "builder") await move("grant", id, 50_000_000n);
  return id;
}

const move = (kind: "grant" | "dispute", accountId: Uuid, amount: bigint): Promise<unknown> =>
  ledger.transfer({ id: newId(), kind, accountId, amount: pico(amount), reason: "a test" });

interface Past {
  at: Date;
  accountId?: Uuid;
  keyId?: Uuid;
  paid?: boolean;
  label?: string;
}

/** Creates a request with a hold and a settlement. */
async function served({ at, accountId = builder, keyId = accountId, paid = true, label }: Past): Promise<Uuid> {
  const order = { ...createTestHold(accountId), id: makeIdAt(at), keyId, ...(label !== undefined && { label }) };
  assert.deepEqual(await ledger.hold(order), { kind: "held" });
  const free = { charge: pico(0n), outcome: "upstream_failed" as const, httpStatus: 502, completionTokens: 0 };
  const settlement = { ...createTestSettlement(order, paid ? host : null), ...(!paid && free) };
  assert.equal(await ledger.settle(settlement), "settled");
  return order.id;
}

/** Creates a request whose gateway died before settling it. */
async function lost(at: Date) {
  const order = { ...createTestHold(builder), id: makeIdAt(at), keyId: builder };
  assert.deepEqual(await ledger.hold(order), { kind: "held" });
  await db.pool.query("update hold set expires_at = now() - interval '1 second' where id = $1", [order.id]);
  assert.equal(await ledger.expire(), 1);
  return order;
}

const refused = (at: Date, accountId = builder): Promise<void> =>
  openRefusals({ pool: db.pool, clock: timeoutFreeClock }).record({
    id: makeIdAt(at),
    accountId,
    keyId: accountId,
    keyName: "a key",
    endpoint: "chat",
    model: "tiny-3b",
    stream: false,
    outcome: "rate_limit_requests",
    httpStatus: 429,
    client: "",
  });

/**
 * Creates requests in every month: paid, free, of two builders, refused, lost, and settled late. Then a set-off (a
 * deduction from a payout).
 */
async function openPast(): Promise<void> {
  for (let ago = MONTHS; ago >= 0; ago--) {
    const day = (n: number): Date =>
      new Date(monthsAgo(ago).getTime() + (n * DAY_MS) / (ago === 0 ? 100 : 1) + 1000 * n);
    for (let n = 0; n < 6; n++) {
      await served({ at: day(n), accountId: n % 3 === 0 ? other : builder, paid: n !== 4, label: "a label" });
    }
    await served({ at: new Date(monthsAgo(ago).getTime()), label: "=first" });
    if (ago > 0) await served({ at: new Date(monthsAgo(ago - 1).getTime() - 1), label: "last, of the month" });
    for (let n = 0; n < 3; n++) await refused(day(n));
    await lost(day(1));
    assert.equal(await ledger.settle(createTestSettlement(await lost(day(2)), host)), "late");
  }
  await rollUp();
  const identity = newId();
  await db.pool.query("insert into identity (id, email, name) values ($1, 'a@example.test', 'A')", [identity]);
  for (const account of [other, host])
    await db.pool.query("insert into account_owner values ($1, $2)", [identity, account]);
  await move("dispute", other, 50_000_000n);
  await db.pool.query("select payout_create($1, 'a batch', 'o', 1, 0)", [newId()]);
  const { rows } = await db.pool.query("select count(*)::int as count from payout_setoff");
  assert.deepEqual(rows, [{ count: 1 }]);
}

const rollUp = (): Promise<unknown> => db.pool.query("select history_roll_up(10000)");

const retentionOf = (rules: Partial<RetentionRules> = {}) =>
  openRetention({
    pool: db.pool,
    rules: { historyDays: undefined, refusalsDays: undefined, exportDir: undefined, payoutHoldDays: 0, ...rules },
    now: () => systemClock.now(),
  });

/** The retention in days that keeps all but the oldest `months` months. */
const daysFor = (months: number): number =>
  Math.floor((systemClock.now() - monthsAgo(MONTHS - months).getTime()) / DAY_MS);

async function differing(): Promise<string[]> {
  return (await checkLedger(db.pool)).filter(({ differences }) => differences.length > 0).map(({ name }) => name);
}

/**
 * Everything about the past that users see, except the request records: balances, sums and the number of requests.
 * Dropping old records must not change it.
 */
async function told() {
  const { pool } = db;
  const span = { from: monthsAgo(MONTHS + 1), to: new Date(systemClock.now() + DAY_MS) };
  const balances = await pool.query("select id, balance::text, held::text from ledger_book order by id");
  const { keptFrom, ...history } = openHistory({ pool });
  return {
    balances: balances.rows,
    byDay: await openAccountStatement({ pool }).byDay(builder),
    usage: await openUsageHistory({ pool }).sums(builder, { by: "day", ...span }),
    labels: await openUsageHistory({ pool }).byLabel(builder, span),
    earned: await openEarningsHistory({ pool }).sum(host, {}),
    total: await history.total(builder, {}, systemClock.now()),
  };
}

const partitions = async (): Promise<string[]> =>
  (await db.pool.query("select to_char(m, 'YYYY-MM') as month from history_months() m")).rows.map(({ month }) => month);

async function newFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tollgate-export-"));
  t.after(() => rm(folder, { recursive: true }));
  return folder;
}

describe("months of request records that reached their maximum age", () => {
  test("are dropped one by one; sums, balances, statements and the ledger check stay correct", async () => {
    await openPast();
    assert.deepEqual(await differing(), []);
    const before = await told();
    const all = await partitions();
    for (let months = 1; months <= 3; months++) {
      const done = await retentionOf({ historyDays: daysFor(months) }).retain();
      assert.deepEqual(
        done?.closed.map(({ month, rows }) => [month, Number(rows)]),
        [[all[months - 1], 13]],
      );
      assert.deepEqual(await differing(), []);
      assert.deepEqual(await partitions(), all.slice(months));
      assert.deepEqual(await told(), before);
    }
    const again = await retentionOf({ historyDays: daysFor(3) }).retain();
    assert.deepEqual(again, { refusals: 0n, closed: [], waiting: [] });
    const closed = await retentionOf().closed();
    assert.deepEqual(
      closed.map(({ month, export: file }) => [month, file]),
      all.slice(0, 3).map((month) => [month, null]),
    );
    const { rows } = await db.pool.query("select min(created_at) as oldest from request");
    assert.deepEqual(rows[0].oldest, monthsAgo(2));
    assert.deepEqual(await openHistory({ pool: db.pool }).keptFrom(), monthsAgo(2));
  });

  test("are dropped in one run, and none is dropped if no maximum age is configured", async () => {
    await openPast();
    const all = await partitions();
    assert.deepEqual(await retentionOf().retain(), { refusals: 0n, closed: [], waiting: [] });
    assert.deepEqual(await partitions(), all);
    const done = await retentionOf({ historyDays: daysFor(4) }).retain();
    assert.deepEqual(
      done?.closed.map(({ month }) => month),
      all.slice(0, 4),
    );
    assert.deepEqual(await differing(), []);
  });

  test("are dropped only once their last day is old enough", async () => {
    const days = daysFor(1);
    assert.deepEqual(
      (await retentionOf({ historyDays: days + 1 }).kept()).map(({ isDue }) => isDue).includes(true),
      false,
    );
    assert.deepEqual((await retentionOf({ historyDays: days }).kept()).map(({ isDue }) => isDue).indexOf(false), 1);
  });

  test("are dropped once when two gateways try concurrently", async () => {
    await openPast();
    const rules = { historyDays: daysFor(3) };
    const [mine, theirs] = await Promise.all([retentionOf(rules).retain(), retentionOf(rules).retain()]);
    const closed = [mine, theirs].flatMap((done) => done?.closed ?? []).map(({ month }) => month);
    assert.deepEqual(
      closed.toSorted(),
      (await retentionOf().closed()).map(({ month }) => month),
    );
    assert.equal(closed.length, 3);
    assert.deepEqual(await differing(), []);
  });

  test("are dropped once by concurrent calls of the SQL function", async () => {
    await openPast();
    const month = monthsAgo(MONTHS);
    const call = () => db.pool.query("select history_close_month($1::date, 0) as code", [`${formatMonth(month)}-01`]);
    const results = await Promise.allSettled([call(), call(), call()]);
    const codes = results.map((one) => (one.status === "fulfilled" ? one.value.rows[0].code : one.reason.code));
    assert.equal(codes.filter((code) => code === 1).length, 1);
    for (const code of codes) assert.ok([1, 2, "55P03"].includes(code), String(code));
    assert.equal((await call()).rows[0].code, 2);
    await assert.rejects(db.pool.query("select history_close_month('2001-01-01', 0)"), /month 2001-01 has no records/);
  });
});

describe("a month is not dropped", () => {
  const due = { historyDays: 1 };
  const waits = async (rules: Partial<RetentionRules> = {}): Promise<(string | undefined)[]> => {
    const done = await retentionOf({ historyDays: daysFor(1), ...rules }).retain();
    assert.deepEqual(done?.closed, []);
    return done?.waiting.map(({ why }) => why) ?? [];
  };
  const month = (): string => `${formatMonth(monthsAgo(MONTHS))}-01`;

  test("while one of its requests is in flight", async () => {
    const order = { ...createTestHold(builder), id: makeIdAt(new Date(monthsAgo(MONTHS).getTime() + DAY_MS)) };
    await ledger.hold(order);
    assert.deepEqual(await waits(), ["some of its requests are in flight"]);
    await assert.rejects(
      db.pool.query("select history_close_month($1::date, 0)", [month()]),
      /cannot be closed: some of its requests are in flight/,
    );
    await ledger.settle(createTestSettlement(order, host));
    assert.deepEqual(await waits(), ["some of its requests are not in the rollups of performance and labels yet"]);
    await rollUp();
    assert.equal((await retentionOf({ historyDays: daysFor(1) }).retain())?.closed.length, 1);
  });

  test("while its earnings are held back, while an older month is still kept, or before it has ended", async () => {
    const days = daysFor(1);
    assert.deepEqual(await waits({ payoutHoldDays: days + 2 }), ["some of its earnings are still held back"]);
    const younger = `${formatMonth(monthsAgo(MONTHS - 1))}-01`;
    await assert.rejects(
      db.pool.query("select history_close_month($1::date, 0)", [younger]),
      /cannot be closed: an older month is still kept/,
    );
    const current = `${formatMonth(monthsAgo(0))}-01`;
    await assert.rejects(db.pool.query("select history_close_month($1::date, 0)", [current]), /it has not ended/);
    assert.equal((await retentionOf(due).kept()).at(-1)?.isDue, false);
  });

  test("while a long query reads its records, and other queries are not blocked", async () => {
    await openPast();
    const reader = await db.pool.connect();
    await reader.query("begin");
    await reader.query("select count(*) from request");
    const before = await partitions();
    assert.deepEqual(await waits(), ["a query is still reading the month's records"]);
    assert.deepEqual(await partitions(), before);
    assert.deepEqual((await db.pool.query("select count(*)::int as count from ledger_closing")).rows, [{ count: 0 }]);
    await reader.query("commit");
    reader.release();
    assert.equal((await retentionOf({ historyDays: daysFor(1) }).retain())?.closed.length, 1);
    assert.deepEqual(await differing(), []);
  });

  test("when its records do not match the rollups; the error names the account", async () => {
    await openPast();
    const before = await partitions();
    const change = (by: number) =>
      db.pool.query(
        "update usage_hour set charge_pico = charge_pico + $2 where account_id = $1 and outcome = 'ok' and hour = $3",
        [builder, by, monthsAgo(MONTHS)],
      );
    await change(1);
    await assert.rejects(
      retentionOf({ historyDays: daysFor(1) }).retain(),
      new RegExp(`cannot be closed: its records do not match its rollups \\(account ${builder}, charge: records`),
    );
    await change(-1);
    await db.pool.query("update earning_hour set requests = requests + 1 where hour = $1", [monthsAgo(MONTHS)]);
    await assert.rejects(
      retentionOf({ historyDays: daysFor(1) }).retain(),
      new RegExp(`account ${host}, share: records`),
    );
    assert.deepEqual(await partitions(), before);
  });
});

describe("closed months", () => {
  test("are checked forever: the ledger check finds a changed or missing closing entry or rollup", async () => {
    await openPast();
    await retentionOf({ historyDays: daysFor(2) }).retain();
    assert.deepEqual(await differing(), []);
    const [BALANCE, ZERO, ROLLUPS, DROPPED, TOGETHER] = [
      "every balance is the sum of its entries",
      "entries of every operation sum to zero",
      "every closed month matches its rollups",
      "every closed month's closing entries equal the charges and shares of its deleted records",
      "the balances of all accounts sum to zero",
    ];
    const [first, second] = [monthsAgo(MONTHS), monthsAgo(MONTHS - 1)].map((m) => `${formatMonth(m)}-01`);
    await assert.rejects(db.pool.query("update ledger_closing set amount = 0"), /append only/);
    await assert.rejects(db.pool.query("delete from ledger_closing"), /append only/);
    await assert.rejects(db.pool.query("update history_closing set rows = 0"), /append only/);
    // Only the tables' owner can disable the triggers. After each case, the rows are restored from a copy.
    for (const table of ["ledger_closing", "history_closing"]) {
      await db.pool.query(`alter table ${table} disable trigger user`);
      await db.pool.query(`create table copy_of_${table} as select * from ${table}`);
    }
    const undo = async (table: string): Promise<void> => {
      await db.pool.query(`delete from ${table}`);
      await db.pool.query(`insert into ${table} select * from copy_of_${table}`);
      assert.deepEqual(await differing(), []);
    };
    const cases: [what: string, table: string, sql: string, found: (string | undefined)[]][] = [
      [
        "an amount",
        "ledger_closing",
        `update ledger_closing set amount = amount + 1 where account_id = '${builder}'`,
        [ZERO, BALANCE, ROLLUPS, DROPPED],
      ],
      [
        "two amounts that even out",
        "ledger_closing",
        `update ledger_closing set amount = amount + case kind when 'charge' then 1 else -1 end
          where account_id in ('${builder}', '${host}') and month = '${first}'`,
        [BALANCE, ROLLUPS, DROPPED],
      ],
      [
        "a number of requests",
        "ledger_closing",
        `update ledger_closing set requests = requests + 1 where account_id = '${host}' and month = '${first}'`,
        [ROLLUPS],
      ],
      [
        "one that is missing",
        "ledger_closing",
        `delete from ledger_closing where account_id = '${host}' and month = '${second}'`,
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
      assert.ok(((await db.pool.query(sql)).rowCount ?? 0) > 0, what);
      assert.deepEqual((await differing()).toSorted(), found.toSorted(), what);
      await undo(table);
    }
    // Without the month's closing entry, its rollups have no records that support them.
    await db.pool.query(`delete from ledger_closing where month = '${second}'`);
    assert.ok((await differing()).includes("the usage rollups are the sums of their requests"));
    await undo("ledger_closing");
    await db.pool.query(
      "update usage_hour set charge_pico = charge_pico + 1 where account_id = $1 and hour = $2 and outcome = 'ok'",
      [builder, monthsAgo(MONTHS)],
    );
    assert.deepEqual(await differing(), [ROLLUPS]);
  });

  test("do not change during a ledger check, because the check reads one snapshot", async () => {
    await openPast();
    const client = await db.pool.connect();
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
    let done: RetentionResult | undefined;
    const between = async (...args: unknown[]): Promise<unknown> => {
      if (String(args[0]).startsWith("set local")) done = await retentionOf({ historyDays: daysFor(2) }).retain();
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
    const order = await lost(new Date(monthsAgo(MONTHS).getTime() + DAY_MS));
    await rollUp();
    await retentionOf({ historyDays: daysFor(1) }).retain();
    const directory = await createSpoolDirectory(t);
    const log = createLog("silent");
    const spool = await openSpool({ directory, gatewayId: "late", clock: timeoutFreeClock, log });
    const late = openLedger({ pool: db.pool, clock: timeoutFreeClock, gatewayId: "late", spool });
    const before = await db.pool.query("select id, balance from ledger_account order by id");
    assert.equal(await late.settle(createTestSettlement(order, host)), "unknown");
    assert.deepEqual((await db.pool.query("select id, balance from ledger_account order by id")).rows, before.rows);
    const written = await Promise.all(
      (await readdir(directory)).map((name) => readFile(join(directory, name), "utf8")),
    );
    assert.ok(
      written.some(
        (text) =>
          text.includes(order.id) && text.includes("the database has neither the request's hold nor its record"),
      ),
    );
    assert.deepEqual(await differing(), []);
    await late.close();
    await spool.close();
  });

  test("keep a late charge of a gateway with a wrong clock separately, and the ledger check passes", async () => {
    await openPast();
    await retentionOf({ historyDays: daysFor(2) }).retain();
    await served({ at: new Date(monthsAgo(MONTHS).getTime() + DAY_MS) });
    await lost(new Date(monthsAgo(MONTHS - 1).getTime() + DAY_MS));
    await refused(new Date(monthsAgo(MONTHS - 1).getTime() + DAY_MS));
    assert.deepEqual(await differing(), []);
    await rollUp();
    await retentionOf({ historyDays: daysFor(3), refusalsDays: 1 }).retain();
    assert.deepEqual(await differing(), []);
  });
});

describe("lists at the boundary of dropped months", () => {
  test("start at the oldest record, with filters and in both directions, and fill every page", async () => {
    const key = newId();
    const ids: Uuid[] = [];
    for (let ago = MONTHS; ago > 0; ago--) {
      for (let n = 0; n < 12; n++) {
        const at = new Date(monthsAgo(ago).getTime() + n * HOUR_MS);
        ids.push(await served({ at, keyId: key }));
        await refused(at);
      }
    }
    await rollUp();
    const rules = { historyDays: daysFor(2), refusalsDays: daysFor(4) + 1 };
    await retentionOf(rules).retain();
    const kept = ids.slice(24);
    const history = openHistory({ pool: db.pool });
    const page = async (more: object): Promise<string[]> =>
      (await history.list(builder, { limit: 5, ...more })).map(({ id }) => id);
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
    const refusals = await history.list(builder, { outcomes: ["rate_limit_requests"], limit: 100 });
    assert.equal(refusals.length, 12);
    assert.deepEqual(await differing(), []);
  });

  test("show one statement line for a closed month, between the lines before and after that month", async () => {
    await openPast();
    const statement = openAccountStatement({ pool: db.pool });
    const before = await statement.lines(builder, { limit: 1000 });
    await retentionOf({ historyDays: daysFor(2) }).retain();
    const pages: typeof before = [];
    for (let last: string | undefined; ; last = pages.at(-1)?.id) {
      const page = await statement.lines(builder, { before: last, limit: 3 });
      pages.push(...page);
      if (page.length < 3) break;
    }
    const sum = (lines: typeof before): bigint => lines.reduce((total, { amount }) => total + amount, 0n);
    assert.equal(sum(pages), sum(before));
    const closings = pages.filter(({ of }) => of === "closing");
    assert.deepEqual(
      closings.map(({ at, kind, amount }) => [formatMonth(at), kind, amount]),
      // A month has eight paid requests, including one that was settled late. Two of them belong to the other builder.
      [monthsAgo(MONTHS - 1), monthsAgo(MONTHS)].map((m) => [formatMonth(m), "charge", -6n * TEST_CHARGE]),
    );
    assert.deepEqual(pages.slice(-2), closings);
    assert.deepEqual(
      pages.filter(({ of }) => of !== "closing"),
      before.slice(0, pages.length - 2),
    );
  });
});

describe("the export of a month", () => {
  const linesOf = async (folder: string, file: string): Promise<string[]> =>
    gunzipSync(await readFile(join(folder, file)))
      .toString()
      .split("\r\n")
      .slice(0, -1);

  test("contains every record exactly, and a manifest that verifies it", async (t) => {
    const exportDir = await newFolder(t);
    await openPast();
    const month = formatMonth(monthsAgo(MONTHS));
    const { rows } = await db.pool.query(`select * from request_${month.replace("-", "_")} order by id`);
    const done = await retentionOf({ historyDays: daysFor(1), exportDir }).retain();
    const file = `requests-${month}.csv.gz`;
    assert.deepEqual((await readdir(exportDir)).toSorted(), [file, `requests-${month}.json`]);
    const manifest = JSON.parse(await readFile(join(exportDir, `requests-${month}.json`), "utf8"));
    const sha256 = createHash("sha256")
      .update(await readFile(join(exportDir, file)))
      .digest("hex");
    const [closed] = done?.closed ?? [];
    assert.deepEqual([closed?.export, closed?.sha256, closed?.rows], [file, sha256, BigInt(rows.length)]);
    const sumOf = (name: string): string => String(rows.reduce((total, one) => total + one[name], 0n));
    assert.deepEqual(
      [manifest.month, manifest.file, manifest.sha256, manifest.rows, manifest.charge_pico, manifest.host_pico],
      [month, file, sha256, String(rows.length), sumOf("charge_pico"), sumOf("host_pico")],
    );
    const [header = "", ...lines] = await linesOf(exportDir, file);
    assert.deepEqual(header.split(","), manifest.columns);
    assert.equal(lines.length, rows.length);
    const cells = lines.map(
      (line) => line.match(/("([^"]|"")*"|[^,]*)(,|$)/g)?.map((cell) => cell.replace(/,$/, "")) ?? [],
    );
    const at = (name: string): number => manifest.columns.indexOf(name);
    for (const [i, record] of rows.entries()) {
      const cell = (name: string): string | undefined => cells[i]?.[at(name)];
      const text = (value: unknown): string => String(value ?? "");
      assert.equal(parseId("req", cell("id") ?? ""), record.id);
      assert.equal(cell("account_id"), publicId("acc", record.account_id));
      assert.equal(
        cell("host_account_id"),
        record.host_account_id === null ? "" : publicId("acc", record.host_account_id),
      );
      for (const name of [
        "outcome",
        "charge_pico",
        "host_pico",
        "hold_pico",
        "short_pico",
        "price_version",
        "prompt_tokens",
        "completion_tokens",
        "own",
      ]) {
        assert.equal(cell(name), text(record[name]), name);
      }
      assert.equal(cell("created_at"), record.created_at.toISOString());
    }
    const labels = cells.map((line) => line[at("label")]);
    assert.ok(labels.includes("'=first") && labels.includes('"last, of the month"'));
    assert.deepEqual(await differing(), []);
  });

  test("is repeated with equal bytes if the gateway died after completing it, and then the month is dropped", async (t) => {
    const exportDir = await newFolder(t);
    await openPast();
    const month = formatMonth(monthsAgo(MONTHS));
    const client = await db.pool.connect();
    const first = await exportMonth(client, { month, directory: exportDir, signal: new AbortController().signal });
    client.release();
    await writeFile(join(exportDir, `requests-${month}.csv.gz.partial`), "half of anoth");
    assert.equal((await partitions())[0], month);
    const done = await retentionOf({ historyDays: daysFor(1), exportDir }).retain();
    assert.deepEqual(
      done?.closed.map(({ sha256 }) => sha256),
      [first.sha256],
    );
    assert.equal((await readdir(exportDir)).length, 2);
  });

  test("is written again if the existing file contains outdated records", async (t) => {
    const exportDir = await newFolder(t);
    const at = new Date(monthsAgo(MONTHS).getTime() + DAY_MS);
    const order = await lost(at);
    const month = formatMonth(at);
    const client = await db.pool.connect();
    const exported = await exportMonth(client, { month, directory: exportDir, signal: new AbortController().signal });
    client.release();
    assert.equal(await ledger.settle(createTestSettlement(order, host)), "late");
    await rollUp();
    const close = (fingerprint: bigint) =>
      db.pool.query("select history_close_month($1::date, 0, $2, 'a', 'b')", [`${month}-01`, fingerprint.toString()]);
    await assert.rejects(close(exported.fingerprint), /its records changed since they were exported/);
    assert.equal((await retentionOf({ historyDays: daysFor(1), exportDir }).retain())?.closed.length, 1);
    const [, ...lines] = await linesOf(exportDir, exported.file);
    assert.match(lines.join(), /,ok,200,/);
  });

  test("prevents the drop of the month if it cannot be written", async (t) => {
    const folder = await newFolder(t);
    const exportDir = join(folder, "a file");
    await writeFile(exportDir, "");
    const before = await partitions();
    await assert.rejects(retentionOf({ historyDays: daysFor(1), exportDir }).retain(), /EEXIST|ENOTDIR/);
    assert.deepEqual(await partitions(), before);
    // The failed export leaves no lock behind.
    assert.equal((await retentionOf({ historyDays: daysFor(1) }).retain())?.closed.length, 1);
  });
});

describe("records of refused requests", () => {
  test("are dropped by their own retention, while served requests, sums and checks stay", async () => {
    await openPast();
    const before = await told();
    const days = 40;
    const due = await retentionOf({ refusalsDays: days }).refusalsDue();
    const count = async () =>
      (await db.pool.query("select count(*)::int as count from request where starts_with(outcome, 'rate_limit_')"))
        .rows[0].count;
    const had = await count();
    const done = await retentionOf({ refusalsDays: days }).retain();
    assert.ok(due > 0n && due < BigInt(had));
    assert.equal(done?.refusals, due);
    assert.equal(await count(), had - Number(due));
    assert.deepEqual(await differing(), []);
    assert.deepEqual(await told(), before);
    assert.equal((await retentionOf({ refusalsDays: days }).retain())?.refusals, 0n);
    // The ledger check still compares the refusals that were not dropped with their rollup.
    await db.pool.query(
      "update usage_hour set requests = requests + 1 where outcome = 'rate_limit_requests' and hour >= $1",
      [monthsAgo(0)],
    );
    assert.deepEqual(await differing(), ["the usage rollups are the sums of their requests"]);
    await db.pool.query(
      "update usage_hour set requests = requests - 1 where outcome = 'rate_limit_requests' and hour >= $1",
      [monthsAgo(0)],
    );
    const both = await retentionOf({ refusalsDays: days, historyDays: daysFor(2) }).retain();
    assert.equal(both?.closed.length, 2);
    assert.deepEqual(await differing(), []);
  });

  test("are the only records that any database role can delete", async () => {
    const id = await served({ at: monthsAgo(1) });
    await assert.rejects(db.pool.query("delete from request where id = $1", [id]), /append only/);
  });
});

describe("a gateway with retention", () => {
  test("drops months that are old enough on its own schedule, and reports the number of remaining months", async () => {
    await openPast();
    const clock = manualClock();
    const retention = retentionOf({ historyDays: daysFor(2) });
    const retaining = startRetention({ retention, pool: db.pool, clock, log: createLog("silent") });
    await eventually("it has looked", () => retaining.months());
    assert.deepEqual(retaining.months(), { kept: MONTHS + 1, due: 2 });
    clock.advance(HOUR_MS);
    await eventually("it has dropped them", () => retaining.months()?.due === 0);
    assert.deepEqual(retaining.months(), { kept: MONTHS - 1, due: 0 });
    await retaining.stop();
    assert.deepEqual(await differing(), []);
  });

  test("that stops while it drops a month's records cancels the drop, and leaves the records unchanged", async () => {
    await openPast();
    const before = await partitions();
    const reader = await db.pool.connect();
    await reader.query("begin");
    await reader.query("select count(*) from request");
    const clock = manualClock();
    const retention = retentionOf({ historyDays: daysFor(2) });
    const retaining = startRetention({
      retention,
      pool: db.pool,
      clock: { ...systemClock, every: clock.every },
      log: createLog("silent"),
    });
    await eventually("it has looked", () => retaining.months());
    clock.advance(HOUR_MS);
    await eventually("it is at it", async () => {
      const { rows } = await db.pool.query(
        `select from pg_locks where locktype = 'advisory' and granted
            and database = (select oid from pg_database where datname = current_database())`,
      );
      return rows.length > 0;
    });
    await retaining.stop();
    await reader.query("rollback");
    reader.release();
    assert.deepEqual(await partitions(), before);
    assert.deepEqual(await differing(), []);
  });
});
