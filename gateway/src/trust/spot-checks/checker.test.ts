/**
 * Tests spot checks from the random draw to the quarantine, with a real database and verifiers that the test controls.
 */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { pico } from "../../base/money.ts";
import { openTestDatabase, type TestDatabase } from "../../db/testing.ts";
import type { RosterNode } from "../../dispatch/roster-node.ts";
import type { QuarantineVerdict } from "../reliability.ts";
import { openCheckReader } from "./check-reader.ts";
import { addCheck, INITIAL_TEST_STATE, NEUTRAL_FACTORS } from "./sequential-test.ts";
import { countNodeChecks, openCheckStore, pruneChecks } from "./store.ts";
import { CheckerRig, HONEST_ANSWER, JUNK_ANSWER, MODEL, RIG_EMBEDDING_MODEL } from "./testing-rig.ts";

describe("spot checks", () => {
  let db: TestDatabase;
  let rig: CheckerRig;
  before(async () => {
    db = await openTestDatabase();
    rig = new CheckerRig(db);
  });
  beforeEach(() => rig.reset());
  after(() => db.close());

  test("quarantine a node that returns junk, record its scores, and withhold its earnings since its last good check", async () => {
    await rig.calibrate();
    assert.deepEqual(rig.barred, []);
    const [cheat] = rig.nodes as [RosterNode];
    const lastChecked = "select at from spot_check_test where node_id = $1";
    const [since] = (await db.pool.query(lastChecked, [cheat.nodeRecord.nodeId])).rows.map(({ at }) => at);
    for (let i = 0; i < 12 && rig.barred.length === 0; i++) await rig.check(cheat, JUNK_ANSWER);
    assert.equal(rig.barred.length, 1);
    const [nodeId, { reason, evidence }] = (rig.barred as [string, QuarantineVerdict][])[0] ?? assert.fail();
    assert.deepEqual([nodeId, reason, evidence.model], [cheat.id, "spot_check", MODEL]);
    const scores = evidence.scores as { at: string; score: number }[];
    assert.ok(scores.length >= 3 && scores.every(({ score }) => score === -8));
    assert.doesNotMatch(JSON.stringify(evidence), /lorem/);
    assert.deepEqual(rig.withheld, [[cheat.nodeRecord.nodeId, since]]);
  });

  test("check a node more often if other statistics make it suspicious", async () => {
    const [node] = rig.nodes as [RosterNode];
    node.nodeRecord = { ...node.nodeRecord, answers: { [MODEL]: 100_000 } };
    const drawn = (): number =>
      Array.from({ length: 2_000 }, () => rig.checks.draws(node.id, MODEL)).filter(Boolean).length;
    assert.ok(drawn() < 60);
    rig.odd.add(node.id);
    assert.ok(drawn() > 300);
  });

  test("check a node's answers with a new model as often as a new node's, whatever record it has with other models", async () => {
    const [node] = rig.nodes as [RosterNode];
    node.nodeRecord = { ...node.nodeRecord, answers: { "its-own-model": 100_000 } };
    for (let i = 0; i < 2_000; i++) rig.checks.draws(node.id, "its-own-model");
    const drawn = Array.from({ length: 190 }, () => rig.checks.draws(node.id, MODEL)).filter(Boolean).length;
    assert.ok(drawn > 15, `${drawn} of 190`);
  });

  test("store no text, count answers, and pay verifiers 70 % of the price", async () => {
    const [node] = rig.nodes as [RosterNode];
    for (let i = 0; i < 40; i++) rig.checks.draws(node.id, MODEL);
    await rig.check(node, HONEST_ANSWER);
    const { rows } = await db.pool.query("select to_jsonb(c)::text as c from spot_check c");
    assert.equal(rows.length, 1);
    assert.doesNotMatch(rows[0].c, /plain words|say something/);
    assert.deepEqual(await countNodeChecks(db.pool, node.nodeRecord.nodeId), {
      answers: { [MODEL]: 40 },
      checked: { [MODEL]: 0 },
      suspected: false,
    });
    assert.deepEqual(await countNodeChecks(db.pool, rig.newId()), { answers: {}, checked: {}, suspected: false });
    assert.deepEqual(
      rig.paid.map(([, amount]) => amount),
      [((5n + 18n) * 10n * 7n) / 10n],
    );
    assert.notEqual(rig.paid[0]?.[0], node.nodeRecord.hostAccountId);
  });

  test("pay verifiers even for a check that could not be recorded", async () => {
    rig.recordFailure = new Error("the database is unreachable");
    await rig.check(rig.nodes[0] as RosterNode, HONEST_ANSWER);
    assert.equal(rig.paid.length, 1);
  });

  test("add a verifier's pay to the amount due to its host once for each recorded check", async () => {
    const [node, verifier, other] = rig.nodes as [RosterNode, RosterNode, RosterNode];
    const [at, id] = [new Date(rig.clock.now()), rig.newId()];
    const check = {
      ...{ id, requestId: rig.newId(), nodeId: node.nodeRecord.nodeId, model: MODEL, at, answers: 5 },
      ...({ verifierId: verifier.nodeRecord.nodeId, method: "text", class: "greedy-short", score: undefined } as const),
      ...{ badness: 2, verdict: "ok", calibrates: false, tokens: 7, cost: pico(30n) },
    };
    const earned = (by: RosterNode, amount: bigint) => ({
      ...{ id: rig.newId(), hostId: by.nodeRecord.hostAccountId, amount: pico(amount) },
    });
    const store = openCheckStore(db.pool);
    const noted = { factors: NEUTRAL_FACTORS, confirmedBad: false };
    await store.record(check, noted, [earned(verifier, 10n), earned(other, 20n), earned(verifier, 1n)]);
    await assert.rejects(store.record(check, noted, [earned(other, 500n)]), /duplicate key/);
    await store.record({ ...check, id: rig.newId() }, undefined, [earned(other, 4n)]);
    await store.owe([earned(verifier, 100n)]);
    const { rows } = await db.pool.query(
      "select amount_pico::int as due from spot_check_due where host_id = any($1) order by 1",
      [[verifier, other].map(({ nodeRecord }) => nodeRecord.hostAccountId)],
    );
    assert.deepEqual(rows, [{ due: 24 }, { due: 111 }]);
  });

  test("do not quarantine a node because of one lying verifier, and stop using that verifier", async () => {
    await rig.calibrate();
    const [victim, liar] = rig.nodes as [RosterNode, RosterNode];
    rig.lies.set(liar.id, () => -9);
    for (let i = 0; i < 60; i++) await rig.check(victim, HONEST_ANSWER);
    assert.deepEqual(rig.barred, []);
    assert.ok(((await rig.verdicts(victim)).disputed ?? 0) >= 1);
    rig.asked = [];
    for (let i = 0; i < 20; i++) await rig.check(victim, HONEST_ANSWER);
    assert.equal(rig.asked.filter((id) => id === liar.id).length, 0);
  });

  test("stop using a verifier that approves a suspected friend's answers, and not the verifiers that find them bad", async () => {
    rig.nodes.push(await rig.openNode(), await rig.openNode());
    await rig.calibrate();
    const [cheat, friend] = rig.nodes as [RosterNode, RosterNode];
    // The friend is honest about every other node's answers.
    rig.lies.set(friend.id, (answer) => (answer === JUNK_ANSWER ? -0.6 : undefined));
    for (let i = 0; i < 60; i++) await rig.check(cheat, JUNK_ANSWER);
    assert.ok(rig.barred.length > 0);
    rig.asked = [];
    const [, , ...honest] = rig.nodes;
    for (let i = 0; i < 60; i++) await rig.check(cheat, HONEST_ANSWER);
    assert.equal(rig.asked.filter((id) => id === friend.id).length, 0);
    for (const { id } of honest) assert.ok(rig.asked.includes(id), "an honest verifier is still used");
  });

  test("do not use a verifier that erred often, even after a restart of the gateway", async () => {
    await rig.calibrate();
    const [victim, liar] = rig.nodes as [RosterNode, RosterNode];
    rig.lies.set(liar.id, () => -9);
    for (let i = 0; i < 60; i++) await rig.check(victim, HONEST_ANSWER);
    rig.lies.clear();
    await rig.open();
    rig.asked = [];
    for (let i = 0; i < 20; i++) await rig.check(victim, HONEST_ANSWER);
    assert.ok(!rig.asked.includes(liar.id));
    const { rows } = await db.pool.query("select max(cardinality(errors)) as most from spot_check_verifier");
    assert.ok(rows[0].most <= 20);
  });

  const DOUBTS: [string, (node: RosterNode) => unknown][] = [
    ["spot checks have strong evidence against it", (node) => Object.assign(node.nodeRecord, { suspected: true })],
    ["its answers have unusual lengths", ({ id }) => rig.odd.add(id)],
    ["it failed many jobs", ({ id }) => rig.unreliable.add(id)],
    ["it declined many offers", (node) => Object.assign(node, { inGoodStanding: false })],
    ["it is on probation", (node) => Object.assign(node.nodeRecord, { answersOwed: 3 })],
  ];
  for (const [doubt, cast] of DOUBTS)
    test(`no longer use a node as verifier when ${doubt}, unless it is a reference node`, async () => {
      const [node, verifier] = rig.nodes as [RosterNode, RosterNode];
      rig.nodes = [node, verifier];
      await rig.check(node, HONEST_ANSWER);
      assert.deepEqual(new Set(rig.asked), new Set([verifier.id]));
      rig.asked = [];
      cast(verifier);
      await rig.check(node, HONEST_ANSWER);
      assert.deepEqual(rig.asked, []);
      await rig.open([verifier.nodeRecord.hostAccountId]);
      await rig.check(node, HONEST_ANSWER);
      assert.deepEqual(new Set(rig.asked), new Set([verifier.id]));
    });

  test("report strong evidence against a node in its record", async () => {
    await rig.calibrate();
    const [cheat] = rig.nodes as [RosterNode];
    const isSuspected = async () => (await countNodeChecks(db.pool, cheat.nodeRecord.nodeId)).suspected;
    assert.equal(await isSuspected(), false);
    for (let i = 0; i < 12 && rig.barred.length === 0; i++) await rig.check(cheat, JUNK_ANSWER);
    assert.equal(await isSuspected(), true);
  });

  test("use traps (shuffled answers) to find a verifier that approves every answer", async () => {
    await rig.calibrate();
    const [victim, lazy] = rig.nodes as [RosterNode, RosterNode];
    rig.lies.set(lazy.id, () => -0.6);
    rig.nodes = [victim, lazy];
    for (let i = 0; i < 200; i++) await rig.check(victim, HONEST_ANSWER);
    assert.ok(((await rig.verdicts(victim)).trap_missed ?? 0) >= 3);
    rig.asked = [];
    await rig.check(victim, HONEST_ANSWER);
    assert.deepEqual(rig.asked, [], "nobody is left to ask");
  });

  test("do not quarantine a node for a prompt that makes every node's answer look bad", async () => {
    await rig.calibrate();
    const [node] = rig.nodes as [RosterNode];
    for (const each of rig.nodes) rig.lies.set(each.id, () => -8);
    for (let i = 0; i < 15; i++) await rig.check(node, HONEST_ANSWER);
    assert.deepEqual(rig.barred, []);
    assert.ok(((await rig.verdicts(node)).odd ?? 0) > 0);
  });

  test("accept the result of a single verifier if it is a reference node (one of the operator's own), which is not paid", async () => {
    await rig.calibrate();
    const [cheat, reference] = rig.nodes as [RosterNode, RosterNode];
    rig.nodes = [cheat, reference];
    await rig.open([reference.nodeRecord.hostAccountId]);
    rig.paid = [];
    for (let i = 0; i < 12 && rig.barred.length === 0; i++) await rig.check(cheat, JUNK_ANSWER);
    assert.equal(rig.barred.length, 1);
    assert.deepEqual(rig.paid, []);
  });

  test("compare answers by their embeddings if no engine can score, and pay the node that computes them", async () => {
    for (const node of rig.nodes) node.scores = {};
    const embedder = await rig.openNode();
    embedder.models = new Set([RIG_EMBEDDING_MODEL]);
    rig.nodes.push(embedder);
    const answering = rig.nodes.slice(0, 4);
    for (let i = 0; i < 180; i++) await rig.check(answering[i % 4] as RosterNode, HONEST_ANSWER);
    const { rows } = await db.pool.query("select distinct method from spot_check");
    assert.deepEqual(rows, [{ method: "meaning" }]);
    const price = (36n * 1000n * 7n) / 10n;
    const toEmbedder = rig.paid.filter(([host]) => host === embedder.nodeRecord.hostAccountId);
    assert.deepEqual(new Set(toEmbedder.map(([, amount]) => amount)), new Set([price]));
    assert.ok(toEmbedder.length >= 180);
    const [cheat] = rig.nodes as [RosterNode];
    for (let i = 0; i < 24 && rig.barred.length === 0; i++) await rig.check(cheat, JUNK_ANSWER);
    assert.deepEqual([rig.barred.length, rig.barred[0]?.[0]], [1, cheat.id]);
  });

  test("compare answers by their words if there is neither a scoring engine nor an embedding node", async () => {
    for (const node of rig.nodes) node.scores = {};
    await rig.check(rig.nodes[0] as RosterNode, HONEST_ANSWER);
    const { rows } = await db.pool.query("select method, mean from spot_check where verdict <> 'sample'");
    assert.deepEqual([rows.length, rows[0].method, Math.round(rows[0].mean * 1000)], [1, "words", 1000]);
  });

  test("choose no verifier with the same owner, and drop the check if there is no other", async () => {
    const [node, kin] = rig.nodes as [RosterNode, RosterNode];
    kin.nodeRecord = { ...kin.nodeRecord, owners: [rig.newId(), ...(node.nodeRecord.owners as string[])] };
    rig.nodes = [node, kin];
    await rig.check(node, HONEST_ANSWER);
    assert.deepEqual([rig.asked, rig.checks.counts.dropped], [[], 1]);
  });

  test("keep the evidence against a node over a restart", async () => {
    await rig.calibrate();
    const [cheat] = rig.nodes as [RosterNode];
    for (let i = 0; i < 2; i++) await rig.check(cheat, JUNK_ANSWER);
    await rig.open();
    let more = 0;
    while (rig.barred.length === 0 && more < 12) {
      await rig.check(cheat, JUNK_ANSWER);
      more += 1;
    }
    assert.equal(rig.barred.length, 1);
    assert.ok((rig.barred[0]?.[1].evidence.bad_scores as number) > more - 2);
  });

  const reader = () => openCheckReader({ pool: db.pool, isThere: () => true });

  test("add up the evidence that several gateways record", async () => {
    const stores = [openCheckStore(db.pool), openCheckStore(db.pool), openCheckStore(db.pool)];
    const [node, verifier] = rig.nodes as [RosterNode, RosterNode];
    const factors = NEUTRAL_FACTORS.map(() => 2);
    let expected = INITIAL_TEST_STATE;
    // PostgreSQL stores microseconds, but JavaScript dates only milliseconds. The stores must be able to update this
    // row, although they read its time without the microsecond.
    await db.pool.query(
      `insert into spot_check_test (node_id, model, at, evidence, confirmed, watch)
       values ($1, $2, '1970-01-01 00:00:00.000001Z', $3, 0, 0)`,
      [node.nodeRecord.nodeId, MODEL, INITIAL_TEST_STATE.evidence],
    );
    expected = { ...INITIAL_TEST_STATE, at: 0 };
    for (let round = 1; round <= 4; round++) {
      const at = new Date(round * 86_400_000);
      const written = stores.map((store) =>
        store.record(
          {
            ...{
              id: rig.newId(),
              requestId: rig.newId(),
              nodeId: node.nodeRecord.nodeId,
              model: MODEL,
              at,
              answers: 5,
            },
            ...{ verifierId: verifier.nodeRecord.nodeId, method: "text", class: "greedy-short", score: undefined },
            ...{ badness: 2, verdict: "ok", calibrates: false, tokens: 7, cost: pico(3n) },
          },
          { factors, confirmedBad: false },
          [],
        ),
      );
      await Promise.all(written);
      for (const _ of stores) expected = addCheck(expected, { at: at.getTime(), factors, confirmedBad: false });
    }
    const { rows } = await db.pool.query("select evidence from spot_check_test");
    assert.deepEqual(rows, [{ evidence: expected.evidence }]);
    assert.deepEqual(await countNodeChecks(db.pool, node.nodeRecord.nodeId), {
      answers: { [MODEL]: 60 },
      checked: { [MODEL]: 12 },
      suspected: true,
    });
    assert.deepEqual((await db.pool.query("select count(*)::int as n from spot_check")).rows, [{ n: 12 }]);
  });

  test("count a node's judged answers by model, without traps and without answers that no verifier could judge", async () => {
    const [node] = rig.nodes as [RosterNode];
    const { nodeId } = node.nodeRecord;
    const judged = async (): Promise<number> => (await countNodeChecks(db.pool, nodeId)).checked[MODEL] ?? 0;
    await rig.check(node, HONEST_ANSWER);
    assert.deepEqual(await rig.verdicts(node), { unjudged: 1 }, "the sample is too small");
    assert.equal(await judged(), 0);
    await rig.calibrate();
    for (let i = 0; i < 40; i++) await rig.check(node, HONEST_ANSWER);
    const { unjudged = 0, trap_seen = 0, trap_missed = 0, ...others } = await rig.verdicts(node);
    assert.ok(unjudged > 0 && trap_seen + trap_missed > 0, JSON.stringify({ unjudged, trap_seen, trap_missed }));
    assert.equal(
      await judged(),
      Object.values(others).reduce((sum, count) => sum + count, 0),
    );
    assert.ok((await judged()) >= 30);
  });

  test("delete old checks and keep their results", async () => {
    const [node] = rig.nodes as [RosterNode];
    for (let i = 0; i < 2; i++) {
      rig.checks.draws(node.id, MODEL);
      await rig.check(node, HONEST_ANSWER);
    }
    const { nodeId } = node.nodeRecord;
    await db.pool.query(
      "update spot_check set at = at - interval '1 day' where id = (select min(id::text)::uuid from spot_check)",
    );
    const { rows } = await db.pool.query<{ newest: Date }>("select max(at) as newest from spot_check");
    assert.equal(await pruneChecks(db.pool, rows[0]?.newest as Date), 1);
    assert.equal((await reader().list(nodeId, { limit: 10 })).length, 1);
    assert.equal((await countNodeChecks(db.pool, nodeId)).answers[MODEL], 2);
  });

  test("are counted by node and model; traps (shuffled answers) and calibration samples do not count", async () => {
    const [node, other] = rig.nodes as [RosterNode, RosterNode];
    await openCheckStore(db.pool).recordSample({
      ...{ id: rig.newId(), requestId: rig.newId(), at: new Date(rig.clock.now()) },
      ...{ model: MODEL, method: "words", class: "greedy", score: { mean: 0.4, opening: 0.4, tail: 0, tokens: 9 } },
      verifierIds: [node.nodeRecord.nodeId, other.nodeRecord.nodeId],
    });
    await rig.check(node, HONEST_ANSWER);
    await rig.check(node, HONEST_ANSWER);
    await db.pool.query(
      "update spot_check set verdict = 'trap_seen' where id = (select max(id::text)::uuid from spot_check)",
    );
    const { nodeId } = node.nodeRecord;
    const sums = await reader().sums(new Date(0), nodeId);
    assert.deepEqual(
      sums.map(({ model: id, checks: n, bad, cost }) => [id, n, bad, cost]),
      [[MODEL, 1, 0, 161n]],
    );
    assert.deepEqual(await reader().sums(new Date(0), rig.nodes[1]?.nodeRecord.nodeId), []);
    const [kept] = await reader().list(nodeId, { limit: 10 });
    assert.deepEqual([kept?.model, kept?.verdict], [MODEL, "unjudged"]);
    assert.deepEqual(await reader().list(nodeId, { before: kept?.id, limit: 10 }), []);
    const models = (await reader().models(new Date(0))).map(({ checks: n, cost }) => [n, cost]);
    assert.deepEqual(models, [[1, 322n]], "what a trap costs is a cost of checks");
  });
});
