/** Three gateways keep one record of each node's canaries: an answer that one of them judges counts on all. */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import type { Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { type ManualClock, manualClock, seededRandom, waitOneTurn } from "../base/testing.ts";
import { openPeerGateways } from "../dispatch/exchange/peer-gateways.ts";
import { Roster } from "../dispatch/roster.ts";
import { FakeNode, MemoryPlane } from "../dispatch/testing.ts";
import { type CanaryRecords, openCanaryRecords } from "./canary-records.ts";

const log = createLog("silent");
const WRONG = { model: "m", family: "note", passed: false, rate: 0.9, sampled: true, why: "unexpected answer" };

interface TestGateway {
  records: CanaryRecords;
  judged: [string, { failures: number }][];
}

describe("evidence from canaries shared by several gateways", () => {
  let clock: ManualClock;
  let plane: MemoryPlane;
  let gateways: TestGateway[];

  const open = (gatewayId: string): TestGateway => {
    const nodeRecord = async (id: string) => ({
      nodeId: id as Uuid,
      hostAccountId: `host of ${id}` as Uuid,
      models: ["m"],
    });
    const roster = new Roster({ plane, clock, random: seededRandom(1), log, nodeRecord });
    const peers = openPeerGateways({ plane, roster, gatewayId, clock, log });
    const judged: TestGateway["judged"] = [];
    const records = openCanaryRecords({
      peers,
      hostOf: (id) => roster.find(id)?.nodeRecord.hostAccountId,
      judged: (nodeId, evidence) => void judged.push([nodeId, evidence]),
    });
    return { records, judged };
  };
  const joins = async (id: string): Promise<void> => {
    new FakeNode(plane, { id, gatewayId: "a" }).report({ models: ["m"], slots: 1 });
    for (let i = 0; i < 3; i++) await waitOneTurn();
  };
  beforeEach(async () => {
    [clock, plane] = [manualClock(), new MemoryPlane()];
    gateways = ["a", "b", "c"].map(open);
    await joins("n");
    await joins("other");
    clock.advance(1_000);
  });
  const sums = (): number[] => gateways.map(({ records }) => Math.round(records.of("n", "m").sum * 100) / 100);

  test("is enough after seven wrong answers, whichever gateways judged them", () => {
    for (let i = 0; i < 6; i++) {
      gateways[i % 3]?.records.note("n", WRONG);
      clock.advance(1_000);
    }
    assert.deepEqual(new Set(sums()).size, 1);
    assert.deepEqual(
      gateways.flatMap(({ judged }) => judged),
      [],
    );
    gateways[1]?.records.note("n", WRONG);
    clock.advance(1_000);
    for (const { judged } of gateways)
      assert.deepEqual(
        judged.map(([id, { failures }]) => [id, failures]),
        [["n", 7]],
      );
    assert.deepEqual(sums(), [0, 0, 0]);
  });

  test("decreases at every gateway when one of them gets a right answer", () => {
    gateways[0]?.records.note("n", WRONG);
    clock.advance(1_000);
    gateways[2]?.records.note("n", { ...WRONG, passed: true });
    clock.advance(1_000);
    assert.deepEqual(new Set(sums()).size, 1);
    assert.ok((sums()[0] as number) < 1);
  });

  test("includes how often other hosts' nodes pass a family of questions", () => {
    for (let i = 0; i < 30; i++) gateways[i % 3]?.records.note("other", { ...WRONG, rate: null, passed: i % 2 === 0 });
    clock.advance(1_000);
    const question = { model: "m", family: "note", prior: 0.9 };
    const rates = gateways.map(({ records }) => records.rateOf("n", question));
    assert.ok(
      rates.every(({ rate, isKnown }) => isKnown && rate > 0.7 && rate < 0.75),
      JSON.stringify(rates),
    );
    assert.equal(gateways[0]?.records.rateOf("other", question).rate, 0.9, "a host is not held to its own");
  });

  test("is known to a gateway that starts later", async () => {
    gateways[0]?.records.note("n", WRONG);
    gateways[0]?.records.note("n", WRONG);
    clock.advance(1_000);
    gateways.push(open("d"));
    await joins("n");
    for (let i = 0; i < 5; i++) {
      clock.advance(1_000);
      await waitOneTurn();
    }
    assert.equal(new Set(sums()).size, 1);
    assert.ok((sums()[3] as number) > 4);
  });
});
