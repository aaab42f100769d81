/**
 * Tests that closed days (finished daily rollups) equal the sums of their hours, whatever arrives before, during or
 * after closing.
 */

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import fc from "fast-check";
import type pg from "pg";
import { systemClock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { pico } from "../base/money.ts";
import { timeoutFreeClock } from "../base/testing.ts";
import { DAY_MS } from "../base/time.ts";
import { CLOSED_DAYS_MIGRATION } from "../db/closed-days.ts";
import { migrate } from "../db/migrate.ts";
import { padVersion } from "../db/migrations.ts";
import { makeSqlDirectoryUpTo, SQL_SOURCE_DIRECTORY } from "../db/testing/sql-directory.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { checkLedger } from "../ledger/check.ts";
import { type Ledger, openLedger } from "../ledger/ledger.ts";
import { openAccountStatement } from "../ledger/statement.ts";
import { createTestHold, createTestSettlement, newId } from "../ledger/testing.ts";
import { openOverview } from "../operators/overview.ts";
import { openPlatformSpend } from "../operators/platform-spend.ts";
import { type DayClosing, startDayClosing } from "./day-closing.ts";
import { openPerformanceReader } from "./performance-reader.ts";
import { openRequestHistory } from "./request-history.ts";
import { makeIdAt, waitPastMidnight } from "./testing-past-months.ts";
import { openUsageHistory } from "./usage-history.ts";

const MODELS = ["tiny-3b", "mid-8b", "big-70b"];
/** Days ago with requests: some of these days can be closed, some cannot yet. */
const AGO = [0, 1, 2, 3, 4, 10, 95];
const log = createLog("silent");

let db: TestDatabase;
let ledger: Ledger;
let closing: DayClosing;
let host: Uuid;
let keys: Uuid[];
let builders: Uuid[];

const openAccount = async (kind: "builder" | "host"): Promise<Uuid> => {
  const id = newId();
  await db.pool.query("insert into account (id, kind, name) values ($1, $2, 'an account')", [id, kind]);
  await db.pool.query("insert into ledger_account (id, kind) values ($1, $2)", [id, kind]);
  if (kind === "builder")
    await ledger.transfer({ id: newId(), kind: "grant", accountId: id, amount: pico(10n ** 12n), reason: "test" });
  return id;
};

/** Returns the same pool with queries that do not use closed days, to compare the figures of both. */
const plain = (pool: pg.Pool): pg.Pool =>
  ({
    query: (text: string, values: unknown[]) =>
      pool.query(text.replace(/to_regclass\('(closed_day|performance_day)'\) is not null/, "false"), values),
  }) as unknown as pg.Pool;

const noonAgo = (days: number, minutes = 0): Date => {
  const midnight = Math.floor(systemClock.now() / DAY_MS) * DAY_MS;
  return new Date(Math.min(systemClock.now(), midnight - days * DAY_MS + DAY_MS / 2 + minutes * 60_000));
};

interface Step {
  what: "serve" | "lose" | "lose, then settle" | "refuse" | "roll up" | "merge" | "close";
  ago: number;
  minutes: number;
  builder: number;
  model: number;
}

async function take({ what, ago, minutes, builder, model }: Step): Promise<void> {
  if (what === "close") return void (await closing.run(2));
  if (what === "roll up") return void (await db.pool.query("select history_roll_up(1000)"));
  // Merges only some of the waiting parts of the rollup.
  if (what === "merge") return void (await db.pool.query("select history_merge_performance($1)", [minutes]));
  const account = builders[builder] as Uuid;
  const id = makeIdAt(noonAgo(ago, minutes));
  const key = keys[builder] as Uuid;
  if (what === "refuse") {
    await db.pool.query(
      `select history_refuse(array[$1]::uuid[], array[$2]::uuid[], array[$3]::uuid[], '{k}', '{chat}', array[$4], '{false}',
                             '{rate_limit_requests}', '{429}', '{c}')`,
      [id, account, key, MODELS[model]],
    );
    return;
  }
  const label = minutes % 2 === 0 ? null : `team ${model}`;
  const hold = { ...createTestHold(account), id, keyId: key, model: MODELS[model] as string, label };
  assert.deepEqual(await ledger.hold(hold), { kind: "held" });
  const settlement = {
    ...createTestSettlement(hold, host),
    ttftMs: 20 * (minutes + 1),
    durationMs: 30 * (minutes + 1),
  };
  if (what === "serve") return void assert.equal(await ledger.settle(settlement), "settled");
  await db.pool.query("update hold set expires_at = now() - interval '1 second' where id = $1", [id]);
  assert.equal(await ledger.expire(), 1);
  if (what === "lose, then settle") assert.equal(await ledger.settle(settlement), "late");
}

/** The results of every query over closed days, for spans of whole and partial days. */
async function told(pool: pg.Pool) {
  const now = systemClock.now();
  const all = { from: new Date(now - 200 * DAY_MS), to: new Date(now + DAY_MS) };
  const some = { from: noonAgo(10, -7), to: noonAgo(2, 31) };
  const performance = openPerformanceReader({ pool });
  const answers: unknown[] = [
    await openRequestHistory({ pool }).total(builders[0] as Uuid, { models: [MODELS[0] as string] }, now),
  ];
  for (const span of [all, some]) {
    answers.push(await openPlatformSpend({ pool }).models(span), await openPlatformSpend({ pool }).accounts(span, 10));
    answers.push(await openOverview({ pool }).traffic(span));
    for (const builder of builders) {
      for (const by of ["key", "model", "outcome", "day", "hour"] as const)
        answers.push(await openUsageHistory({ pool }).sums(builder, { by, split: "model", ...span }));
      answers.push(await openUsageHistory({ pool }).byLabel(builder, span));
    }
  }
  for (const builder of builders) {
    answers.push(await openRequestHistory({ pool }).total(builder, {}, now));
    const statement = openAccountStatement({ pool });
    const page = await statement.byDay(builder, { before: undefined, limit: 3 });
    answers.push(await statement.byDay(builder), page);
    answers.push(await statement.byDay(builder, { before: page.at(-1)?.place, limit: 3 }));
    for (const grain of ["hour", "day"] as const) {
      const unit = grain === "hour" ? 3_600_000 : DAY_MS;
      const from = new Date(Math.floor(some.from.getTime() / unit) * unit);
      const query = {
        scope: "account" as const,
        subjects: [builder],
        grain,
        from,
        to: new Date(now + unit - (now % unit)),
      };
      answers.push(await performance.each(query, { total: [], rows: ["key"], points: ["slot"], models: ["model"] }));
      const keyIds = [keys[0] as Uuid];
      answers.push(await performance.each({ ...query, keyIds }, { rows: ["model"], points: ["slot"] }));
      answers.push(await performance.each({ ...query, model: MODELS[0] }, { total: [], points: ["slot"] }));
      answers.push(await performance.sums({ ...query, by: ["slot", "model"], percentilesOf: ["ttft"] }));
    }
  }
  return answers;
}

const differences = async () => (await checkLedger(db.pool)).filter(({ differences }) => differences.length > 0);
const differing = async (): Promise<string[]> => (await differences()).map(({ name }) => name);

const closedDays = async (what = "usage"): Promise<string[]> => {
  const text = `select day from closed_day c where what = $1
    and not exists (select from late_day l where l.what = c.what and l.day = c.day) order by day`;
  return (await db.pool.query(text, [what])).rows.map(({ day }) => day);
};

const dayOf = (at: Date): string => at.toISOString().slice(0, 10);

describe("closed days (finished daily rollups)", () => {
  before(async () => {
    db = await openTestDatabase();
    ledger = openLedger({ pool: db.pool, clock: timeoutFreeClock, gatewayId: "test", holdLeaseMs: 60 * 60 * 1000 });
    await ledger.expire();
    for (const model of MODELS) await db.pool.query("insert into price values (1, $1, 20000, 40000)", [model]);
  });
  after(() => db.close());
  beforeEach(async () => {
    await waitPastMidnight();
    closing = startDayClosing({ pool: db.pool, clock: timeoutFreeClock, log });
    await closing.run();
    host = await openAccount("host");
    builders = [await openAccount("builder"), await openAccount("builder")];
    keys = [newId(), newId()];
  });

  test("equal the sums of their hours after any order of events, and the ledger check includes them", async () => {
    const what = fc.constantFrom<Step["what"][]>(
      "serve",
      "serve",
      "lose",
      "lose, then settle",
      "refuse",
      "roll up",
      "merge",
      "close",
    );
    const step = fc.record({
      what,
      ago: fc.constantFrom(...AGO),
      minutes: fc.nat(120),
      builder: fc.nat(1),
      model: fc.nat(MODELS.length - 1),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), async (steps) => {
        for (const [i, each] of steps.entries()) {
          await take(each);
          if (i % 4 === 0) assert.deepEqual(await told(db.pool), await told(plain(db.pool)));
        }
        await closing.run();
        assert.deepEqual(await told(db.pool), await told(plain(db.pool)));
        assert.deepEqual(await differing(), []);
      }),
      { numRuns: 4, endOnFailure: true },
    );
    const days = await closedDays();
    assert.ok(days.includes(dayOf(noonAgo(10))) && days.includes(dayOf(noonAgo(95))));
    assert.ok(!days.includes(dayOf(noonAgo(1))) && !days.includes(dayOf(noonAgo(0))));
  });

  test("reopen as soon as a late record is visible; closing does not wait for other transactions", async () => {
    const serve: Step = { what: "serve", ago: 10, minutes: 1, builder: 0, model: 0 };
    await take(serve);
    await closing.run();
    const day = dayOf(noonAgo(10));
    assert.ok((await closedDays()).includes(day));
    const client = await db.pool.connect();
    try {
      await client.query("begin");
      await client.query("update usage_hour set requests = requests + 1 where account_id = $1", [builders[0]]);
      // Two more changes: a request before the day is closed again, and the closing itself.
      await take({ ...serve, minutes: 90 });
      assert.ok(!(await closedDays()).includes(day));
      await closing.run();
      assert.ok((await closedDays()).includes(day));
      await client.query("commit");
    } finally {
      client.release();
    }
    assert.ok(!(await closedDays()).includes(day));
    assert.deepEqual(await told(db.pool), await told(plain(db.pool)));
    await closing.run();
    assert.ok((await closedDays()).includes(day));
    assert.deepEqual(await told(db.pool), await told(plain(db.pool)));
    await db.pool.query("update usage_hour set requests = requests - 1 where account_id = $1 and hour = $2", [
      builders[0],
      new Date(Math.floor(noonAgo(10, 1).getTime() / 3_600_000) * 3_600_000),
    ]);
  });

  test("reopen as soon as a late rollup is committed, and include it when they are closed again", async () => {
    const serve: Step = { what: "serve", ago: 10, minutes: 1, builder: 0, model: 0 };
    const rollUp: Step = { ...serve, what: "roll up" };
    await take(serve);
    await take(rollUp);
    await closing.run();
    const day = dayOf(noonAgo(10));
    assert.ok((await closedDays("performance")).includes(day));
    await take({ ...serve, minutes: 2 });
    const client = await db.pool.connect();
    try {
      await client.query("begin");
      await client.query("select history_roll_up(1000)");
      await closing.run();
      assert.ok((await closedDays("performance")).includes(day));
      await client.query("commit");
    } finally {
      client.release();
    }
    assert.ok(!(await closedDays("performance")).includes(day));
    assert.deepEqual(await told(db.pool), await told(plain(db.pool)));
    await closing.run();
    assert.ok((await closedDays("performance")).includes(day));
    assert.deepEqual(await told(db.pool), await told(plain(db.pool)));
    assert.deepEqual(await differing(), []);
  });

  test("are only days that ended at least 24 hours ago", async () => {
    for (const ago of [4, 1, 0]) await take({ what: "lose", ago, minutes: 1, builder: 0, model: 0 });
    const { rows } = await db.pool.query("select history_day_to_close('usage') as day");
    assert.equal(rows[0].day, dayOf(noonAgo(4)));
    await closing.run();
    assert.ok((await closedDays()).every((day) => day < dayOf(noonAgo(1))));
  });

  for (const [table, text] of [
    ["usage_day", "update usage_day set charge_pico = charge_pico + $1::int where account_id = $2"],
    ["usage_day_account", "update usage_day_account set requests = requests + $1::int where account_id = $2"],
    ["usage_hour_all", "update usage_hour_all set prompt_tokens = prompt_tokens + $1::int where $2::uuid is not null"],
  ] as const) {
    test(`${table}: the ledger check finds a manually changed figure`, async () => {
      await take({ what: "serve", ago: 3, minutes: 1, builder: 0, model: 0 });
      await closing.run();
      assert.deepEqual(await differing(), []);
      await db.pool.query(text, [1, builders[0]]);
      assert.deepEqual(await differing(), [`each total in ${table} equals the sum of its hourly rollups`]);
      await db.pool.query(text, [-1, builders[0]]);
      assert.deepEqual(await differing(), []);
    });
  }

  const HISTOGRAM = "array[(5::bigint << 40) | 1 + greatest($1::int, 0)]";
  for (const [table, name, text] of [
    [
      "label_day",
      "the daily rollups by request label are the sums of their requests",
      "update label_day set charge_pico = charge_pico + $1::int where account_id = $2",
    ],
    [
      "performance",
      "the performance rollups are the sums of their requests",
      "update performance set completion_tokens = completion_tokens + $1::int where subject = $2 and grain = 'day'",
    ],
    [
      "performance, a histogram",
      "the performance rollups are the sums of their requests",
      `update performance set ttft = case when $1::int > 0 then ttft || ${HISTOGRAM} else ttft[:cardinality(ttft) - 1] end where subject = $2`,
    ],
    [
      "performance_all",
      "the totals in performance_all equal the rollups that they summarize",
      "update performance_all set busy_ms = busy_ms + $1::int where subject = $2",
    ],
    [
      "performance_day",
      "the totals in performance_day equal the rollups that they summarize",
      `update performance_day set duration = case when $1::int > 0 then duration || '\\x000000000001'
         else substring(duration for length(duration) - 6) end where subject = $2`,
    ],
  ] as const) {
    test(`include ${table}: the ledger check finds a changed figure and names the day`, async () => {
      await take({ what: "serve", ago: 3, minutes: 1, builder: 0, model: 0 });
      await take({ what: "roll up", ago: 0, minutes: 0, builder: 0, model: 0 });
      await take({ what: "merge", ago: 0, minutes: 1000, builder: 0, model: 0 });
      await closing.run();
      assert.deepEqual(await differences(), []);
      await db.pool.query(text, [1, builders[0]]);
      const found = await differences();
      assert.deepEqual(
        found.map((one) => one.name),
        [name],
      );
      for (const line of found[0]?.differences ?? []) assert.ok(line.startsWith(dayOf(noonAgo(3))), line);
      await db.pool.query(text, [-1, builders[0]]);
      await closing.run();
      assert.deepEqual(await differences(), []);
    });
  }

  test("have all their rows: the ledger check finds a deleted row, and closing the day again restores it", async () => {
    await take({ what: "serve", ago: 3, minutes: 1, builder: 0, model: 0 });
    await closing.run();
    await db.pool.query("delete from usage_day where account_id = $1", [builders[0]]);
    assert.deepEqual(await differing(), ["each total in usage_day equals the sum of its hourly rollups"]);
    await take({ what: "serve", ago: 3, minutes: 2, builder: 0, model: 0 });
    await closing.run();
    assert.deepEqual(await differing(), []);
  });

  test("include label and performance rollups: the ledger check finds deleted rows, and ignores requests not rolled up yet", async () => {
    await take({ what: "serve", ago: 3, minutes: 1, builder: 0, model: 0 });
    assert.deepEqual(await differing(), [], "waits");
    await take({ what: "roll up", ago: 0, minutes: 0, builder: 0, model: 0 });
    await take({ what: "merge", ago: 0, minutes: 1000, builder: 0, model: 0 });
    await closing.run();
    await db.pool.query("delete from label_day where account_id = $1", [builders[0]]);
    await db.pool.query("delete from performance where subject = $1 and grain = 'hour'", [builders[0]]);
    assert.deepEqual((await differing()).slice(0, 2), [
      "the daily rollups by request label are the sums of their requests",
      "the performance rollups are the sums of their requests",
    ]);
  });
});

