import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { creationTimeMsOf, newIds, type Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { dollars } from "../base/money.ts";
import { systemRandom } from "../base/random.ts";
import { manualClock, timeoutFreeClock, waitOneTurn } from "../base/testing.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { checkLedger } from "../ledger/check.ts";
import { type Ledger, openLedger } from "../ledger/ledger.ts";
import { createTestHold, createTestSettlement, newId, TEST_CHARGE } from "../ledger/testing.ts";
import { bucketMiddleMs, findBucket } from "./duration-histogram.ts";
import { computeTimeSlots, openPerformanceReader } from "./performance-reader.ts";
import { openRollupWriter, type RollupWriter } from "./rollup-writer.ts";

test("the range 7d covers seven UTC days, like the usage sums of a week", () => {
  const { from, to } = computeTimeSlots("7d", Date.parse("2026-11-18T06:30:00Z"));
  assert.deepEqual([from.toISOString(), to.toISOString()], ["2026-11-12T00:00:00.000Z", "2026-11-18T07:00:00.000Z"]);
});

const anHourAgo = (): number => Date.now() - 3_600_000;
/** An ID in a time slot that has not begun, at any time of the test run. */
const idInFuture = (): Uuid => newIds({ ...systemClock, now: () => Date.now() + 600_000 }, systemRandom())();

describe("performance rollups", () => {
  let db: TestDatabase;
  let ledger: Ledger;
  let rollups: RollupWriter;
  before(async () => {
    db = await openTestDatabase();
    ledger = openLedger({ pool: db.pool, clock: timeoutFreeClock, gatewayId: "test", holdLeaseMs: 60 * 60 * 1000 });
    await ledger.expire();
    // The test triggers all runs itself, because a run of the timer would change the result.
    rollups = openRollupWriter({ pool: db.pool, clock: manualClock(Date.now()), log: createLog("silent") });
  });
  after(async () => {
    await rollups.stop();
    await db.close();
  });
  const openAccount = async (): Promise<Uuid> => {
    const id = newId();
    await db.pool.query("insert into ledger_account (id, kind) values ($1, 'builder')", [id]);
    await ledger.transfer({ id: newId(), kind: "grant", accountId: id, amount: dollars(1), reason: "test" });
    return id;
  };
  const of = async (account: Uuid, by: ("slot" | "key" | "model")[] = []) => {
    const slots = computeTimeSlots("1h", systemClock.now());
    return await openPerformanceReader(db).sums({ scope: "account", subjects: [account], by, ...slots });
  };

  test("use the same buckets in TypeScript and SQL, in order, with less than 1% error", async () => {
    const values = Array.from({ length: 4000 }, (_, i) => Math.floor(1.005 ** i)).filter((ms) => ms < 2 ** 31);
    const { rows } = await db.pool.query({
      text: "select histogram_bucket(ms) from unnest($1::int[]) with ordinality as v (ms, n) order by n",
      values: [values],
      rowMode: "array",
    });
    const buckets: number[] = rows.map(([bucket]) => bucket);
    assert.deepEqual(
      buckets,
      values.map((ms) => findBucket(ms)),
    );
    for (const [i, ms] of values.entries()) {
      const middle = bucketMiddleMs(buckets[i] as number);
      assert.equal(findBucket(middle), buckets[i]);
      assert.ok(Math.abs(middle - ms) <= ms / 100, `${ms} is shown as ${middle}`);
      if (ms < 128) assert.equal(middle, ms);
    }
  });

  test("count every request once, for any number of gateways and repetitions", async () => {
    const account = await openAccount();
    const [key, other] = [newId(), newId()];
    const ttfts = Array.from({ length: 100 }, (_, i) => 10 * (i + 1));
    for (const [i, ttftMs] of ttfts.entries()) {
      const hold = {
        ...createTestHold(account, 1_000_000n),
        keyId: i % 4 === 0 ? other : key,
        label: i < 30 ? "batch" : null,
      };
      await ledger.hold(hold);
      const outcome =
        i % 10 === 9 ? ("upstream_failed" as const) : i === 0 ? ("client_closed" as const) : ("ok" as const);
      await ledger.settle({ ...createTestSettlement(hold, null), outcome, ttftMs, durationMs: ttftMs + 400 });
    }
    const clock = manualClock(Date.now());
    const others = [1, 2, 3].map(() => openRollupWriter({ pool: db.pool, clock, log: createLog("silent") }));
    await Promise.all([rollups, ...others].map((each) => each.run()));
    await rollups.run();
    for (const each of others) await each.stop();

    const [all] = await of(account);
    assert.ok(all);
    assert.deepEqual([all.requests, all.ok, all.closed, all.failed], [100, 89, 1, 10]);
    assert.equal(all.errorShare, 10 / 99);
    assert.equal(all.tokensPerSecond, (89 * 4 * 1000) / (89 * 400));
    const well = ttfts.filter((_, i) => i % 10 !== 9 && i !== 0);
    const exact = (share: number): number => well[Math.ceil(well.length * share) - 1] as number;
    assert.deepEqual(
      [all.ttft.p50, all.ttft.p95, all.ttft.p99],
      [exact(0.5), exact(0.95), exact(0.99)].map((ms) => bucketMiddleMs(findBucket(ms))),
    );
    const byKey = await of(account, ["key"]);
    assert.deepEqual(
      new Map(byKey.map((sum) => [sum.key, sum.requests])),
      new Map([
        [key, 75],
        [other, 25],
      ]),
    );
    const { rows } = await db.pool.query(
      "select label, sum(requests) as requests, sum(charge_pico) as charge from label_day where account_id = $1 group by 1",
      [account],
    );
    assert.deepEqual(
      rows.map(({ label, requests, charge }) => [label, Number(requests), BigInt(charge)]),
      [["batch", 30, 30n * TEST_CHARGE]],
    );
  });

  test("count a request in the next run if it ends during a run, or if an error delayed it", async () => {
    const clock = manualClock(Date.now());
    let last: Promise<unknown> = Promise.resolve();
    const query = (text: string, values: unknown[]) => {
      last = asked(() => db.pool.query(text, values));
      return last;
    };
    let asked = (ask: () => Promise<unknown>): Promise<unknown> => ask();
    const mine = openRollupWriter({ pool: { query } as unknown as typeof db.pool, clock, log: createLog("silent") });
    const account = await openAccount();
    const settleOne = async (): Promise<void> => {
      const hold = createTestHold(account, 1_000_000n);
      await ledger.hold(hold);
      await ledger.settle(createTestSettlement(hold, null));
      mine.soon();
    };
    const counted = async (): Promise<number> => (await of(account))[0]?.requests ?? 0;
    const turn = async (): Promise<void> => {
      clock.advance(3_000);
      await last.catch(() => {});
      await new Promise((resolve) => setImmediate(resolve));
    };
    const other = await db.pool.connect();
    await other.query("begin; select from rollup_turn for update");
    await settleOne();
    await turn();
    assert.equal(await counted(), 0);
    await other.query("commit");
    other.release();
    await turn();
    assert.equal(await counted(), 1);
    asked = () => Promise.reject(new Error("the store is away"));
    await settleOne();
    await turn();
    asked = (ask) => ask();
    await turn();
    assert.equal(await counted(), 2);
    await mine.stop();
  });

  test("include a request only after its settlement", async () => {
    const clock = manualClock(Date.now());
    const turns: { found: Promise<unknown>; arrive: () => void }[] = [];
    const query = async (text: string, values: unknown[]) => {
      const found = db.pool.query(text, values);
      const { promise, resolve } = Promise.withResolvers<void>();
      turns.push({ found, arrive: resolve });
      await promise;
      return await found;
    };
    const mine = openRollupWriter({ pool: { query } as unknown as typeof db.pool, clock, log: createLog("silent") });
    const seen: Promise<number>[] = [];
    const waiting = async (): Promise<number> =>
      Number((await db.pool.query("select count(*)::int as n from unrolled")).rows[0].n);
    const telling = openLedger({
      pool: db.pool,
      clock: timeoutFreeClock,
      gatewayId: "telling",
      onEnded() {
        seen.push(waiting());
        mine.soon();
      },
    });
    await rollups.run();
    const account = await openAccount();
    const settleOne = async (): Promise<void> => {
      const hold = createTestHold(account, 1_000_000n);
      await telling.hold(hold);
      assert.equal(seen.length, 0);
      await telling.settle(createTestSettlement(hold, null));
      assert.deepEqual(await Promise.all(seen.splice(0)), [1]);
    };
    await settleOne();
    clock.advance(3_000);
    // The run has read its requests, so it does not include a request that ends from now on.
    await turns[0]?.found;
    await settleOne();
    clock.advance(3_000);
    turns[0]?.arrive();
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(3_000);
    assert.equal(turns.length, 2);
    turns[1]?.arrive();
    await mine.stop();
    assert.equal((await of(account))[0]?.requests, 2);
  });

  test("count an old request only by hour and day if no range shows five-minute slots of its age", async () => {
    const account = await openAccount();
    const hold = {
      ...createTestHold(account),
      id: newIds({ ...systemClock, now: () => Date.now() - 5 * 86_400_000 }, systemRandom())(),
    };
    await ledger.hold(hold);
    await ledger.settle(createTestSettlement(hold, null));
    await rollups.run();
    await rollups.merge();
    const { rows } = await db.pool.query("select distinct grain from performance where subject = $1 order by 1", [
      account,
    ]);
    assert.deepEqual(
      rows.map(({ grain }) => grain),
      ["day", "hour"],
    );
  });

  test("are written as additional rows and rewrite none, however much was counted before", async () => {
    const account = await openAccount();
    const rewritten: number[] = [];
    const served = async (): Promise<void> => {
      for (let i = 0; i < 3; i++) {
        const hold = { ...createTestHold(account), id: newIds({ ...systemClock, now: anHourAgo }, systemRandom())() };
        await ledger.hold(hold);
        await ledger.settle({ ...createTestSettlement(hold, null), ttftMs: 100 * i, durationMs: 200 * i });
      }
    };
    await rollups.run();
    for (let run = 0; run < 3; run++) {
      await served();
      const client = await db.pool.connect();
      try {
        await client.query("begin");
        assert.equal((await client.query("select history_roll_up(100) as rolled")).rows[0].rolled, 3);
        const text =
          "select coalesce(sum(n_tup_upd), 0)::int as n from pg_stat_xact_user_tables where starts_with(relname, 'performance')";
        rewritten.push((await client.query(text)).rows[0].n);
        await client.query("commit");
      } finally {
        client.release();
      }
    }
    assert.deepEqual(rewritten, [0, 0, 0]);
  });

  test("show the same figures before, during and after a merge, also if another gateway's merge breaks off", async () => {
    const account = await openAccount();
    const keys = [newId(), newId()];
    const serve = async (): Promise<void> => {
      for (let i = 0; i < 6; i++) {
        const hold = {
          ...createTestHold(account),
          keyId: keys[i % 2] as Uuid,
          id: newIds({ ...systemClock, now: anHourAgo }, systemRandom())(),
        };
        await ledger.hold(hold);
        await ledger.settle({ ...createTestSettlement(hold, null), ttftMs: 100 * i, durationMs: 2000 * i });
      }
      await rollups.run();
    };
    const figures = async (): Promise<unknown> => {
      const query = { scope: "account" as const, subjects: [account], from: new Date(0), to: new Date() };
      const performance = openPerformanceReader(db);
      const of = (grain: "5min" | "hour" | "day") =>
        performance.each({ ...query, grain }, { all: [], byKey: ["key"], bySlot: ["slot"] });
      return await Promise.all([of("5min"), of("hour"), of("day")]);
    };
    const parts = async (): Promise<number> =>
      Number(
        (await db.pool.query("select count(*) as n from performance_part where subject = $1", [account])).rows[0].n,
      );
    const others = [1, 2, 3].map(() =>
      openRollupWriter({ pool: db.pool, clock: manualClock(Date.now()), log: createLog("silent") }),
    );
    for (let round = 0; round < 3; round++) {
      await serve();
      await serve();
      const was = await figures();
      assert.ok((await parts()) > 0);
      // A gateway that dies during a merge.
      const dying = await db.pool.connect();
      dying.on("error", () => {});
      await dying.query("begin");
      await dying.query("select history_merge_performance(1000)");
      assert.deepEqual(await figures(), was);
      const { rows } = await dying.query("select pg_backend_pid() as pid");
      await db.pool.query("select pg_terminate_backend($1, 10000)", [rows[0].pid]);
      dying.release(true);
      assert.deepEqual(await figures(), was);
      await Promise.all([rollups.merge(), ...others.map((each) => each.merge())]);
      await rollups.merge();
      assert.equal(await parts(), 0);
      assert.deepEqual(await figures(), was);
    }
    const { rows } = await db.pool.query(
      "select grain, sum(requests)::int as requests from performance where subject = $1 and key_id = any ($2) group by 1 order by 1",
      [account, keys],
    );
    assert.deepEqual(
      rows,
      ["5min", "day", "hour"].map((grain) => ({ grain, requests: 36 })),
    );
    for (const each of others) await each.stop();
    assert.deepEqual(
      (await checkLedger(db.pool)).filter(
        ({ name, differences }) => name.includes("rollups") && differences.length > 0,
      ),
      [],
    );
  });

  test("merge the rows of finished time slots every five minutes, and of all if too many exist, in short steps", async (t) => {
    const clock = manualClock(Date.now());
    const asked: Promise<unknown>[] = [];
    const steps: (number | null)[] = [];
    const query = (text: string, values: unknown[]) => {
      const answer = db.pool.query(text, values);
      asked.push(
        answer.then(({ rows }) => {
          if (text.includes("history_merge_performance")) steps.push(rows[0].merged);
        }),
      );
      return answer;
    };
    const mine = openRollupWriter({ pool: { query } as unknown as typeof db.pool, clock, log: createLog("silent") });
    t.after(() => mine.stop());
    const account = await openAccount();
    for (const id of [newIds({ ...systemClock, now: anHourAgo }, systemRandom())(), idInFuture()]) {
      const hold = { ...createTestHold(account), id };
      await ledger.hold(hold);
      await ledger.settle(createTestSettlement(hold, null));
    }
    await rollups.run();
    const parts = async (): Promise<unknown[]> => {
      const text = "select slot > now() as ahead from performance_part where subject = $1 group by 1 order by 1";
      return (await db.pool.query(text, [account])).rows.map(({ ahead }) => ahead);
    };
    assert.deepEqual(await parts(), [false, true]);
    /** Moves time and waits for all queries of a merge that this may start. */
    const ticks = async (ms: number): Promise<void> => {
      clock.advance(ms);
      for (let seen = -1; seen < asked.length; await waitOneTurn()) {
        seen = asked.length;
        await Promise.all(asked);
        await waitOneTurn();
      }
    };
    await ticks(270_000);
    assert.deepEqual(await parts(), [false, true]);
    await ticks(30_000);
    assert.deepEqual(await parts(), [true]);
    // With the existing rows, these are more than `PARTS_MAX`, so the rows of unfinished time slots are merged too.
    const { rows } = await db.pool.query(
      `insert into performance_part
       select 'account', $1, now(), $1, 'many', 1, 1, 0, 0, 1, 1, 1, 1, 1, '{}', '{}' from generate_series(1, 50000) returning 1`,
      [account],
    );
    assert.equal(rows.length, 50_000);
    await ticks(30_000);
    assert.deepEqual(await parts(), []);
    const { rows: merged } = await db.pool.query(
      "select requests::int from performance where subject = $1 and model = 'many' and grain = 'day'",
      [account],
    );
    assert.deepEqual(merged, [{ requests: 50_000 }]);
    // No transaction merges more, because others meanwhile read every dead version of the rows that requests update.
    assert.deepEqual(
      steps.filter((parts) => parts === null || parts > 1_000),
      [],
    );
  });

  test("report every minute how many requests are not rolled up yet, and the time of the oldest", async (t) => {
    const clock = manualClock(Date.now());
    const asked: Promise<unknown>[] = [];
    const query = (text: string, values: unknown[]) => {
      const answer = db.pool.query(text, values);
      asked.push(answer);
      return answer;
    };
    await rollups.run();
    const mine = openRollupWriter({ pool: { query } as unknown as typeof db.pool, clock, log: createLog("silent") });
    t.after(() => mine.stop());
    assert.equal(mine.backlog(), undefined);
    const other = await db.pool.connect();
    await other.query("begin; select from rollup_turn for update");
    const account = await openAccount();
    const holds = [createTestHold(account), createTestHold(account)] as const;
    for (const hold of holds) {
      await ledger.hold(hold);
      await ledger.settle(createTestSettlement(hold, null));
    }
    // Moves time by a minute and waits for the run, which would otherwise block the next one.
    const look = async (): Promise<void> => {
      clock.advance(60_000);
      await Promise.all(asked);
      await waitOneTurn();
    };
    await look();
    assert.deepEqual(mine.backlog(), { requests: 2, oldest: new Date(creationTimeMsOf(holds[0].id)) });
    await other.query("commit");
    other.release();
    await rollups.run();
    await look();
    assert.deepEqual(mine.backlog(), { requests: 0, oldest: null });
  });

  test("skip a request whose record was deleted", async () => {
    await db.pool.query("insert into unrolled (request_id, outcome) values ($1, 'ok')", [newId()]);
    assert.equal(await rollups.run(), 1);
    assert.equal(await rollups.run(), 0);
  });

  test("add a late charge to the daily sum of its request label, whether or not the request was already counted as lost", async () => {
    for (const countedBefore of [true, false]) {
      const account = await openAccount();
      const label = "team red";
      const [inTime, lost] = [
        { ...createTestHold(account), label },
        { ...createTestHold(account), label },
      ];
      for (const hold of [inTime, lost]) await ledger.hold(hold);
      await ledger.settle(createTestSettlement(inTime, null));
      await db.pool.query("update hold set expires_at = now() - interval '1 second' where id = $1", [lost.id]);
      assert.equal(await ledger.expire(), 1);
      const labelled = async () => {
        await rollups.run();
        const text =
          "select label, requests, prompt_tokens, completion_tokens, charge_pico from label_day where account_id = $1";
        return (await db.pool.query(text, [account])).rows;
      };
      const of = (charges: bigint) => [
        { label, requests: 2n, prompt_tokens: 6n, completion_tokens: 5n * charges, charge_pico: TEST_CHARGE * charges },
      ];
      if (countedBefore) assert.deepEqual(await labelled(), of(1n));
      assert.equal(await ledger.settle(createTestSettlement(lost, null)), "late");
      assert.deepEqual(await labelled(), of(2n));
    }
  });

  test("replace a lost request by its late settlement, whether or not it was counted before", async () => {
    for (const countedBefore of [true, false]) {
      const account = await openAccount();
      const hold = createTestHold(account, 1_000_000n);
      await ledger.hold(hold);
      await db.pool.query("update hold set expires_at = now() - interval '1 second' where id = $1", [hold.id]);
      assert.equal(await ledger.expire(), 1);
      if (countedBefore) {
        await rollups.run();
        const [lost] = await of(account);
        assert.deepEqual([lost?.requests, lost?.failed], [1, 1]);
      }
      assert.equal(await ledger.settle({ ...createTestSettlement(hold, null), durationMs: 9 }), "late");
      await rollups.run();
      const [sum] = await of(account);
      assert.deepEqual(
        [sum?.requests, sum?.ok, sum?.failed, sum?.promptTokens, sum?.completionTokens],
        [1, 1, 0, 3, 5],
      );
      assert.equal(sum?.duration.p50, 9);
    }
  });
});
