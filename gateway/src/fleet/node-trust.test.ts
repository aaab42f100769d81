/** Tests probation, the effect of a quarantine on the host's other nodes, and the limit of nodes. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { newIds, type Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import { migrate } from "../db/migrate.ts";
import { makeSqlDirectoryUpTo, SQL_SOURCE_DIRECTORY } from "../db/testing/sql-directory.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { type Fleet, NODES_MAX, type Node, openFleet, TooManyNodes } from "./fleet.ts";
import { NO_OBSERVED_COUNTS } from "./node-record.ts";

const newId = newIds(systemClock, systemRandom());
/** Parameters: host, hour, node, number of requests. */
const EARNED = "insert into earning_hour values ($1, $2, $3, 'tiny-3b', $4, 1, 1, 1)";
const PLATFORM = { reason: "canary", evidence: {}, by: "platform" };

describe("trust by a node's record", () => {
  let db: TestDatabase;
  let fleet: Fleet;
  before(async () => {
    db = await openTestDatabase();
    fleet = openFleet({ pool: db.pool, newId });
  });
  after(() => db.close());

  const openIdentity = async (): Promise<Uuid> => {
    const id = newId();
    await db.pool.query("insert into identity (id, email, name) values ($1, $2, 'a person')", [
      id,
      `${id}@example.com`,
    ]);
    return id;
  };
  const openHost = async (...owners: Uuid[]): Promise<Uuid> => {
    const id = newId();
    await db.pool.query("insert into account (id, kind, name) values ($1, 'host', 'a host')", [id]);
    for (const owner of owners) {
      await db.pool.query("insert into account_owner (identity_id, account_id) values ($1, $2)", [owner, id]);
    }
    return id;
  };
  const register = (account: Uuid, name = newId() as string): Promise<Node> =>
    fleet.register(account, { name, hardware: {}, agent: "test" });
  /** Adds good answers. Returns whether the node completed its probation with them. */
  const answered = async (id: Uuid, answers: number): Promise<boolean> =>
    (await fleet.record.add(new Map([[id, { ...NO_OBSERVED_COUNTS, answers }]]))).length > 0;
  const read = async (id: Uuid): Promise<Node> => (await fleet.find(null, id)) as Node;
  const withheld = async (id: Uuid): Promise<boolean> => (await read(id)).withheld === "host_quarantine";

  describe("probation", () => {
    test("ends at the twentieth good answer, is reported once, and starts again after a quarantine", async () => {
      const { id, probation } = await register(await openHost());
      assert.deepEqual(probation, { answers: 0, needed: 20 });
      assert.equal(await answered(id, 19), false);
      assert.deepEqual((await read(id)).probation, { answers: 19, needed: 20 });
      assert.equal(await answered(id, 3), true);
      assert.equal((await read(id)).probation, null);
      assert.equal(await answered(id, 1), false, "said once");
      await fleet.quarantine(id, PLATFORM);
      assert.deepEqual((await read(id)).probation, { answers: 0, needed: 20 });
      assert.equal(await answered(id, 20), false, "what comes in late does not count for what was barred");
      await fleet.release(id, "an operator");
      assert.deepEqual((await read(id)).probation, { answers: 0, needed: 20 });
    });

    test("reports its end to exactly one of several gateways that count concurrently", async () => {
      const { id } = await register(await openHost());
      const heard = await Promise.all(Array.from({ length: 40 }, () => answered(id, 1)));
      assert.equal(heard.filter(Boolean).length, 1);
    });

    test("applies to no node when it is turned off", async () => {
      const rules = { probationAnswers: 0, hostSanction: true };
      const { id } = await register(await openHost());
      assert.equal((await openFleet({ pool: db.pool, newId, rules }).find(null, id))?.probation, null);
    });
  });

  test("allows more slots with more good answers, also after probation", async () => {
    const { id, slotsMax } = await register(await openHost());
    assert.equal(slotsMax, 1);
    const slots: number[] = [];
    for (const more of [20, 80, 300, 1_200, 4_800]) {
      await answered(id, more);
      slots.push((await read(id)).slotsMax);
    }
    assert.deepEqual(slots, [4, 16, 64, 256, Number.POSITIVE_INFINITY]);
  });

  test("limits a host to three nodes until one of them has completed probation", async () => {
    const person = await openIdentity();
    const [host, other] = [await openHost(person), await openHost(person)];
    const first = await register(host, "one");
    await register(host, "two");
    await register(other, "three");
    await assert.rejects(register(host, "four"), (error) => {
      assert.ok(error instanceof TooManyNodes);
      assert.match(error.message, /at most 3 nodes until one of them has given 20 good answers/);
      return true;
    });
    await register(host, "one");
    await answered(first.id, 20);
    await register(host, "four");
  });

  test("counts the records of retired and live nodes for the host's next node", async () => {
    const host = await openHost(await openIdentity());
    const bad = await register(host, "bad");
    const seen = { answers: 3, failures: 4, silences: 2, refusals: 7, late: 1 };
    await fleet.record.add(new Map([[bad.id, seen]]));
    await fleet.record.add(new Map([[bad.id, { ...NO_OBSERVED_COUNTS, late: 1 }]]));
    await db.pool.query("insert into node_record values ($1, now() - interval '2 days', 9, 9, 9, 9, 9)", [bad.id]);
    assert.deepEqual(await fleet.record.lastDay(bad.id), { ...seen, late: 2 });
    const next = await register(host, "next");
    const whole = { ...seen, late: 2 };
    assert.deepEqual(await fleet.record.lastDayOfHost(next.id), { own: NO_OBSERVED_COUNTS, host: whole });
    await fleet.move(host, bad.id, "retire");
    assert.deepEqual(await fleet.record.lastDayOfHost(next.id), { own: whole, host: whole });
    const stranger = await register(await openHost());
    const nothing = { own: NO_OBSERVED_COUNTS, host: NO_OBSERVED_COUNTS };
    assert.deepEqual(await fleet.record.lastDayOfHost(stranger.id), nothing);
  });

  test("deletes the hourly counts of a node's record that are older than a given time", async () => {
    const { id } = await register(await openHost());
    const hour = "date_trunc('hour', now()) - make_interval(days => d)";
    await db.pool.query(`insert into node_record select $1, ${hour}, 1, 0, 0, 0, 0 from unnest(array[89, 90, 91]) d`, [
      id,
    ]);
    const { rows } = await db.pool.query<{ before: Date }>(
      "select date_trunc('hour', now()) - interval '90 days' as before",
    );
    assert.equal(await fleet.record.prune(rows[0]?.before as Date), 1);
    const kept = await db.pool.query("select 1 from node_record where node_id = $1", [id]);
    assert.equal(kept.rowCount, 2);
  });

  describe("a host with a node in quarantine", () => {
    test("gets no work on nodes registered afterwards, while its earlier nodes continue", async () => {
      const host = await openHost(await openIdentity());
      const [bad, old] = [await register(host), await register(host)];
      await fleet.quarantine(bad.id, PLATFORM);
      const next = await register(host);
      assert.equal(next.withheld, "host_quarantine");
      assert.equal(await withheld(old.id), false);
      assert.equal(await withheld(bad.id), false, "it has a reason of its own");
      assert.equal(
        (await fleet.list(host, { limit: 10 })).find(({ id }) => id === next.id)?.withheld,
        "host_quarantine",
      );
      await fleet.release(bad.id, "an operator");
      assert.equal(await withheld(next.id), false);
    });

    test("is identified by its account's owners, so that an owner's other accounts are affected too", async () => {
      const [person, partner] = [await openIdentity(), await openIdentity()];
      const [first, second, shared] = [await openHost(person), await openHost(person), await openHost(partner, person)];
      const stranger = await openHost(partner);
      await fleet.quarantine((await register(first)).id, PLATFORM);
      assert.equal((await register(second)).withheld, "host_quarantine");
      assert.equal((await register(shared)).withheld, "host_quarantine");
      assert.equal((await register(stranger)).withheld, null);
      assert.equal((await register(await openHost())).withheld, null);
    });

    test("gains nothing from reusing a name, choosing another name, retiring the node or opening a new account", async () => {
      const person = await openIdentity();
      const host = await openHost(person);
      const bad = await register(host, "box");
      await fleet.quarantine(bad.id, PLATFORM);
      const again = await register(host, "box");
      assert.deepEqual([again.id, again.standing], [bad.id, "quarantined"]);
      const renamed = await register(host, "box-2");
      assert.equal((await register(host, "box-2")).id, renamed.id);
      assert.equal(await withheld(renamed.id), true);
      await fleet.move(host, bad.id, "retire");
      assert.equal(await withheld(renamed.id), true, "retired is not released");
      assert.equal((await register(host, "box")).standing, "retired");
      assert.equal((await register(await openHost(person))).withheld, "host_quarantine");
      await fleet.elect(host, renamed.id, ["m"]);
      await fleet.move(host, renamed.id, "pause");
      await fleet.move(host, renamed.id, "resume");
      assert.equal(await withheld(renamed.id), true);
    });

    test("needs an operator's clearance for each new node", async () => {
      const host = await openHost(await openIdentity());
      const bad = await register(host);
      await fleet.quarantine(bad.id, PLATFORM);
      const next = await register(host);
      const cleared = await fleet.clear(next.id, "op@example.com");
      assert.equal(cleared.kind === "moved" && cleared.node.withheld, null);
      assert.equal((await fleet.clear(next.id, "op@example.com")).kind, "refused", "nothing keeps it any more");
      assert.equal((await fleet.clear(newId(), "op@example.com")).kind, "absent");
      const { rows } = await db.pool.query("select cleared_by from node where id = $1", [next.id]);
      assert.deepEqual(rows, [{ cleared_by: "op@example.com" }]);
      assert.equal((await register(host)).withheld, "host_quarantine");
    });

    test("gets work on nodes registered afterwards if the rule hostSanction is turned off", async () => {
      const host = await openHost();
      await fleet.quarantine((await register(host)).id, PLATFORM);
      const rules = { probationAnswers: 20, hostSanction: false };
      const lenient = openFleet({ pool: db.pool, newId, rules });
      assert.equal((await lenient.register(host, { name: "n", hardware: {}, agent: "" })).withheld, null);
    });
  });

  describe("the limit of 100 nodes per account", () => {
    const fill = (host: Uuid, count: number) =>
      db.pool.query(
        "insert into node (id, account_id, name, honest_answers) select gen_random_uuid(), $1, 'n' || i, 20 from generate_series(1, $2::int) i",
        [host, count],
      );

    test("applies to nodes registered concurrently, and counts neither retired nodes nor names registered again", async () => {
      const host = await openHost();
      await fill(host, NODES_MAX - 5);
      const outcomes = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => register(host, `more ${i}`)));
      assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 5);
      for (const outcome of outcomes) {
        if (outcome.status === "rejected") assert.ok(outcome.reason instanceof TooManyNodes, String(outcome.reason));
      }
      const known = await register(host, "n1");
      await fleet.move(host, known.id, "retire");
      await register(host, "in its place");
      await assert.rejects(register(host, "one too many"), TooManyNodes);
      assert.equal((await register(await openHost())).standing, "registered", "another account has its own");
    });

    test("lets nodes be listed in pages, oldest first, without hardware details", async () => {
      const host = await openHost();
      const made: Uuid[] = [];
      for (let i = 0; i < 5; i++) {
        made.push((await register(host)).id);
        await answered(made[0] as Uuid, 20);
      }
      const first = await fleet.list(host, { limit: 3 });
      const rest = await fleet.list(host, { after: first.at(-1)?.id, limit: 3 });
      assert.deepEqual(
        [...first, ...rest].map(({ id }) => id),
        made,
      );
      assert.ok(first.every((node) => !("hardware" in node)));
    });
  });
});

