/** Failed jobs count against the node that caused them, also those of the last day, and five quarantine the node. */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { refusalPenaltyMs } from "../base/node-trust-thresholds.ts";
import { waitOneTurn } from "../base/testing.ts";
import type { FakeNode } from "../dispatch/testing.ts";
import { NO_OBSERVED_COUNTS } from "../fleet/node-record.ts";
import { NO_SINK, openTrustRig, type TrustRig } from "./testing-rig.ts";

describe("failures of nodes", () => {
  let rig: TrustRig;
  beforeEach(() => {
    rig = openTrustRig();
  });

  test("quarantines a node after five failures, not counting refusals and client disconnects", async () => {
    const node = await rig.join();
    await rig.answer(node, 1, "it is 12");
    const order = (i: number) => ({
      request: `06dfk3zq9v8n2x4m7t1c5w0r${String(i).padStart(2, "0")}`,
      header: { model: "tiny-3b", endpoint: "chat" as const, stream: false, output_tokens_max: 9, sampling: {} },
      body: { messages: [] },
    });
    const sink = NO_SINK;
    for (let i = 0; i < 10; i++) {
      const leaving = new AbortController();
      const running = rig.dispatcher.runOn("a", order(i), sink, leaving.signal);
      const job = await node.job(2 + i);
      if (i % 2 === 0) node.say({ kind: "accepted", job });
      if (i % 2 === 0) leaving.abort();
      else node.say({ kind: "busy", job });
      await running;
    }
    assert.deepEqual(rig.trust.reliability("a"), { jobs: 6, failures: 0, jobsWindow: 20, failuresMax: 5 });
    for (let i = 0; i < 5; i++) {
      assert.deepEqual(rig.barred, []);
      const running = rig.dispatcher.runOn("a", order(20 + i), sink, new AbortController().signal);
      const job = await node.job(12 + i);
      node.say({ kind: "accepted", job });
      node.say({ kind: "failed", job, seq: 0, cause: "engine", message: "" });
      await running;
    }
    await waitOneTurn();
    assert.deepEqual(rig.barred, [
      ["a", { reason: "failures", evidence: { jobs: 11, failures: 5, kinds: { engine: 5 } } }],
    ]);
  });

  describe("a node that stalls", () => {
    /** The node falls silent with this many requests in flight. */
    const stall = async (count: number): Promise<FakeNode> => {
      const node = await rig.join();
      await rig.answer(node, 1, "it is 12");
      const header = { model: "tiny-3b", endpoint: "chat", stream: true, output_tokens_max: 9, sampling: {} } as const;
      const sink = { ...NO_SINK, reachedClient: true };
      const running = Array.from({ length: count }, (_, i) => {
        const order = { request: `${i}`.padStart(26, "0"), header, body: { messages: [] } };
        return rig.dispatcher.run(order, sink, new AbortController().signal);
      });
      for (let nth = 2; nth < 2 + count; nth++) {
        const job = await node.job(nth);
        node.say({ kind: "accepted", job });
        node.delta(job, 0, "one word");
      }
      rig.clock.advance(2_300);
      for (const each of running) assert.equal((await each).end, "quiet");
      return node;
    };

    test("gets one failure per request while it stays connected", async () => {
      const node = await stall(4);
      node.report({ models: ["tiny-3b"], slots: 4 });
      await waitOneTurn();
      assert.equal(rig.trust.reliability("a").failures, 4);
      await rig.trust.stop();
      assert.deepEqual(rig.recorded, [["a", { ...NO_OBSERVED_COUNTS, silences: 4 }]]);
    });

    test("gets one failure for all requests if its connection turns out to be lost", async () => {
      await stall(4);
      rig.plane.drop("a");
      assert.equal(rig.trust.reliability("a").failures, 1);
    });
  });

  test("counts up to four failures of the last day when a node joins, and quarantines the node at the fifth failure", async () => {
    rig.lastDay = { answers: 2, failures: 9 };
    const node = await rig.join();
    await rig.answer(node, 1, "it is 12");
    assert.deepEqual([rig.trust.reliability("a").failures, rig.barred], [4, []]);
    const header = { model: "tiny-3b", endpoint: "chat", stream: true, output_tokens_max: 9, sampling: {} } as const;
    const order = { request: "z".repeat(26), header, body: { messages: [] } };
    const running = rig.dispatcher.run(order, NO_SINK, new AbortController().signal);
    const job = await node.job(2);
    node.say({ kind: "accepted", job });
    node.say({ kind: "failed", job, seq: 0, cause: "engine", message: "" });
    await running;
    await waitOneTurn();
    assert.equal(rig.barred[0]?.[1].reason, "failures");
  });

  test("counts failures of the host's other nodes when a node joins, by their share of the jobs", async () => {
    [rig.lastDay, rig.lastDayOfHost] = [{ answers: 100 }, { answers: 150, failures: 10, silences: 10 }];
    await rig.join();
    assert.equal(rig.trust.reliability("a").failures, 2);
  });

  for (const whose of ["the node or a retired one", "another node of the host"])
    test(`prefers other nodes to a joining node if ${whose} declined offers during the last day`, async () => {
      const seen = { answers: 12, refusals: 6, late: 6 };
      [rig.lastDay, rig.lastDayOfHost] = whose.startsWith("the node") ? [seen, {}] : [{}, seen];
      await rig.join();
      const node = rig.roster.find("a");
      assert.deepEqual([node?.inGoodStanding, node?.slots], [false, 4]);
      assert.equal((node?.shunnedUntil ?? 0) - rig.clock.monotonic(), refusalPenaltyMs(10));
    });

  test("keeps a joining node in good standing if it declined only one offer of a hundred", async () => {
    rig.lastDay = { answers: 990, refusals: 5, late: 5 };
    await rig.join();
    assert.deepEqual([rig.roster.find("a")?.inGoodStanding, rig.roster.find("a")?.shunnedUntil], [true, 0]);
  });

  test("counts nothing against a node when its jobs end because the dispatch plane fails", async () => {
    const node = await rig.join();
    await rig.answer(node, 1, "it is 12");
    const before = rig.trust.reliability("a");
    let nth = 1;
    for (let i = 0; i < 10; i++) {
      const header = { model: "tiny-3b", endpoint: "chat", stream: true, output_tokens_max: 9, sampling: {} } as const;
      const request = `0${i}dfk3zq9v8n2x4m7t1c5w0rbe`;
      const body = { messages: [{ role: "user", content: "hi" }] };
      const sink = { ...NO_SINK, reachedClient: true };
      const running = rig.dispatcher.run({ request, header, body }, sink, new AbortController().signal);
      const job = await node.job(++nth);
      if (i % 2 === 0) {
        node.say({ kind: "accepted", job });
        node.delta(job, 0, "x");
      }
      rig.plane.goAway();
      assert.equal((await running).end, "cut");
      rig.plane.comeBack();
      node.report({ models: ["tiny-3b"], slots: 4 });
      await waitOneTurn();
    }
    assert.deepEqual(rig.trust.reliability("a"), before);
    assert.deepEqual(rig.barred, []);
    assert.equal(rig.jobs(node), 11, "nor is it probed anew");
  });

  test("ignores refused prompts near the context limit, and counts at most three refused prompts of one builder", async () => {
    const node = await rig.join();
    await rig.answer(node, 1, "it is 12");
    let nth = 2;
    const refuse = async (accountId: string, promptTokens: number): Promise<void> => {
      const request = `06dfk3zq9v8n2x4m7t1c5w0r${String(nth).padStart(2, "0")}`;
      const header = { model: "tiny-3b", endpoint: "chat" as const, stream: false, output_tokens_max: 9, sampling: {} };
      const sink = NO_SINK;
      const order = { request, header, body: { messages: [] }, origin: { accountId, promptTokens } };
      const running = rig.dispatcher.runOn("a", order, sink, new AbortController().signal);
      const job = await node.job(nth++);
      node.say({ kind: "accepted", job });
      node.say({ kind: "failed", job, seq: 0, cause: "prompt", message: "too long" });
      await running;
      await waitOneTurn();
    };
    for (let i = 0; i < 15; i++) await refuse(`builder ${i}`, 75);
    for (let i = 0; i < 15; i++) await refuse("one builder", 10);
    assert.equal(rig.barred.length, 0);
    for (const builder of ["another", "a third", "a fourth"]) for (let i = 0; i < 3; i++) await refuse(builder, 74);
    assert.equal(rig.barred[0]?.[1].reason, "refused_prompts");
  });
});
