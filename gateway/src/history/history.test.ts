import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { newIds, type Uuid } from "../base/ids.ts";
import { systemRandom } from "../base/random.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { openHistory } from "./history.ts";
import { openRefusals, type Refusal } from "./refusals.ts";

const newId = newIds(systemClock, systemRandom());
const newIdAt = (at: Date): Uuid => newIds({ ...systemClock, now: () => at.getTime() }, systemRandom())();

describe("history", () => {
  let db: TestDatabase;
  before(async () => {
    db = await openTestDatabase();
  });
  after(() => db.close());

  const refusal = (accountId: Uuid, id = newId()): Refusal => ({
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

  test("a flood of refusals is recorded once each, with its rollup, also when repeated", async () => {
    const refusals = openRefusals({ pool: db.pool, clock: systemClock });
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
    const records = await openHistory({ pool: db.pool }).list(account, { limit: 2000 });
    assert.equal(records.length, 1000);
    assert.deepEqual([records[0]?.httpStatus, records[0]?.charge, records[0]?.model], [429, 0n, null]);
  });

  test("pages continue where the last one ended, newest first, each record once", async () => {
    const refusals = openRefusals({ pool: db.pool, clock: systemClock });
    const account = newId();
    const ids = Array.from({ length: 25 }, (_, i) => newIdAt(new Date(Date.now() + i)));
    await Promise.all(ids.map((id) => refusals.record(refusal(account, id))));
    const history = openHistory({ pool: db.pool });
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

  test("every month has its partition, ahead of time; a record of another time is kept all the same", async () => {
    await openHistory({ pool: db.pool }).makePartitions();
    const partitionOf = async (at: Date): Promise<string> => {
      const id = newIdAt(at);
      await openRefusals({ pool: db.pool, clock: systemClock }).record(refusal(newId(), id));
      const { rows } = await db.pool.query("select tableoid::regclass::text as name from request where id = $1", [id]);
      return rows[0].name;
    };
    const now = new Date();
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