test("the migration that adds probation counts nodes' earlier requests, but starts quarantined nodes at zero", async (t) => {
  const db = await openTestDatabase({ sql: await makeSqlDirectoryUpTo(t, "0014") });
  t.after(db.close);
  const [host, busy, fresh, barred] = [newId(), newId(), newId(), newId()];
  await db.pool.query("insert into account (id, kind, name) values ($1, 'host', 'a host')", [host]);
  for (const [id, state] of [
    [busy, "ready"],
    [fresh, "paused"],
    [barred, "quarantined"],
  ]) {
    await db.pool.query(
      "insert into node (id, account_id, name, state, hardware) values ($1::uuid, $2, $1::uuid::text, $3, $4)",
      [id, host, state, { notes: "x".repeat(60_000) }],
    );
  }
  for (const [id, hour, requests] of [
    [busy, "2026-01-01T00:00Z", 15],
    [busy, "2026-01-01T01:00Z", 5],
    [fresh, "2026-01-01T00:00Z", 19],
    [barred, "2026-01-01T00:00Z", 500],
  ]) {
    await db.pool.query(EARNED, [host, hour, id, requests]);
  }
  const { migrations } = await migrate(db.pool, { directory: SQL_SOURCE_DIRECTORY, log: createLog("silent") });
  assert.ok(migrations.includes("0016_probation.sql"));
  const fleet = openFleet({ pool: db.pool, newId });
  const probations = await Promise.all(
    [busy, fresh, barred].map(async (id) => (await fleet.find(host, id))?.probation),
  );
  assert.deepEqual(probations, [null, { answers: 19, needed: 20 }, { answers: 0, needed: 20 }]);
  const listed = await fleet.list(host, { limit: 100 });
  assert.ok(JSON.stringify(listed).length < 4096, "what was written at length before does not weigh on lists");
  assert.equal(JSON.stringify((await fleet.find(host, busy))?.hardware).length > 60_000, true);
});

