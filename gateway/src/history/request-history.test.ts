import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { creationTimeMsOf, newIds, type Uuid } from "../base/ids.ts";
import { systemRandom } from "../base/random.ts";
import { seededRandom, timeoutFreeClock } from "../base/testing.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { checkLedger } from "../ledger/check.ts";
import { openRateLimitedRequestRecords, type RateLimitedRequest } from "./rate-limited-request-records.ts";
import { openRequestHistory } from "./request-history.ts";
import { openUsageHistory } from "./usage-history.ts";

const newId = newIds(systemClock, systemRandom());
const newIdAt = (at: Date): Uuid => newIds({ ...systemClock, now: () => at.getTime() }, systemRandom())();

const byText = (a: object, b: object): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);

describe("request history", () => {
  let db: TestDatabase;
  before(async () => {
    db = await openTestDatabase();
  });
  after(() => db.close());

  const refusal = (accountId: Uuid, id = newId()): RateLimitedRequest => ({
    id,
    accountId,
    keyId: accountId,
    keyName: "k",
    endpoint: "chat",
    model: null,
    stream: false,
    outcome: "rate_limit_requests",
    httpStatus: 429,
    client: "curl",
  });

  test("records each of many refusals once, also in the rollup, even if a write is repeated", async () => {
    const refusals = openRateLimitedRequestRecords({ pool: db.pool, clock: timeoutFreeClock });
    const account = newId();
    const flood = Array.from({ length: 1000 }, () => refusal(account));
    await Promise.all([...flood, ...flood.slice(0, 100)].map((r) => refusals.record(r)));
    const { rows } = await db.pool.query(
      "select outcome, requests, charge_pico from usage_hour where account_id = $1",
      [account],
    );
    assert.equal(
      rows.reduce((sum, row) => sum + row.requests, 0n),
      1000n,
    );
    const records = await openRequestHistory({ pool: db.pool }).list(account, { limit: 2000 });
    assert.equal(records.length, 1000);
    assert.deepEqual([records[0]?.httpStatus, records[0]?.charge, records[0]?.model], [429, 0n, null]);
  });

  test("combines a key's refusals above 1,000 an hour into shared records with exact sums, and counts each batch once", async () => {
    const refusals = openRateLimitedRequestRecords({ pool: db.pool, clock: timeoutFreeClock });
    const account = newId();
    const [flooded, calm] = [newId(), newId()];
    const at = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000 - 1_800_000);
    const kinds = [
      { endpoint: "chat", model: null, stream: null, outcome: "rate_limit_requests" },
      { endpoint: "models", model: null, stream: null, outcome: "rate_limit_requests" },
      { endpoint: "chat", model: "tiny-3b", stream: true, outcome: "rate_limit_sku_capacity" },
    ] as const;
    const of = (keyId: Uuid, count: number) =>
      Array.from({ length: count }, (_, i) => ({
        ...refusal(account, newIdAt(at)),
        ...(kinds[i % kinds.length] as (typeof kinds)[number]),
        keyId,
      }));
    const floods = of(flooded, 3_000);
    await Promise.all([...floods, ...of(calm, 900)].map((one) => refusals.record(one)));
    const hour = [account, new Date(Math.floor(at.getTime() / 3_600_000) * 3_600_000)];

    const { rows } = await db.pool.query(
      `select key_id = $2 as flooded, count(*)::int as records, sum(requests)::int as requests, max(requests)::int as most
         from request where account_id = $1 group by 1 order by 1`,
      [account, flooded],
    );
    assert.deepEqual(rows[0], { flooded: false, records: 900, requests: 900, most: 1 });
    assert.equal(rows[1].requests, 3_000);
    // The first 1,000 refusals have a record each. Later ones share one record per kind.
    assert.equal(rows[1].records, 1_000 + kinds.length);

    const history = openRequestHistory({ pool: db.pool });
    const shared = (await history.list(account, { limit: 5_000 })).filter(({ count }) => count > 1);
    assert.deepEqual(
      shared
        .map(({ endpoint, model, stream, outcome, client }) => ({ endpoint, model, stream, outcome, client }))
        .sort(byText),
      kinds.map((kind) => ({ ...kind, stream: null, client: "" })).sort(byText),
    );
    for (const record of shared)
      assert.ok(
        floods.some(({ id }) => id === record.id),
        "the first of them gives its id",
      );

    const usage = openUsageHistory({ pool: db.pool });
    const sums = await usage.sums(account, { by: "outcome", from: hour[1] as Date, to: new Date() });
    assert.deepEqual(sums.map(({ bucket, requests }) => [bucket, requests]).sort(), [
      ["rate_limit_requests", 2_600],
      ["rate_limit_sku_capacity", 1_300],
    ]);
    // With a filter, the rollup's counts of requests decide how many hours a page reads. A shared record stands for
    // many refused requests in these counts, but must count as one record of the page.
    const older = refusal(account, newIdAt(new Date(at.getTime() - 7_200_000)));
    await refusals.record({ ...older, keyId: flooded, model: "tiny-3b", outcome: "rate_limit_sku_capacity" });
    const found = await history.list(account, {
      outcomes: ["rate_limit_sku_capacity"],
      keyIds: [flooded],
      limit: 400,
    });
    assert.equal(found.at(-1)?.id, older.id, "the page goes on into older hours");

    const repeat = `select history_refuse($1, array_fill($2::uuid, array[2]), array_fill($3::uuid, array[2]), '{k,k}', '{chat,chat}',
      '{NULL,NULL}', '{NULL,NULL}', '{rate_limit_requests,rate_limit_requests}', '{429,429}', '{x,x}')`;
    const lost = [newIdAt(at), newIdAt(at)];
    for (let i = 0; i < 3; i++) await db.pool.query(repeat, [lost, account, flooded]);
    const { rows: again } = await db.pool.query(
      "select sum(requests)::int as requests from request where account_id = $1 and key_id = $2 and id >= uuid_floor($3)",
      [account, flooded, hour[1]],
    );
    assert.equal(again[0].requests, 3_002);
    const books = await checkLedger(db.pool);
    assert.deepEqual(
      books.filter(({ differences }) => differences.length > 0),
      [],
    );
  });

  test("lists each record exactly once over all pages, newest first", async () => {
    const refusals = openRateLimitedRequestRecords({ pool: db.pool, clock: timeoutFreeClock });
    const account = newId();
    const ids = Array.from({ length: 25 }, (_, i) => newIdAt(new Date(Date.now() + i)));
    await Promise.all(ids.map((id) => refusals.record(refusal(account, id))));
    const history = openRequestHistory({ pool: db.pool });
    const seen: Uuid[] = [];
    for (let before: Uuid | undefined; ; ) {
      const page = await history.list(account, { limit: 10, ...(before !== undefined && { before }) });
      seen.push(...page.map((record) => record.id));
      if (page.length < 10) break;
      before = page.at(-1)?.id;
    }
    assert.deepEqual(seen, [...ids].reverse());
    assert.equal(await history.find(newId(), ids[0] as Uuid), undefined, "another account's request looks absent");
    assert.equal((await history.find(account, ids[0] as Uuid))?.id, ids[0]);
  });

  test("returns the same filtered records as a simple search, page by page, with matching sums", async () => {
    const refusals = openRateLimitedRequestRecords({ pool: db.pool, clock: timeoutFreeClock });
    const [account, random] = [newId(), seededRandom(1)];
    const pick = <T>(values: T[]): T => values[random.below(values.length)] as T;
    const keys = [newId(), newId()];
    const models = ["tiny-3b", "small-8b", "rare-1b"];
    const outcomes = ["rate_limit_requests", "rate_limit_tokens", "rate_limit_streams"] as const;
    const start = Date.now() - 48 * 3_600_000;
    const rows = Array.from({ length: 600 }, (_, i) => ({
      ...refusal(account, newIdAt(new Date(start + random.below(48) * 3_600_000 + random.below(3_600_000)))),
      keyId: pick(keys),
      model: i % 100 === 0 ? "rare-1b" : pick(models.slice(0, 2)),
      outcome: pick([...outcomes]),
    }));
    await Promise.all(rows.map((row) => refusals.record(row)));
    const history = openRequestHistory({ pool: db.pool });
    for (let i = 0; i < 40; i++) {
      const maybe = <T>(value: T): T | undefined => (random.below(2) === 0 ? value : undefined);
      const span = maybe(start + random.below(40) * 3_600_000 + 1234);
      const filter = {
        models: maybe([pick(models), pick(models)]),
        notModels: maybe([pick(models)]),
        keyIds: maybe([pick(keys)]),
        notKeyIds: maybe([newId()]),
        outcomes: maybe([pick([...outcomes])]),
        from: span === undefined ? undefined : new Date(span),
        to: maybe(new Date(start + (40 + random.below(8)) * 3_600_000 + 777)),
      };
      const expected = rows
        .filter((row) => filter.models?.includes(row.model) !== false)
        .filter((row) => filter.notModels?.includes(row.model) !== true)
        .filter((row) => filter.keyIds?.includes(row.keyId) !== false)
        .filter((row) => filter.outcomes?.includes(row.outcome) !== false)
        .filter((row) => filter.from === undefined || creationTimeMsOf(row.id) >= filter.from.getTime())
        .filter((row) => filter.to === undefined || creationTimeMsOf(row.id) < filter.to.getTime())
        .map(({ id }) => id)
        .sort()
        .reverse();
      const found: Uuid[] = [];
      for (let before: Uuid | undefined; ; ) {
        const page = await history.list(account, { ...filter, before, limit: 7 });
        found.push(...page.map(({ id }) => id));
        if (page.length < 7) break;
        before = page.at(-1)?.id;
      }
      assert.deepEqual(found, expected, JSON.stringify(filter));
    }
    const usage = openUsageHistory({ pool: db.pool });
    const whole = { from: new Date(start - 3_600_000), to: new Date(Date.now() + 3_600_000) };
    for (const by of ["key", "model", "day", "hour", "outcome"] as const) {
      const sums = await usage.sums(account, { ...whole, by });
      assert.equal(
        sums.reduce((sum, { requests }) => sum + requests, 0),
        600,
        by,
      );
    }
    const split = await usage.sums(account, { ...whole, by: "day", split: "model" });
    assert.equal(
      split.filter(({ part }) => part === "rare-1b").reduce((sum, { requests }) => sum + requests, 0),
      6,
    );
    assert.equal((await usage.byKey(account, whole.from)).size, 2);
  });

  test("creates partitions for this month and the next two, and stores older records in a default partition", async () => {
    // IDs for a time before the partitions are created, possibly in the next month.
    const now = new Date();
    await openRequestHistory({ pool: db.pool }).makePartitions();
    const partitionOf = async (at: Date): Promise<string> => {
      const id = newIdAt(at);
      await openRateLimitedRequestRecords({ pool: db.pool, clock: timeoutFreeClock }).record(refusal(newId(), id));
      const { rows } = await db.pool.query("select tableoid::regclass::text as name from request where id = $1", [id]);
      return rows[0].name;
    };
    for (const ahead of [0, 1, 2]) {
      const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, 1));
      const name = `request_${month.toISOString().slice(0, 7).replace("-", "_")}`;
      assert.equal(await partitionOf(month), name, "the month's first millisecond");
      assert.equal(
        await partitionOf(new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1, 1) - 1)),
        name,
        "its last",
      );
    }
    assert.equal(await partitionOf(new Date("2020-05-05")), "request_other");
  });
});
