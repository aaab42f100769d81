import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { newIds, type Uuid } from "../base/ids.ts";
import { systemRandom } from "../base/random.ts";
import type { NodeStanding } from "../base/stored-enumerations.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { type Fleet, type Node, type NodeStateChangeOutcome, openFleet } from "./fleet.ts";
import { findStandingAfterAction, NODE_RULES, type NodeStandingAction } from "./node-standing-rules.ts";

const newId = newIds(systemClock, systemRandom());

test("a node's standing follows the transition table for every standing and event", () => {
  const table: [NodeStanding, Partial<Record<NodeStandingAction, NodeStanding>>][] = [
    ["registered", { elect: "ready", unelect: "registered", quarantine: "quarantined", retire: "retired" }],
    [
      "ready",
      {
        elect: "ready",
        unelect: "registered",
        pause: "paused",
        resume: "ready",
        quarantine: "quarantined",
        retire: "retired",
      },
    ],
    [
      "paused",
      {
        elect: "paused",
        unelect: "registered",
        pause: "paused",
        resume: "ready",
        quarantine: "quarantined",
        retire: "retired",
      },
    ],
    [
      "quarantined",
      { elect: "quarantined", unelect: "quarantined", quarantine: "quarantined", release: "paused", retire: "retired" },
    ],
    ["retired", {}],
  ];
  const moves: NodeStandingAction[] = ["elect", "unelect", "pause", "resume", "quarantine", "release", "retire"];
  for (const [from, to] of table) {
    for (const move of moves) assert.equal(findStandingAfterAction(from, move), to[move], `${from}, ${move}`);
  }
});

describe("the database records of nodes", () => {
  let db: TestDatabase;
  let fleet: Fleet;
  let host: Uuid;
  before(async () => {
    db = await openTestDatabase();
    fleet = openFleet({ pool: db.pool, newId, rules: { ...NODE_RULES, probationAnswers: 0 } });
    host = await openHost();
  });
  after(() => db.close());

  const openHost = async (): Promise<Uuid> => {
    const id = newId();
    await db.pool.query("insert into account (id, kind, name) values ($1, 'host', 'a host')", [id]);
    return id;
  };
  const register = (name: string, owner = host) => fleet.register(owner, { name, hardware: {}, agent: "test" });
  const node = (outcome: NodeStateChangeOutcome): Node => {
    assert.equal(outcome.kind, "moved");
    return (outcome as { node: Node }).node;
  };

  test("return the same node when its name is registered again", async () => {
    const first = await register("box");
    assert.equal((await register("box")).id, first.id);
    assert.notEqual((await register("box", await openHost())).id, first.id);
  });

  test("store the chosen models and the resulting standing in one statement", async () => {
    const { id } = await register("elects");
    assert.deepEqual(node(await fleet.elect(host, id, ["b", "a"])).models, ["a", "b"]);
    const less = node(await fleet.elect(host, id, ["b", "c"]));
    assert.deepEqual([less.models, less.standing], [["b", "c"], "ready"]);
    const none = node(await fleet.elect(host, id, []));
    assert.deepEqual([none.models, none.standing], [[], "registered"]);
  });

  test("treat a node of another account as absent", async () => {
    const { id } = await register("mine");
    const other = await openHost();
    assert.equal(await fleet.find(other, id), undefined);
    assert.deepEqual(await fleet.move(other, id, "pause"), { kind: "absent" });
    assert.deepEqual(await fleet.elect(other, id, ["a"]), { kind: "absent" });
    assert.equal((await fleet.list(other, { limit: 100 })).length, 0);
  });

  test("store a quarantine with its evidence; the node cannot resume, and is paused after its release", async () => {
    const { id } = await register("bad");
    await fleet.elect(host, id, ["a"]);
    const before = new Date(Date.now() - 1000);
    const why = { reason: "failures", evidence: { failures: 5 }, by: "platform" };
    const barred = node(await fleet.quarantine(id, why));
    assert.equal(barred.standing, "quarantined");
    assert.deepEqual({ ...barred.quarantine, at: undefined }, { ...why, at: undefined });
    const again = node(await fleet.quarantine(id, { ...why, reason: "something else" }));
    assert.equal(again.quarantine?.reason, "failures", "the first reason stands");
    assert.deepEqual(await fleet.move(host, id, "resume"), { kind: "refused", standing: "quarantined" });
    assert.ok((await fleet.barredSince(before)).includes(id));
    const free = node(await fleet.release(id, "idn_1"));
    assert.deepEqual([free.standing, free.quarantine], ["paused", null]);
    assert.ok(!(await fleet.barredSince(before)).includes(id));
    assert.deepEqual(await fleet.release(id, "idn_1"), { kind: "refused", standing: "paused" });
    const { rows } = await db.pool.query("select released_by from node_quarantine where node_id = $1", [id]);
    assert.deepEqual(rows, [{ released_by: "idn_1" }]);
  });

  test("agree on whether a node is quarantined after twenty concurrent quarantines and releases", async () => {
    const { id } = await register("raced");
    await fleet.elect(host, id, ["a"]);
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        i % 2 === 0
          ? fleet.quarantine(id, { reason: `r${i}`, evidence: {}, by: "platform" })
          : fleet.release(id, "idn_1"),
      ),
    );
    const now = await fleet.find(null, id);
    assert.equal(now?.standing === "quarantined", now?.quarantine !== null);
  });
});