test("the migration that lets a node's slots grow counts requests served since the last quarantine as good answers", async (t) => {
  const db = await openTestDatabase({ sql: await makeSqlDirectoryUpTo(t, "0038") });
  t.after(db.close);
  const [host, busy, fresh, released] = [newId(), newId(), newId(), newId()];
  await db.pool.query("insert into account (id, kind, name) values ($1, 'host', 'a host')", [host]);
  for (const [id, answers] of [
    [busy, 21],
    [fresh, 3],
    [released, 20],
  ]) {
    await db.pool.query(
      "insert into node (id, account_id, name, state, honest_answers) values ($1::uuid, $2, $1::uuid::text, 'ready', $3)",
      [id, host, answers],
    );
  }
  await db.pool.query(
    "insert into node_quarantine (id, node_id, reason, evidence, by, at, released_at, released_by) values ($1, $2, 'r', '{}', 'platform', '2026-01-02', '2026-01-03', 'x')",
    [newId(), released],
  );
  for (const [id, hour, requests] of [
    [busy, "2026-01-01T00:00Z", 500],
    [busy, "2026-01-01T01:00Z", 50],
    [fresh, "2026-01-01T00:00Z", 3],
    [released, "2026-01-01T00:00Z", 9_000],
    [released, "2026-01-04T00:00Z", 120],
  ]) {
    await db.pool.query(EARNED, [host, hour, id, requests]);
  }
  const { migrations } = await migrate(db.pool, { directory: SQL_SOURCE_DIRECTORY, log: createLog("silent") });
  assert.ok(migrations.includes("0040_node_record.sql"));
  const rows = await db.pool.query("select id, honest_answers from node");
  const answers = Object.fromEntries(rows.rows.map((row) => [row.id, row.honest_answers]));
  assert.deepEqual([answers[busy], answers[fresh], answers[released]], [550, 3, 120]);
});
