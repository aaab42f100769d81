import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { type ModelAvailability, type ModelSample, openModelAvailability } from "./model-availability.ts";

const START = Date.UTC(2026, 10, 15, 9, 50);
const MINUTE = 60_000;
const at = (minute: number, second = 0): Date => new Date(START + minute * MINUTE + second * 1000);

const up = (model: string): ModelSample => ({ model, nodes: 1, slots: 4, busy: 1 });
const down = (model: string): ModelSample => ({ model, nodes: 0, slots: 0, busy: 0 });

describe("the record of models' availability", () => {
  let db: TestDatabase;
  let gateways: ModelAvailability[];
  let one: ModelAvailability;
  before(async () => {
    db = await openTestDatabase();
    gateways = [1, 2, 3].map(() => openModelAvailability({ pool: db.pool, everyMs: MINUTE }));
    one = gateways[0] as ModelAvailability;
  });
  afterEach(async () => {
    await db.pool.query("truncate model_minute, model_hour, model_watch, incident, performance");
    await db.pool.query("update availability_turn set slot = null");
  });
  after(() => db.close());

  const sums = async (model: string): Promise<[string, number, number][]> => {
    const span = { slotMs: 3_600_000, from: new Date(START - 86_400_000), to: new Date(START + 200 * 86_400_000) };
    const found = await one.sums(span, model);
    return found.map(({ slot, samples, up }) => [slot.toISOString().slice(11, 16), samples, up]);
  };
  const incidents = async (): Promise<unknown[]> => {
    const found = await one.incidents({ from: new Date(START - 86_400_000), limit: 100 });
    return found.map(({ model, kind, beganAt, endedAt }) => [
      model,
      kind,
      (beganAt.getTime() - START) / MINUTE,
      endedAt && (endedAt.getTime() - START) / MINUTE,
    ]);
  };
  const failures = (minute: number, counts: { ok: number; failed: number }): Promise<unknown> =>
    db.pool.query(
      `insert into performance select 'platform', n, '5min', $1, n, $2, $3::int + $4::int, $3, 0, $4, 0, 0, 0, 0, 0, '{}', '{}'
         from (select '00000000-0000-0000-0000-000000000000'::uuid) as nobody (n)
       on conflict (scope, subject, grain, slot, key_id, model) do update set ok = excluded.ok, failed = excluded.failed`,
      [at(minute), "a", counts.ok, counts.failed],
    );

  test("has one sample per minute of several gateways, and counts a model as up if one of them sees a node", async () => {
    for (let minute = 0; minute < 20; minute++) {
      const looks = gateways.map((gateway, i) =>
        gateway.sample([minute % 3 === i ? up("a") : down("a"), down("b")], at(minute, 5 * i)),
      );
      const firsts = (await Promise.all(looks)).filter(({ isFirst }) => isFirst);
      assert.equal(firsts.length, 1);
    }
    await one.sample([down("a"), up("b")], at(19, 59));
    assert.deepEqual(await sums("a"), [
      ["09:00", 10, 10],
      ["10:00", 10, 10],
    ]);
    assert.deepEqual(await sums("b"), [
      ["09:00", 10, 0],
      ["10:00", 10, 1],
    ]);
    const { rows } = await db.pool.query("select sum(slots)::int as slots, sum(busy)::int as busy from model_hour");
    assert.deepEqual(rows, [{ slots: 21 * 4, busy: 21 }]);
  });

  test("starts the next time slot by the database's clock", async () => {
    assert.equal((await one.sample([up("a")], at(3, 12))).nextInMs, 48_000);
    const { nextInMs } = await one.sample([up("a")]);
    assert.ok(nextInMs > 0 && nextInMs <= MINUTE, String(nextInMs));
  });

  test("counts minutes without a sample as down, and ignores samples after the clock was set back", async () => {
    await one.sample([up("a")], at(0));
    await gateways[1]?.sample([up("a"), up("new")], at(75));
    assert.equal((await one.sample([up("a")], at(30))).isFirst, false);
    assert.deepEqual(await sums("a"), [
      ["09:00", 10, 1],
      ["10:00", 60, 0],
      ["11:00", 6, 1],
    ]);
    assert.deepEqual(await sums("new"), [["11:00", 1, 1]], "it was not listed before");
    await one.sample([up("a"), up("new")], at(76));
    assert.deepEqual(await incidents(), [["a", "unavailable", 1, 75]]);
  });

  test("counts neither uptime nor downtime of a model while it is not listed", async () => {
    for (let minute = 0; minute < 3; minute++) await one.sample([up("a"), down("b")], at(minute));
    for (let minute = 3; minute < 6; minute++) await one.sample([up("a")], at(minute));
    assert.deepEqual(await incidents(), [["b", "unavailable", 0, 3]]);
    for (let minute = 6; minute < 8; minute++) await one.sample([up("a"), up("b")], at(minute));
    assert.deepEqual(await sums("b"), [["09:00", 5, 2]]);
    assert.deepEqual(await incidents(), [["b", "unavailable", 0, 3]]);
  });

  test("records an incident after two minutes without a node, which ends with the first minute that has one", async () => {
    const course = "uduudddduudduuu";
    const told: unknown[][] = [];
    for (const [minute, state] of [...course].entries()) {
      await Promise.all(gateways.map((each) => each.sample([state === "u" ? up("a") : down("a")], at(minute, 3))));
      told.push(await incidents());
    }
    assert.deepEqual(told[6], [["a", "unavailable", 4, null]], "told when the second is over");
    assert.deepEqual(told[5], []);
    assert.deepEqual(told[8], [["a", "unavailable", 4, null]]);
    assert.deepEqual(told.at(-1), [
      ["a", "unavailable", 10, 12],
      ["a", "unavailable", 4, 8],
    ]);
  });

  test("records an incident when a fifth of 20 requests in 5 minutes fail, which ends after 5 minutes without errors", async () => {
    await one.sample([up("a")], at(0));
    await failures(0, { ok: 15, failed: 4 });
    await one.sample([up("a")], at(1));
    assert.deepEqual(await incidents(), [], "nineteen");
    await failures(0, { ok: 17, failed: 4 });
    await one.sample([up("a")], at(2));
    assert.deepEqual(await incidents(), [], "less than a fifth");
    await failures(0, { ok: 16, failed: 4 });
    await Promise.all(gateways.map((each) => each.sample([up("a")], at(3))));
    assert.deepEqual(await incidents(), [["a", "errors", 0, null]]);
    await failures(5, { ok: 0, failed: 30 });
    for (let minute = 4; minute < 15; minute++) await one.sample([up("a")], at(minute));
    assert.deepEqual(await incidents(), [["a", "errors", 0, null]]);
    await one.sample([up("a")], at(15));
    assert.deepEqual(await incidents(), [["a", "errors", 0, 10]]);
    // Requests that began at minute 10, when the incident ended, fail only now.
    await failures(10, { ok: 0, failed: 30 });
    await one.sample([up("a")], at(16));
    assert.deepEqual(await incidents(), [["a", "errors", 0, null]], "the same one goes on");
    for (let minute = 17; minute < 31; minute++) await one.sample([up("a")], at(minute));
    assert.deepEqual(await incidents(), [["a", "errors", 0, 15]]);
  });

  test("deletes old incidents, and keeps a limited number for a model that often goes up and down", async () => {
    await one.sample([up("a")], at(0));
    await db.pool.query(
      `insert into incident (model, kind, began_at, ended_at)
       select 'a', 'unavailable', now() - n * interval '5 minutes', now() - n * interval '5 minutes' + interval '2 minutes'
         from generate_series(1, 300) n`,
    );
    await db.pool.query(
      "insert into incident (model, kind, began_at) values ('a', 'unavailable', now() - interval '1 year')",
    );
    await db.pool.query("insert into model_hour values ('a', now() - interval '101 days', 60, 60, 0, 0)");
    await db.pool.query("insert into model_minute values (now() - interval '3 days', 'a', true, 1, 0)");
    await one.forget();
    const { rows } = await db.pool.query(
      `select (select count(*) from incident)::int as incidents, (select count(*) from model_hour)::int as hours,
              (select count(*) from model_minute where slot < now() - interval '2 days')::int as minutes`,
    );
    assert.deepEqual([rows[0].incidents, rows[0].minutes], [201, 0], "one that is open stays");
    assert.ok(rows[0].hours <= 1);
  });
});