test("migrating from the previous schema changes no figure, neither before nor after days are closed", async (t) => {
  await waitPastMidnight();
  db = await openTestDatabase({ sql: await makeSqlDirectoryUpTo(t, padVersion(CLOSED_DAYS_MIGRATION - 1)) });
  t.after(db.close);
  const { pool } = db;
  builders = [newId(), newId()];
  keys = [newId()];
  await pool.query(
    `with opened as (insert into account (id, kind, name) select a, 'builder', 'A' from unnest($1::uuid[]) a returning id)
     insert into ledger_account (id, kind) select id, 'builder' from opened`,
    [builders],
  );
  await pool.query(
    `insert into usage_hour (account_id, hour, key_id, model, outcome, requests, prompt_tokens, completion_tokens, charge_pico)
     select a, date_trunc('hour', now()) - make_interval(hours => 5 * i), a, 'tiny-3b', 'ok', i, 2 * i, 3 * i, 4 * i
       from unnest($1::uuid[]) a, generate_series(0, 40) i`,
    [builders],
  );
  const was = await told(pool);
  await migrate(pool, { directory: SQL_SOURCE_DIRECTORY, log });
  assert.deepEqual(await told(pool), was);
  closing = startDayClosing({ pool, clock: timeoutFreeClock, log });
  for (let days = 1; days <= 3; days++) {
    assert.equal(await closing.run(1), 1);
    assert.equal((await closedDays()).length, days);
    assert.deepEqual(await told(pool), was);
  }
  await closing.run();
  assert.equal(await closing.run(), 0);
  assert.deepEqual(await told(pool), was);
});

