/** Tests which nodes are probed, and what their answers lead to. */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import type { UnpaidJob } from "../inference/unpaid-job.ts";
import { ProbesRig, PUBLISHED, promptOf, rightAnswer } from "./testing-probes.ts";

describe("probes", () => {
  let rig: ProbesRig;
  beforeEach(() => {
    rig = new ProbesRig();
  });

  test("suspect a node that answers with a constant, soon after it joins", async () => {
    for (const constant of [
      "12 Paris lighthouse",
      "4242",
      "the first word",
      Array.from({ length: 99 }, (_, i) => i).join(" "),
    ]) {
      rig.start();
      rig.answer = async () => ({ text: constant });
      await rig.join();
      assert.deepEqual(
        rig.suspected.map(({ reason }) => reason),
        ["canary"],
        constant,
      );
      // A constant answer can be right by chance, so the node may survive a few canaries.
      assert.ok(rig.jobs.length <= 15, `${rig.jobs.length} canaries`);
    }
  });

  test("suspect a node that repeats the prompt as its answer, and make it the last choice for requests meanwhile", async () => {
    rig.shunned = 0;
    rig.answer = async (job) => ({ text: promptOf(job) });
    await rig.join();
    assert.equal(rig.suspected.length, 1);
    assert.ok(rig.shunned >= 2);
  });

  test("never suspect an honest model over days, and use unpublished canaries at least half of the time", async () => {
    rig.answer = async (job) => ({ text: rightAnswer(job) ?? "Some prose about it." });
    await rig.join();
    const published = PUBLISHED.map((canary) => ("prompt" in canary ? canary.prompt : ""));
    assert.ok(!published.includes(promptOf(rig.jobs[0] as UnpaidJob)), "the first is none that could be looked up");
    await rig.pass(2 * 24 * 3_600_000);
    assert.deepEqual(rig.suspected, []);
    const asked = rig.jobs.filter((job) => rightAnswer(job) !== undefined);
    const known = asked.filter((job) => published.includes(promptOf(job)));
    assert.ok(asked.length >= 50, `${asked.length} canaries in two days`);
    assert.ok(
      known.length > 0 && known.length < asked.length * 0.7,
      `${known.length} of ${asked.length} are published`,
    );
  });

  test("include canaries even if user traffic keeps a node busy and measures its speed", async () => {
    rig.answer = async (job) => ({ text: rightAnswer(job) ?? "prose" });
    await rig.join();
    const first = rig.jobs.length;
    // Waits until the next canary. Its random interval is limited to four times the mean.
    for (let i = 0; i < 122 && rig.jobs.length === first; i++) {
      rig.node.outstanding = 1;
      for (const run of rig.measured)
        run({ nodeId: "a", model: "m", tokens: { prompt: 1, output: 9 }, spanMs: 9, own: false });
      await rig.pass(60_000);
    }
    assert.equal(rig.jobs.length, first + 1, "asked while it has a slot free");
    rig.node.outstanding = 4;
    await rig.pass(2 * 3_600_000);
    assert.equal(rig.jobs.length, first + 1, "never beyond its slots");
  });

  test("treat an empty answer like a failed canary, whether canaries are on or off", async () => {
    for (const canaries of [true, false]) {
      for (const text of ["", " \n"]) {
        rig.start(canaries);
        rig.answer = async () => ({ text });
        await rig.join();
        assert.deepEqual(
          rig.suspected.map(({ reason, evidence }) => [reason, evidence.why]),
          [["canary", "empty answer"]],
        );
      }
    }
  });

  test("accept thinking as an answer to a speed probe, and search for a canary's answer only in the text after it", async () => {
    rig.model.build = { id: "b", tokenizer: "t", reasoning: { open: "<think>", close: "</think>" } };
    rig.answer = async (job) => ({ text: rightAnswer(job) ?? "", reasoning: "hmm, 12, Paris…" });
    await rig.join();
    await rig.pass(6 * 60_000);
    assert.deepEqual(rig.suspected, []);
    assert.ok((rig.jobs[0]?.outputTokensMax ?? 0) >= 1024, "there is room for thinking");
    rig.start();
    rig.answer = async (job) => ({ text: "", reasoning: rightAnswer(job) ?? "hmm" });
    await rig.join();
    assert.equal(rig.suspected.length, 1);
  });

  test("do not treat transport failures as wrong answers, and do not repeat a declined probe immediately", async () => {
    for (const end of ["failed", "quiet", "no_capacity"] as const) {
      rig.start();
      rig.answer = async () => ({ end });
      await rig.join();
      assert.equal(rig.jobs.length, 1, end);
      await rig.pass(60 * 60_000);
      assert.ok(rig.jobs.length < 20, `${rig.jobs.length} times in an hour`);
      assert.deepEqual(rig.suspected, []);
    }
  });

  test("keep probing a node that failed a canary and declines the next ones", async () => {
    rig.answer = async () => (rig.jobs.length === 1 ? { text: "no idea" } : { end: "no_capacity" });
    await rig.join();
    assert.equal(rig.jobs.length, 2);
    await rig.pass(240_000);
    assert.deepEqual(
      rig.suspected.map(({ evidence }) => evidence.why),
      ["declined repeated canaries"],
    );
  });

  test("treat an answer that exceeds the time limit as wrong", async () => {
    rig.answer = (_job, signal) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve({ end: "cancelled" })));
    rig.shape.outputTokensMax = 64;
    await rig.join();
    await rig.pass(4 * 60_000);
    assert.deepEqual(
      rig.suspected.map(({ evidence }) => evidence.why),
      ["no answer within the time limit"],
    );
  });

  test("run at unpredictable times, every half hour on average", async () => {
    rig.answer = async (job) => ({ text: rightAnswer(job) ?? "prose" });
    await rig.join();
    const times: number[] = [];
    for (let i = 0; i < 4 * 24 * 60; i++) {
      const before = rig.jobs.length;
      await rig.pass(60_000);
      if (rig.jobs.slice(before).some((job) => rightAnswer(job) !== undefined)) times.push(i);
    }
    const gaps = times.slice(1).map((time, i) => time - (times[i] as number));
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    const deviation = Math.sqrt(gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length);
    assert.ok(mean > 18 && mean < 45, `${mean} minutes on average`);
    assert.ok(deviation > mean / 2, `${deviation} minutes more or less`);
  });

  describe("probing a node on request", () => {
    test("returns the outcome", async () => {
      rig.node.outstanding = 4;
      for (const [result, says] of [
        [{ text: "words" }, "answered"],
        [{ text: "" }, "empty"],
        [{ end: "failed" }, "failed"],
        [{ end: "quiet" }, "failed"],
        [{ end: "no_capacity" }, "absent"],
        [undefined, "absent"],
      ] as const) {
        rig.answer = async () => result;
        assert.equal(await rig.probes.ask("a", "m"), says);
      }
      const asked = rig.jobs.length;
      assert.equal(await rig.probes.ask("nobody", "m"), "absent");
      assert.equal(await rig.probes.ask("a", "no model"), "absent");
      assert.equal(rig.jobs.length, asked);
    });

    test("counts vectors without text as an answer of an embedding model", async () => {
      rig.model.kind = "embedding";
      rig.answer = async () => ({ text: "", vectors: [Float32Array.of(1, 0)] });
      assert.equal(await rig.probes.ask("a", "m"), "answered");
    });

    test("merges simultaneous requests into one probe", async () => {
      rig.answer = async () => ({ text: "words" });
      assert.deepEqual(await Promise.all([rig.probes.ask("a", "m"), rig.probes.ask("a", "m")]), [
        "answered",
        "answered",
      ]);
      assert.equal(rig.jobs.length, 1);
    });

    test("suspects a node after two empty answers", async () => {
      rig.node.outstanding = 1;
      rig.answer = async () => ({ text: "" });
      await rig.probes.ask("a", "m");
      assert.equal(rig.suspected.length, 0);
      await rig.probes.ask("a", "m");
      assert.equal(rig.suspected.length, 1);
    });

    test("ends without counting against the node when probing stops", async () => {
      rig.answer = (_job, signal) =>
        new Promise((resolve) => signal.addEventListener("abort", () => resolve({ end: "cancelled" })));
      const asked = rig.probes.ask("a", "m");
      await rig.probes.stop();
      assert.equal(await asked, "absent");
      assert.deepEqual(rig.suspected, []);
    });
  });
});
