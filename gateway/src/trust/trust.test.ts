/** A connected node is probed, and quarantined for wrong answers to canaries and for an impossible speed. */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import type { Sampling } from "@tollgate/protocol/frames.ts";
import { seededRandom, waitOneTurn } from "../base/testing.ts";
import { FakeNode } from "../dispatch/testing.ts";
import { openTrustRig, type TrustRig } from "./testing-rig.ts";

describe("trust in nodes", () => {
  let rig: TrustRig;
  beforeEach(() => {
    rig = openTrustRig();
  });

  test("probes a node when it joins, and not again while its measured speed is recent", async () => {
    // Delays the next canary by two hours, and makes the next probe come as early as possible.
    rig.below = () => 0;
    const node = await rig.join();
    const header = await rig.answer(node, 1, "it is 12 and some more words here");
    assert.equal(header?.endpoint, "chat");
    assert.ok((rig.dispatcher.speedOfNode("a", "tiny-3b").ttftMs ?? -1) >= 0);
    assert.ok((rig.dispatcher.speedOf("tiny-3b").tokensPerSecond ?? 0) > 0);
    await rig.pass(node, 4 * 60_000);
    assert.equal(rig.jobs(node), 1);
    await rig.pass(node, 2 * 60_000);
    assert.equal(rig.jobs(node), 2, "every few minutes while idle");
  });

  test("does not probe a node that has no free slot", async () => {
    rig.roster.told("another gateway", { a: 64 }, { whole: true });
    const node = await rig.join();
    rig.clock.advance(20_000);
    await waitOneTurn();
    assert.equal(rig.jobs(node), 0);
  });

  test("quarantines a node after two failed canaries in a row, but not after one", async () => {
    const node = await rig.join();
    await rig.answer(node, 1, "no idea");
    assert.deepEqual(rig.barred, []);
    await rig.answer(node, 2, "twelve hundred");
    assert.deepEqual(rig.barred, [
      ["a", { reason: "canary", evidence: { model: "tiny-3b", why: "unexpected answer", failures: 2, asked: 2 } }],
    ]);
  });

  test("forgives a failed canary after passed ones", async () => {
    const node = await rig.join();
    await rig.answer(node, 1, "no idea");
    await rig.answer(node, 2, "it is 12");
    assert.deepEqual(rig.barred, []);
    for (let nth = 3; rig.jobs(node) >= nth; nth++) await rig.answer(node, nth, "it is 12");
    assert.ok(rig.jobs(node) > 2, "it is asked again until nothing speaks against it");
    assert.ok(rig.jobs(node) < 9, `${rig.jobs(node)} times`);
    assert.deepEqual(rig.barred, []);
  });

  test("quarantines a node for an impossibly fast answer, unless the answer is short", async () => {
    const node = await rig.join();
    await rig.answer(node, 1, `12 ${"word ".repeat(100)}`);
    assert.equal(rig.barred.length, 0);
    rig.model.speedMax = 200;
    await rig.pass(node, 6 * 60_000);
    await rig.answer(node, 2, `12 ${"word ".repeat(200)}`);
    assert.equal(rig.barred[0]?.[1].reason, "speed");
    assert.deepEqual(rig.barred[0]?.[1].evidence, {
      model: "tiny-3b",
      tokens: 204,
      tokens_per_second: 408,
      ceiling: 200,
    });
  });

  test("quarantines no node and sends no canary when automatic quarantine is off", async () => {
    rig = openTrustRig({ automatic: false });
    const node = await rig.join();
    await rig.answer(node, 1, "no idea");
    await rig.pass(node, 6 * 60_000);
    await rig.answer(node, 2, "still none");
    assert.deepEqual(rig.barred, []);
  });

  const measured = (
    nodeId: string,
    accountId: string,
    output: number,
    { temperature, ...more }: Sampling & { formatted?: boolean; hasSchema?: boolean } = {},
  ): void => {
    const { formatted = false, hasSchema = false, stop } = more;
    const pace = { nodeId, ttftMs: 50, spanMs: 9_000, outputMs: 8_950 };
    const result = {
      end: "finished",
      finish: "stop",
      server: null,
      attempts: 1,
      queueMs: 1,
      ttftMs: 50,
      pace,
    } as const;
    const request = {
      accountId,
      endpoint: "chat",
      stream: true,
      outputTokensMax: 300,
      sampling: { temperature, stop },
      ...{ formatted, hasSchema },
      texts: 0,
    } as const;
    rig.dispatcher.measured("tiny-3b", result, { prompt: 40, output }, request);
  };

  describe("statistics over answered requests", () => {
    test("report a node whose answers differ in length, without quarantining it", async () => {
      for (const id of ["a", "b", "c", "d"]) {
        new FakeNode(rig.plane, { id, gatewayId: "gw1" }).report({ models: ["tiny-3b"], slots: 4, busy: 1 });
        await waitOneTurn();
      }
      const random = seededRandom(1);
      for (let i = 0; i < 4_000; i++) {
        const id = ["a", "b", "c", "d"][random.below(4)] as string;
        measured(id, `account ${random.below(12)}`, id === "a" ? 7 : 20 + random.below(200));
      }
      assert.deepEqual([rig.trust.lengthSuspicion("a"), rig.trust.lengthSuspicion("b")], [true, false]);
      assert.equal(rig.trust.lengthEvidence("a")[0]?.model, "tiny-3b");
      assert.deepEqual([rig.trust.lengthSuspicion("nobody"), rig.barred], [false, []]);
    });

    test("give probes the parameters of user requests", async () => {
      rig.model.canaries = [];
      const node = await rig.join();
      await rig.answer(node, 1, "some words about it");
      for (let i = 0; i < 64; i++) measured("a", "account", 50, { temperature: 0.91 });
      await rig.pass(node, 6 * 60_000);
      assert.equal((await rig.answer(node, 2, "some words about it"))?.sampling.temperature, 0.91);
    });
  });

  describe("canaries", () => {
    for (const [name, request, format] of [
      ["no output format", {}, null],
      ["any JSON object", { formatted: true }, "json_object"],
      ["a JSON schema", { formatted: true, hasSchema: true }, "json_schema"],
    ] as const)
      test(`imitate the number of stop strings of requests, and ${name}, without the requests' text`, async () => {
        const node = await rig.join();
        await rig.answer(node, 1, "12");
        for (let i = 0; i < 64; i++) measured("a", "account", 50, { ...request, stop: ["private", "words"] });
        rig.imitated.length = 0;
        // The probes before the next canary only measure speed.
        for (let nth = 2; rig.imitated.length === 0; nth++) {
          await rig.pass(node, 3_600_000);
          await rig.answer(node, nth, "12");
        }
        const [shape] = rig.imitated;
        assert.deepEqual([shape?.stops, shape?.format], [2, format]);
        assert.doesNotMatch(JSON.stringify(shape), /private|words/);
      });
  });

  test("stops a running probe when it is closed", async () => {
    const node = await rig.join();
    await node.job(1);
    await rig.trust.stop();
    assert.ok(node.heard.some(({ kind }) => kind === "cancel"));
  });
});
