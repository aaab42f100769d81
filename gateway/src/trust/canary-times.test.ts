/** Tests when nodes get canaries. */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import type { UnpaidJob } from "../inference/unpaid-job.ts";
import { ProbesRig, rightAnswer } from "./testing-probes.ts";

describe("probes", () => {
  let rig: ProbesRig;
  beforeEach(() => {
    rig = new ProbesRig();
  });

  describe("the times of canaries", () => {
    test("follow the traffic: busy hours of a day have more of them than quiet hours", async () => {
      rig.answer = async (job) => ({ text: rightAnswer(job) ?? "prose" });
      await rig.join();
      const isBusy = (now: number): boolean => (now / 3_600_000) % 24 < 8;
      const asked = { busy: 0, quiet: 0 };
      for (let hour = 0; hour < 3 * 24; hour++) {
        const busy = isBusy(rig.clock.monotonic());
        for (let minute = 0; minute < 60; minute++) {
          for (let n = 0; n < (busy ? 30 : 1); n++) rig.traffic.note("m", rig.clock.monotonic());
          const before = rig.jobs.length;
          await rig.pass(60_000);
          asked[busy ? "busy" : "quiet"] += rig.jobs
            .slice(before)
            .filter((job) => rightAnswer(job) !== undefined).length;
        }
      }
      // 24 of the 72 hours are busy. Every node gets at least one canary in two hours.
      const perHour = { busy: asked.busy / 24, quiet: asked.quiet / 48 };
      assert.ok(
        perHour.busy > 2 * perHour.quiet,
        `${perHour.busy} an hour in busy hours, ${perHour.quiet} in quiet ones`,
      );
      assert.ok(perHour.quiet >= 0.5, `${perHour.quiet} an hour in quiet ones`);
    });

    test("are at no fixed point of the timer's period", async () => {
      rig.answer = async (job) => ({ text: rightAnswer(job) ?? "prose" });
      await rig.join();
      const seconds = new Set<number>();
      for (let second = 0; second < 4 * 3_600; second++) {
        const before = rig.jobs.length;
        rig.clock.advance(1_000);
        await rig.settle();
        if (rig.jobs.length > before) seconds.add(second % 10);
      }
      assert.ok(seconds.size >= 8, `probes only at seconds ${[...seconds]}`);
    });

    test("that confirm a failure are sent as soon as a busy node has a free slot", async () => {
      rig.node.nodeRecord = { ...rig.node.nodeRecord, answersOwed: 20 };
      rig.answer = async () => {
        // The node gets a request at the same moment.
        rig.node.outstanding = 4;
        return { text: "no idea" };
      };
      await rig.join();
      assert.equal(rig.jobs.length, 1);
      rig.clock.advance(1_000);
      await rig.settle();
      assert.equal(rig.jobs.length, 1, "not while it has no free slot");
      rig.node.outstanding = 3;
      rig.clock.advance(500);
      await rig.settle();
      assert.equal(rig.jobs.length, 2);
    });

    test("that a request delayed are sent to a new node in its next free moment", async () => {
      rig.answer = async () => {
        // A request took the slot while the canary was prepared.
        rig.node.outstanding = 4;
        return { end: "no_capacity" };
      };
      await rig.join();
      assert.equal(rig.jobs.length, 1);
      await rig.pass(10_000);
      assert.equal(rig.jobs.length, 1);
      rig.answer = async (job) => ({ text: rightAnswer(job) ?? "prose" });
      rig.node.outstanding = 0;
      rig.clock.advance(500);
      await rig.settle();
      assert.equal(rig.jobs.length, 2);
      assert.notEqual(rightAnswer(rig.jobs[1] as UnpaidJob), undefined, "it is a canary");
    });

    test("do not depend on whether the node is idle", async () => {
      rig.answer = async (job) => ({ text: rightAnswer(job) ?? "prose" });
      await rig.join();
      let [idle, busy] = [0, 0];
      for (let minute = 0; minute < 2 * 24 * 60; minute++) {
        rig.node.outstanding = minute % 2;
        for (const run of rig.measured)
          run({ nodeId: "a", model: "m", tokens: { prompt: 1, output: 9 }, spanMs: 9, own: false });
        const before = rig.jobs.length;
        await rig.pass(60_000);
        if (rig.jobs.length > before) rig.node.outstanding === 0 ? idle++ : busy++;
      }
      assert.ok(busy > idle / 2 && idle > busy / 2, `${idle} while idle, ${busy} while busy`);
    });

    test("that confirm a failure are about one request apart, and at once for a node on probation", async () => {
      for (const [answersOwed, atOnce] of [
        [20, true],
        [0, false],
      ] as const) {
        rig.start();
        rig.node.nodeRecord = { ...rig.node.nodeRecord, answersOwed };
        // One request in 30 s.
        for (let i = 0; i < 200; i++) {
          rig.traffic.note("m", rig.clock.monotonic());
          rig.clock.advance(30_000);
        }
        rig.answer = async () => ({ text: "no idea" });
        await rig.join();
        const first = rig.jobs.length;
        assert.ok(atOnce ? rig.suspected.length === 1 : first <= 3, `${first} canaries at the same time`);
        await rig.pass(30 * 60_000);
        assert.equal(rig.suspected.length > 0, true);
      }
    });
  });
});