test("migrating from schema 0036 repeats the daily rollup of days without sums per model, and changes no figure", async (t) => {
  await waitPastMidnight();
  db = await openTestDatabase({ sql: await makeSqlDirectoryUpTo(t, "0036") });
  t.after(db.close);
  const { pool } = db;
  [builders, keys] = [[newId(), newId()], [newId()]];
  await pool.query(
    `insert into performance (scope, subject, grain, slot, key_id, model, requests, ok, closed, failed, prompt_tokens, completion_tokens,
                              flow_tokens, flow_ms, busy_ms, ttft, duration)
     select 'account', a, g, date_bin(('1 ' || g)::interval, now() - i * interval '1 day', '2000-01-01Z'), k, 'tiny-3b', 3, 2, 0, 1, 1, 1, 1, 1, 1,
            array[(5::bigint << 40) | 1, (900::bigint << 40) | i], array[(7::bigint << 40) | (i + 1)]
       from unnest($1::uuid[]) a, unnest(array['hour', 'day']) g, unnest(array['00000000-0000-0000-0000-000000000000', $2::uuid]) k,
            generate_series(1, 12) i`,
    [builders, keys[0]],
  );
  // Closes days like the previous version, without sums of single models.
  await pool.query(
    "insert into closed_day select what, current_date - i from unnest(array['usage', 'performance']) what, generate_series(3, 12) i",
  );
  await pool.query("delete from closed_day where what = 'performance' and day < current_date - 8");
  const was = await told(plain(pool));
  await migrate(pool, { directory: SQL_SOURCE_DIRECTORY, log });
  assert.deepEqual([(await closedDays()).length, (await closedDays("performance")).length], [10, 0]);
  assert.deepEqual(await told(pool), was);
  closing = startDayClosing({ pool, clock: timeoutFreeClock, log });
  while ((await closing.run(1)) > 0) assert.deepEqual(await told(pool), was);
  assert.ok((await closedDays("performance")).length >= 9);
  const { rows } = await pool.query("select count(*)::int as rows from performance_day");
  assert.ok(rows[0].rows >= 9 * 4);
});
