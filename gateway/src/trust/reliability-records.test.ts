/** Three gateways keep one record of each node: a job that one of them records counts on all. */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import type { Clock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { type ManualClock, manualClock, seededRandom, waitOneTurn } from "../base/testing.ts";
import { openPeerGateways } from "../dispatch/exchange/peer-gateways.ts";
import { Roster } from "../dispatch/roster.ts";
import type { AttemptFailure } from "../dispatch/running-attempt.ts";
import { FakeNode, MemoryPlane } from "../dispatch/testing.ts";
import type { QuarantineVerdict } from "./reliability.ts";
import { openReliabilityRecords, type ReliabilityRecords } from "./reliability-records.ts";

const log = createLog("silent");
interface TestGateway {
  records: ReliabilityRecords;
  clock: Clock;
  judged: QuarantineVerdict[];
}

describe("reliability records shared by several gateways", () => {
  let clock: ManualClock;
  let plane: MemoryPlane;
  let gateways: [TestGateway, TestGateway, TestGateway];
  let jobs: number;

  /** Starts the gateways at different times, so that their monotonic clocks differ. */
  const open = (gatewayId: string, startedMs: number): TestGateway => {
    const own = { ...clock, monotonic: () => clock.monotonic() - startedMs };
    const nodeRecord = async (id: string) => ({ nodeId: id as Uuid, hostAccountId: "h" as Uuid, models: ["m"] });
    const roster = new Roster({ plane, clock: own, random: seededRandom(1), log, nodeRecord });
    const peers = openPeerGateways({ plane, roster, gatewayId, clock: own, log });
    const judged: QuarantineVerdict[] = [];
    const records = openReliabilityRecords({ peers, clock: own, judged: (_node, verdict) => judged.push(verdict) });
    return { records, clock: own, judged };
  };
  beforeEach(() => {
    [clock, plane, jobs] = [manualClock(), new MemoryPlane(), 0];
    gateways = [open("a", 0), open("b", 1e9), open("c", -5e8)];
  });

  /** Records a job of this duration that ends now. */
  const end = (
    { records, clock: own }: TestGateway,
    failure: AttemptFailure | null,
    ms = 100,
  ): QuarantineVerdict | undefined => {
    const endedAt = own.monotonic();
    return records.note("n", { job: `job-${jobs++}`, failure, offeredAt: endedAt - ms, endedAt });
  };
  const counts = () => gateways.map(({ records }) => records.of("n").count());
  const all = <T>(value: T): T[] => [value, value, value];

  test("quarantine a node after five failures at three gateways, whichever gateway records the last one", () => {
    const [a, b, c] = gateways;
    for (const gateway of [a, b, c, a]) {
      assert.equal(end(gateway, "engine"), undefined);
      clock.advance(1_000);
    }
    assert.deepEqual(counts(), all({ jobs: 4, failures: 4 }));
    assert.deepEqual(end(b, "agent")?.evidence, { jobs: 5, failures: 5, kinds: { engine: 4, agent: 1 } });
    clock.advance(1_000);
    assert.deepEqual([a.judged.length, c.judged.length], [1, 1], "the others come to know, too");
  });

  test("quarantine a node for five failures spread over gateways, once the gateways have exchanged them", () => {
    const [a, b, c] = gateways;
    for (const gateway of [a, a, b, b, c]) assert.equal(end(gateway, "engine"), undefined);
    clock.advance(1_000);
    assert.deepEqual(
      gateways.map(({ judged }) => judged.map(({ reason }) => reason)),
      all(["failures"]),
    );
  });

  test("judge a node by the twenty jobs that ended last over all gateways", () => {
    const [a, b, c] = gateways;
    for (let i = 0; i < 4; i++) end(a, "engine");
    clock.advance(1_000);
    for (let i = 0; i < 30; i++) {
      end(i % 2 === 0 ? b : c, null);
      clock.advance(100);
    }
    clock.advance(1_000);
    assert.deepEqual(counts(), all({ jobs: 20, failures: 0 }));
  });

  test("count one failure for all jobs in flight at several gateways when a node's connection ends", () => {
    for (const gateway of gateways) {
      end(gateway, "lost", 2_000);
      clock.advance(50);
    }
    clock.advance(1_000);
    assert.deepEqual(counts(), all({ jobs: 1, failures: 1 }));
    for (const gateway of gateways) end(gateway, "lost", 500);
    clock.advance(1_000);
    assert.deepEqual(counts(), all({ jobs: 2, failures: 2 }));
  });

  test("are cleared at all gateways after a quarantine, and ignore late reports of earlier jobs", () => {
    const [a, b] = gateways;
    for (let i = 0; i < 3; i++) end(a, "engine");
    clock.advance(1_000);
    end(b, "engine");
    clock.advance(1);
    a.records.startAnew("n");
    clock.advance(1_000);
    assert.deepEqual(counts(), all({ jobs: 0, failures: 0 }));
    end(b, null);
    clock.advance(1_000);
    assert.deepEqual(counts(), all({ jobs: 1, failures: 0 }));
  });

  test("drop a node's misses (jobs without output) at all gateways when one gateway drops them", () => {
    const [a, b] = gateways;
    for (const failure of ["miss", "engine", "miss"] as const) end(b, failure);
    clock.advance(1_000);
    a.records.forgetMisses("n");
    clock.advance(1_000);
    assert.deepEqual(counts(), all({ jobs: 1, failures: 1 }));
  });

  test("excuse a node's stall at all gateways when one gateway excuses it", () => {
    const [a, b] = gateways;
    end(b, "silent");
    end(b, "engine");
    clock.advance(1_000);
    a.records.forgive("n", a.clock.monotonic() - 5_000);
    clock.advance(1_000);
    assert.deepEqual(counts(), all({ jobs: 1, failures: 1 }));
    end(b, "silent");
    clock.advance(1_000);
    assert.deepEqual(counts(), all({ jobs: 2, failures: 2 }), "and nothing that comes after");
  });

  test("limit how many refused prompts of one builder count, over all gateways together", () => {
    const refuse = ({ records, clock: own }: TestGateway, accountId: string): QuarantineVerdict | undefined => {
      const at = own.monotonic();
      const origin = { accountId, contextPart: 0.5 };
      return records.note("n", { job: `job-${jobs++}`, failure: "prompt", offeredAt: at, endedAt: at, origin });
    };
    for (let i = 0; i < 30; i++) {
      refuse(gateways[i % 3] as TestGateway, "one builder");
      clock.advance(300);
    }
    assert.deepEqual(counts(), all({ jobs: 3, failures: 0 }));
  });

  test("are sent once to a gateway that starts later, as soon as the node joins there", async () => {
    const [a, b] = gateways;
    for (const gateway of [a, b, a]) end(gateway, "engine");
    end(b, null);
    clock.advance(1_000);
    const late = open("late", 7e7);
    new FakeNode(plane, { id: "n", gatewayId: "a" }).report({ models: ["m"], slots: 1 });
    await waitOneTurn();
    clock.advance(1_000);
    assert.deepEqual(late.records.of("n").count(), { jobs: 4, failures: 3 });
    end(late, "engine");
    assert.equal(end(late, "engine")?.reason, "failures");
    clock.advance(1_000);
    assert.deepEqual(counts(), all({ jobs: 6, failures: 5 }));
  });
});
