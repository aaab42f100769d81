/**
 * Tests against hosts who know how spot checks work: answers that cannot be scored, verifiers that are friends of the
 * node, and many nodes that cheat at once.
 */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { openTestDatabase, type TestDatabase } from "../../db/testing.ts";
import type { RosterNode } from "../../dispatch/roster-node.ts";
import { CheckerRig, HONEST_ANSWER, JUNK_ANSWER, MODEL, makeTestVector, RIG_EMBEDDING_MODEL } from "./testing-rig.ts";

describe("spot checks of hosts who know how the checks work", () => {
  let db: TestDatabase;
  let rig: CheckerRig;
  before(async () => {
    db = await openTestDatabase();
    rig = new CheckerRig(db);
  });
  beforeEach(() => rig.reset());
  after(() => db.close());

  describe("an answer that is too short to score", () => {
    const calibrateBrief = async (): Promise<void> => {
      for (const node of rig.nodes) rig.answers.set(node.id, () => "Yes.");
      for (let i = 0; i < 180; i++) await rig.check(rig.nodes[i % 4] as RosterNode, "Yes.");
    };
    test("leads to a quarantine if other nodes give longer answers, even if no answer was ever that short before", async () => {
      await rig.calibrate();
      const [cheat, other] = rig.nodes as [RosterNode, RosterNode];
      for (const each of [cheat, other])
        for (let i = 0; i < 150 && !rig.barred.some(([id]) => id === each.id); i++) await rig.check(each, "Yes.");
      assert.deepEqual(
        rig.barred.map(([id]) => id),
        [cheat.id, other.id],
      );
    });

    test("leads to a quarantine even if the gateway restarts while it builds the first sample of comparisons", async () => {
      await rig.calibrate();
      const [cheat] = rig.nodes as [RosterNode];
      for (let i = 0; i < 90; i++) await rig.check(cheat, "Yes.");
      await rig.open();
      for (let i = 0; i < 40 && rig.barred.length === 0; i++) await rig.check(cheat, "Yes.");
      assert.deepEqual(
        rig.barred.map(([id]) => id),
        [cheat.id],
      );
    });

    const untilBarred = async (cheat: RosterNode, text: string): Promise<void> => {
      for (let i = 0; i < 24 && rig.barred.length === 0; i++) await rig.check(cheat, text);
    };

    test("is compared with another node's answer, so that a node that cuts answers short is quarantined", async () => {
      await calibrateBrief();
      assert.deepEqual(rig.barred, []);
      rig.answers.clear();
      const [cheat] = rig.nodes as [RosterNode];
      await untilBarred(cheat, "Yes.");
      assert.deepEqual([rig.barred.length, rig.barred[0]?.[0]], [1, cheat.id]);
    });

    test("is compared with another node's answer even if it is empty, because a node could always begin with a stop string", async () => {
      for (const node of rig.nodes) rig.answers.set(node.id, () => "");
      for (let i = 0; i < 180; i++) await rig.check(rig.nodes[i % 4] as RosterNode, "");
      assert.deepEqual(rig.barred, [], "prompts that end at once bar nobody");
      rig.answers.clear();
      const [cheat] = rig.nodes as [RosterNode];
      await untilBarred(cheat, "");
      assert.equal(rig.barred.length, 1);
    });

    test("is compared with only the first 32 tokens of a verifier's answer, to limit the cost", async () => {
      await rig.check(rig.nodes[0] as RosterNode, "Yes.");
      assert.deepEqual(new Set(rig.jobs.map(({ outputTokensMax }) => outputTokensMax)), new Set([32]));
    });

    test("is scored if it is short because of the request's own output cap", async () => {
      await rig.check(rig.nodes[0] as RosterNode, "Yes.", { outputTokensMax: 1 });
      const { rows } = await db.pool.query("select method, class from spot_check");
      assert.deepEqual(rows, [{ method: "text", class: "greedy-brief" }]);
    });

    test("does not lead to a quarantine if the node's engine words one answer in five unlike all other engines", async () => {
      for (const node of rig.nodes) rig.answers.set(node.id, () => "The box is red.");
      for (let i = 0; i < 180; i++) await rig.check(rig.nodes[i % 4] as RosterNode, "The box is red.");
      const [node] = rig.nodes as [RosterNode];
      for (let i = 0; i < 100; i++) await rig.check(node, i % 5 === 0 ? "Crimson!" : "The box is red.");
      assert.deepEqual(rig.barred, []);
    });

    test("is compared by nodes of every engine, so that the sample has answers of all engines", async () => {
      const [node] = rig.nodes as [RosterNode];
      // Five other hosts can score, which is enough for both verifiers of an answer that is scored.
      const [other, ...more] = [await rig.openNode(), await rig.openNode(), await rig.openNode()];
      other.scores = {};
      rig.nodes.push(other, ...more);
      for (let i = 0; i < 24; i++) await rig.check(node, "Yes.");
      assert.ok(rig.asked.includes(other.id));
    });

    test("does not lead to a quarantine if every node answers the prompt differently", async () => {
      await calibrateBrief();
      const [node, ...others] = rig.nodes as RosterNode[];
      for (const [i, other] of others.entries()) rig.answers.set(other.id, () => `${"other ".repeat(9 + i * 8)}${i}`);
      for (let i = 0; i < 16; i++) await rig.check(node as RosterNode, "Yes.");
      assert.deepEqual(rig.barred, []);
      assert.ok(((await rig.verdicts(node as RosterNode)).odd ?? 0) > 0);
    });
  });

  describe("an answer of a length that honest answers never have", () => {
    const LONG = { completionTokens: 90 };
    const calibrateLong = async (): Promise<void> => {
      for (let i = 0; i < 180; i++) await rig.check(rig.nodes[i % 4] as RosterNode, HONEST_ANSWER, LONG);
    };

    test("is compared with the scores of other lengths, so that a node that gives only short answers is quarantined", async () => {
      await calibrateLong();
      const [cheat] = rig.nodes as [RosterNode];
      for (let i = 0; i < 16 && rig.barred.length === 0; i++) await rig.check(cheat, JUNK_ANSWER);
      assert.deepEqual([rig.barred.length, rig.barred[0]?.[0]], [1, cheat.id]);
    });

    test("leads to a quarantine even if nodes of many owners give such answers together", async () => {
      await calibrateLong();
      const cheats = await Promise.all(Array.from({ length: 8 }, () => rig.openNode()));
      rig.nodes = [...rig.nodes, ...cheats];
      for (const cheat of cheats) cheat.slots = 0;
      for (let round = 0; round < 25; round++)
        for (const cheat of cheats)
          if (!rig.barred.some(([id]) => id === cheat.id)) await rig.check(cheat, JUNK_ANSWER);
      assert.equal(new Set(rig.barred.map(([id]) => id)).size, 8);
    });

    test("is judged bad even if the verifiers' own answers to the request have another length", async () => {
      const long = Array.from({ length: 90 }, (_, i) => `word${i}`).join(" ");
      const likely = (answer: string): number => (answer === HONEST_ANSWER ? -0.6 : answer === long ? -3 : -8);
      for (const node of rig.nodes) {
        rig.lies.set(node.id, likely);
        rig.answers.set(node.id, () => long);
      }
      for (let i = 0; i < 480; i++) await rig.check(rig.nodes[i % 4] as RosterNode, i % 8 < 4 ? long : HONEST_ANSWER);
      const [cheat] = rig.nodes as [RosterNode];
      for (let i = 0; i < 16 && rig.barred.length === 0; i++) await rig.check(cheat, JUNK_ANSWER);
      assert.deepEqual([rig.barred.length, rig.barred[0]?.[0]], [1, cheat.id]);
    });

    test("is compared only with scores of answers of that length once other hosts give such answers too", async () => {
      for (let i = 0; i < 480; i++)
        await rig.check(rig.nodes[i % 4] as RosterNode, HONEST_ANSWER, i % 8 < 4 ? LONG : {});
      assert.deepEqual(rig.barred, []);
      const [cheat] = rig.nodes as [RosterNode];
      for (let i = 0; i < 16 && rig.barred.length === 0; i++) await rig.check(cheat, JUNK_ANSWER);
      assert.equal(rig.barred.length, 1);
    });
  });

  describe("a verifier", () => {
    test("is chosen among hosts, not nodes, so that a host with many nodes verifies no more answers than others", async () => {
      const [node, large] = rig.nodes as [RosterNode, RosterNode];
      for (let i = 0; i < 30; i++) {
        const more = await rig.openNode();
        more.nodeRecord = { ...large.nodeRecord, nodeId: more.nodeRecord.nodeId };
        rig.nodes.push(more);
      }
      for (let i = 0; i < 120; i++) await rig.check(node, HONEST_ANSWER);
      const ofLarge = new Set(
        rig.nodes
          .filter(({ nodeRecord }) => nodeRecord.hostAccountId === large.nodeRecord.hostAccountId)
          .map(({ id }) => id),
      );
      const share = rig.asked.filter((id) => ofLarge.has(id)).length / rig.asked.length;
      assert.ok(share > 0.2 && share < 0.47, `${share}`);
    });

    test("is not always on the same host, even if only one host has the best scoring method", async () => {
      const [node, alone] = rig.nodes as [RosterNode, RosterNode];
      for (const other of rig.nodes) if (other !== alone) other.scores = { [MODEL]: "next" };
      for (let i = 0; i < 120; i++) await rig.check(node, HONEST_ANSWER);
      const share = rig.asked.filter((id) => id === alone.id).length / rig.asked.length;
      assert.ok(share > 0.2 && share < 0.5, `${share}`);
    });
  });

  test("quarantine the nodes of twenty owners who begin to cheat at the same time", async () => {
    await rig.calibrate();
    const cheats = await Promise.all(Array.from({ length: 20 }, () => rig.openNode()));
    const honest = rig.nodes;
    rig.nodes = [...honest, ...cheats];
    // Without slots the cheats are not chosen as verifiers. Other tests cover verifiers that cheat.
    for (const cheat of cheats) cheat.slots = 0;
    for (let round = 0; round < 15; round++) {
      for (const cheat of cheats) if (!rig.barred.some(([id]) => id === cheat.id)) await rig.check(cheat, JUNK_ANSWER);
    }
    assert.equal(new Set(rig.barred.map(([id]) => id)).size, 20);
  });

  test("quarantine the nodes of twenty owners who cheat at the same time, each after 10,000 honest answers", async () => {
    await rig.calibrate();
    const cheats = await Promise.all(Array.from({ length: 20 }, () => rig.openNode()));
    rig.nodes = [...rig.nodes, ...cheats];
    for (const cheat of cheats) {
      cheat.slots = 0;
      cheat.nodeRecord = { ...cheat.nodeRecord, answers: { [MODEL]: 10_000 } };
    }
    for (let round = 0; round < 15; round++) {
      for (const cheat of cheats) if (!rig.barred.some(([id]) => id === cheat.id)) await rig.check(cheat, JUNK_ANSWER);
    }
    assert.equal(new Set(rig.barred.map(([id]) => id)).size, 20);
  });

  test("quarantine a node whose junk answers score like the few outliers in the sample of honest nodes' scores", async () => {
    for (const node of rig.nodes) node.nodeRecord = { ...node.nodeRecord, answers: { [MODEL]: 1_000 } };
    for (let i = 0; i < 240; i++) {
      const isOdd = i % 80 === 79;
      for (const node of rig.nodes) if (isOdd) rig.lies.set(node.id, () => -8);
      await rig.check(rig.nodes[i % 4] as RosterNode, HONEST_ANSWER);
      rig.lies.clear();
    }
    assert.deepEqual(rig.barred, []);
    const [cheat] = rig.nodes as [RosterNode];
    for (let i = 0; i < 60 && rig.barred.length === 0; i++) await rig.check(cheat, JUNK_ANSWER);
    assert.deepEqual([rig.barred.length, rig.barred[0]?.[0]], [1, cheat.id]);
  });

  test("leave disputed scores, which only one verifier found bad, out of the sample", async () => {
    await rig.calibrate();
    const [victim, liar] = rig.nodes as [RosterNode, RosterNode];
    rig.lies.set(liar.id, () => -9);
    for (let i = 0; i < 20; i++) await rig.check(victim, HONEST_ANSWER);
    const { rows } = await db.pool.query("select verdict, calibrates from spot_check where verdict = 'disputed'");
    assert.ok(rows.length > 0 && rows.every(({ calibrates }) => !calibrates));
  });

  test("check some texts of a large embeddings request, and quarantine a node that invents vectors for those", async () => {
    for (const node of rig.nodes) node.models.add(RIG_EMBEDDING_MODEL);
    const texts = Array.from({ length: 64 }, (_, i) => `text ${i}`);
    const right = texts.map((text) => Float32Array.from(makeTestVector(text)));
    for (let i = 0; i < 180; i++) await rig.checkVectors(rig.nodes[i % 4] as RosterNode, texts, right);
    assert.deepEqual(rig.barred, []);
    assert.deepEqual([...new Set(rig.jobs.map(({ inputs }) => inputs.length))], [16]);
    assert.equal(new Set(rig.jobs.flatMap(({ inputs }) => inputs)).size, 64, "each text may be drawn");
    const [cheat] = rig.nodes as [RosterNode];
    const large = texts.map((text) => text + " word".repeat(4_000));
    assert.ok(JSON.stringify(large).length > 1024 * 1024);
    const wrong = large.map(() => Float32Array.from(makeTestVector(JUNK_ANSWER)));
    for (let i = 0; i < 16 && rig.barred.length === 0; i++) await rig.checkVectors(cheat, large, wrong);
    assert.equal(rig.barred.length, 1);
  });
});
