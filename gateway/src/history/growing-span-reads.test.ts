/** Tests that a page finds rare rows of any age, and that reading the page reads no more rows than necessary. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { newIds, type Uuid } from "../base/ids.ts";
import { seededRandom } from "../base/testing.ts";
import { DAY_MS } from "../base/time.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { openEarningsHistory } from "./earnings.ts";
import { readInGrowingSpans } from "./growing-span-reads.ts";
import { createJobHistory } from "./node-jobs.ts";
import { openRequestHistory } from "./request-history.ts";

const random = seededRandom(1);
const newId = newIds(systemClock, random);

test("a search back in time reads no older range once a page is full", async () => {
  const asked: (number | null)[] = [];
  const reading = (found: Record<string, number>) => async (days: number | null) => {
    asked.push(days);
    return Array.from({ length: found[String(days)] ?? 0 }, (_, i) => i);
  };
  for (const [found, rows, steps] of [
    [{ 1: 3 }, 3, [1]],
    [{ 1: 2, 15: 3 }, 3, [1, 15]],
    [{ 1: 2, 15: 2, null: 3 }, 3, [1, 15, null]],
    [{ 1: 1, 15: 1, null: 1 }, 1, [1, 15, null]],
    // Without a match in one day, fifteen days are unlikely to fill the page and are skipped.
    [{ 1: 0, 15: 1, null: 1 }, 1, [1, null]],
  ] as const) {
    asked.length = 0;
    assert.equal((await readInGrowingSpans(3, reading(found))).length, rows);
    assert.deepEqual(asked, steps);
  }
});

describe("looking back in a database", () => {
  let db: TestDatabase;
  before(async () => {
    db = await openTestDatabase();
  });
  after(() => db.close());

  /** The ages of matching requests in days. Requests that do not match are between them, every half day. */
  const RARE = [0.01, 0.02, 0.9, 1.1, 3, 14.9, 15.1, 16, 40, 40.01, 70];

  test("finds rare requests and earnings page by page, up to 70 days back", async () => {
    const [account, host, rareNode] = [newId(), newId(), newId()];
    const idAt = (daysAgo: number): Uuid =>
      newIds({ ...systemClock, now: () => Date.now() - daysAgo * DAY_MS }, random)();
    const wanted = RARE.map((daysAgo) => ({ id: idAt(daysAgo), model: "rare", node: rareNode, label: "a" }));
    const others = Array.from({ length: 150 }, (_, i) => ({
      id: idAt(i / 2 + 0.001),
      model: "common",
      node: newId(),
      label: i % 40 === 39 ? "b" : "a",
    }));
    const beside = RARE.map((daysAgo) => ({ id: idAt(daysAgo + 0.001), model: "common", node: rareNode }));
    const all = [...wanted, ...others];
    await db.pool.query(
      `with made as (
         insert into request (id, account_id, key_id, key_name, endpoint, model, stream, outcome, http_status, host_account_id,
                              node_id, label, created_at)
         select o.id, $1, $1, 'k', 'chat', o.model, false, 'ok', 200, $2, o.node, o.label, uuid_time(o.id)
           from unnest($3::uuid[], $4::text[], $5::uuid[], $6::text[]) as o (id, model, node, label)
         returning model, node_id, created_at
       ), used as (
         insert into usage_hour select $1, date_trunc('hour', created_at), $1, model, 'ok', count(*), 0, 0, 0
           from made group by 2, 4
       )
       insert into earning_hour select $2, date_trunc('hour', created_at), node_id, model, count(*), 0, 0, 0
         from made group by 2, 3, 4`,
      [account, host, ...(["id", "model", "node", "label"] as const).map((name) => all.map((each) => each[name]))],
    );
    // Unpaid jobs, which the earnings query must skip.
    await db.pool.query(
      `insert into request (id, account_id, key_id, key_name, endpoint, model, stream, outcome, http_status, node_id, created_at)
       select o.id, $1, $1, 'k', 'chat', 'common', false, 'upstream_failed', 502, $2, uuid_time(o.id) from unnest($3::uuid[]) as o (id)`,
      [newId(), rareNode, beside.map(({ id }) => id)],
    );
    await db.pool.query("insert into unrolled (request_id, outcome) select id, outcome from request");
    await db.pool.query("select history_roll_up(1000)");
    const [history, earnings, jobs] = [openRequestHistory(db), openEarningsHistory(db), createJobHistory(db)];
    type Read = (page: { before?: Uuid | undefined; limit: number }) => Promise<{ id: Uuid }[]>;
    const labelled = others.filter(({ label }) => label === "b");
    const reads: Record<string, Read> = {
      "history of a label": (page) => history.list(account, { models: ["rare"], label: "a", ...page }),
      "history of a rare label": (page) =>
        history.list(account, { models: ["common"], label: "b", outcomes: ["ok"], ...page }),
      "history, the oldest first": (page) => history.list(account, { models: ["rare"], oldestFirst: true, ...page }),
      history: (page) => history.list(account, { models: ["rare"], ...page }),
      earnings: (page) => earnings.lines(host, { nodeId: rareNode, ...page }),
      "jobs of a model": (page) => jobs.list(rareNode, { model: "rare", ...page }),
      "jobs that ended well": (page) => jobs.list(rareNode, { outcome: "ok", ...page }),
    };
    for (const [what, read] of Object.entries(reads)) {
      for (const limit of [1, 2, 4, 100]) {
        const found: Uuid[] = [];
        for (let before: Uuid | undefined; ; ) {
          const page = await read({ before, limit });
          found.push(...page.map(({ id }) => id));
          if (page.length < limit) break;
          before = page.at(-1)?.id;
        }
        const listed = what === "history of a rare label" ? labelled : wanted;
        const expected = what === "history, the oldest first" ? listed.toReversed() : listed;
        assert.deepEqual(
          found,
          expected.map(({ id }) => id),
          `${what}, ${limit} to a page`,
        );
      }
    }
    const span = { from: new Date(Date.now() - 50 * DAY_MS), to: new Date(Date.now() - 2 * DAY_MS) };
    const within = wanted.slice(4, 10).map(({ id }) => id);
    assert.deepEqual(
      (await history.list(account, { models: ["rare"], ...span, limit: 100 })).map(({ id }) => id),
      within,
    );
    const oldestFirst = { models: ["rare"], label: "a", keyIds: [account], oldestFirst: true, ...span };
    assert.deepEqual(
      (await history.list(account, { ...oldestFirst, limit: 4 })).map(({ id }) => id),
      within.toReversed().slice(0, 4),
    );
    assert.deepEqual(
      (await earnings.lines(host, { nodeId: rareNode, ...span, limit: 4 })).map(({ id }) => id),
      within.slice(0, 4),
    );
    assert.deepEqual(
      (await jobs.list(rareNode, { model: "rare", ...span, limit: 4 })).map(({ id }) => id),
      within.slice(0, 4),
    );
    assert.deepEqual(
      (await jobs.list(rareNode, { outcome: "upstream_failed", limit: 100 })).map(({ id }) => id),
      beside.map(({ id }) => id),
    );
  });
});
