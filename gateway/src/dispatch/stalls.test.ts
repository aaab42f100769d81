/**
 * Nodes that stall: the gateway notices it by its own clock and by the node's timestamps, and a stalled request is
 * retried once on another node, unless output has reached the client.
 */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { waitOneTurn } from "../base/testing.ts";
import { type FakeNode, TextSink } from "./testing.ts";
import {
  DISPATCH_REQUEST,
  type DispatchRig,
  listReceivedFrameKinds,
  MODEL,
  NEVER_ABORTED,
  openDispatchRig,
  REQUEST_ID,
  waitForFirstOffer,
} from "./testing-dispatcher.ts";

describe("a request whose node stalls", () => {
  let rig: DispatchRig;
  beforeEach(() => {
    rig = openDispatchRig();
  });

  test("retries on another node when the first node stalls, and returns only the second node's output", async () => {
    const [a, b] = [await rig.online("a"), await rig.online("b")];
    const sink = new TextSink();
    const running = rig.run(sink);
    const { job, node, other } = await waitForFirstOffer(a, b);
    node.say({ kind: "accepted", job });
    node.delta(job, 0, "half an ans");
    const nextOffer = other.job();
    rig.clock.advance(2299);
    await waitOneTurn();
    assert.deepEqual(listReceivedFrameKinds(other), []);
    rig.clock.advance(1);
    const second = await nextOffer;
    assert.ok(listReceivedFrameKinds(node).includes("cancel"));
    node.delta(job, 1, "LATE");
    other.say({ kind: "accepted", job: second });
    other.delta(second, 0, "whole");
    other.say({ kind: "done", job: second, seq: 1, finish: "stop" });
    const result = await running;
    assert.equal(sink.text, "whole");
    assert.equal(result.server?.hostAccountId, `host-of-${other.id}`);
    assert.equal(result.attempts, 2);
    const atOnce = { offeredMs: 0, acceptedMs: 0, firstOutputMs: 0 };
    const later = { offeredMs: 2300, acceptedMs: 2300, firstOutputMs: 2300 };
    assert.deepEqual(
      result.tries?.map(({ nodeId: _, ...times }) => times),
      [
        { end: "quiet", ...atOnce, endedMs: 2300 },
        { end: "finished", ...later, endedMs: 2300 },
      ],
    );
  });

  test("asks other nodes before a node that stalled recently, unless no other node serves the model", async () => {
    const [a, b] = [await rig.online("a", { slots: 4 }), await rig.online("b", { slots: 4 })];
    const running = rig.run(new TextSink());
    const { node: silent, other } = await waitForFirstOffer(a, b);
    rig.clock.advance(2000);
    await waitOneTurn();
    const job = await other.job();
    other.say({ kind: "accepted", job });
    other.delta(job, 0, "x");
    other.say({ kind: "done", job, seq: 1, finish: "stop" });
    await running;
    const answer = async (node: FakeNode, nth: number): Promise<void> => {
      const request = { ...DISPATCH_REQUEST, request: REQUEST_ID.replace("06", `1${nth}`) };
      const next = rig.dispatcher.run(request, new TextSink(), NEVER_ABORTED);
      const offered = await node.job(nth);
      node.say({ kind: "accepted", job: offered });
      node.delta(offered, 0, "x");
      node.say({ kind: "done", job: offered, seq: 1, finish: "stop" });
      assert.equal((await next).end, "finished");
    };
    for (let nth = 2; nth < 8; nth++) await answer(other, nth);
    rig.plane.drop(other.id);
    await answer(silent, 2);
  });

  test("ends the request if the node stalls after output reached the client", async () => {
    const node = await rig.online("a");
    await rig.online("b");
    const sink = new TextSink({ streams: true });
    const offered = node.job();
    const all = rig.run(sink);
    const job = await Promise.race([offered, waitOneTurn().then(() => null)]);
    if (job === null) {
      // The other node was chosen and never replies, so the offer goes to this node after 2 s.
      rig.clock.advance(2000);
    }
    const mine = job ?? (await offered);
    node.say({ kind: "accepted", job: mine });
    node.delta(mine, 0, "to the client");
    rig.clock.advance(2300);
    const result = await all;
    assert.equal(result.end, "quiet");
    assert.equal(result.server?.hostAccountId, "host-of-a");
  });

  test("ends the request with the stalled node's output when no other node is free", async () => {
    const node = await rig.online("a");
    const sink = new TextSink();
    const offered = node.job();
    const running = rig.run(sink);
    const job = await offered;
    node.say({ kind: "accepted", job });
    node.delta(job, 0, "half");
    rig.clock.advance(2300);
    const result = await running;
    assert.deepEqual([result.end, result.server?.hostAccountId, sink.text], ["quiet", "host-of-a", "half"]);
  });

  test("treats a node's dropped connection like a stall, but without waiting for the timeout", async () => {
    const node = await rig.online("a");
    const sink = new TextSink({ streams: true });
    const offered = node.job();
    const running = rig.run(sink);
    const job = await offered;
    node.say({ kind: "accepted", job });
    node.delta(job, 0, "x");
    rig.plane.drop("a");
    assert.equal((await running).end, "quiet");
  });

  test("waits at most one minute for a node that only reports prompt progress", async () => {
    const node = await rig.online("a");
    const offered = node.job();
    const running = rig.run(new TextSink());
    const job = await offered;
    node.say({ kind: "accepted", job });
    let ended = false;
    void running.then(() => {
      ended = true;
    });
    for (let s = 0; s < 60; s++) {
      rig.clock.advance(1000);
      node.say({ kind: "progress", job, fraction: s / 60 });
      node.report({ models: [MODEL], slots: 1, busy: 1 });
      await waitOneTurn();
      assert.equal(ended, false, `at ${s} s`);
    }
    rig.clock.advance(1000);
    node.say({ kind: "progress", job, fraction: 1 });
    rig.clock.advance(1300);
    assert.equal((await running).end, "quiet");
  });
});

describe("stalls measured by the node's own timestamps", () => {
  let rig: DispatchRig;
  beforeEach(() => {
    rig = openDispatchRig();
  });

  const begun = async () => {
    const node = await rig.online("a");
    const offered = node.job();
    const sink = new TextSink({ streams: true });
    const running = rig.run(sink);
    const job = await offered;
    node.say({ kind: "accepted", job });
    let seq = 0;
    const timed = (firstMs: number, text = "x", lastMs = firstMs): void =>
      node.say({ kind: "timed", deltas: [{ job, seq: seq++, channel: "answer", text, firstMs, lastMs }] });
    const done = (): void => node.say({ kind: "done", job, seq: seq++, finish: "stop" });
    return { node, job, running, sink, timed, done };
  };

  test("asks the node for timestamps in the job", async () => {
    const { node, timed, done, running } = await begun();
    timed(0);
    done();
    await running;
    assert.equal(
      node.heard.some((frame) => frame.kind === "job" && frame.header.times === true),
      true,
    );
  });

  test("allows pauses of 1.99 s after acceptance, even if the output arrives slightly late", async () => {
    const { node, timed, done, running, sink } = await begun();
    for (let n = 1; n <= 20; n++) {
      // Frames arrive with different delays of 0 to 300 ms.
      rig.clock.advance(1990 - ((n - 1) % 4) * 90 + (n % 4) * 90);
      node.report({ models: [MODEL], slots: 1, busy: 1 });
      await waitOneTurn();
      timed(n * 1990);
    }
    done();
    assert.equal((await running).end, "finished");
    assert.equal(sink.text, "x".repeat(20));
  });

  test("ends the attempt after a pause of 2.3 s by the node's clock, even when the output arrived in time", async () => {
    for (const before of [[], [300]]) {
      const { timed, running, sink } = await begun();
      for (const ms of before) {
        rig.clock.advance(ms);
        timed(ms);
      }
      rig.clock.advance(2290);
      timed(2300 + (before[0] ?? 0), "late");
      assert.equal((await running).end, "quiet");
      assert.equal(sink.text, "x".repeat(before.length));
      rig.plane.drop("a");
    }
  });

  test("ends the attempt after 2.3 s without output, whatever timestamps arrive later", async () => {
    const { timed, running } = await begun();
    timed(0);
    rig.clock.advance(2299);
    await waitOneTurn();
    timed(1);
    rig.clock.advance(2299);
    await waitOneTurn();
    assert.equal(await Promise.race([running, waitOneTurn().then(() => "runs")]), "runs");
    rig.clock.advance(1);
    assert.equal((await running).end, "quiet");
  });

  test("uses the first and last timestamps of a frame with merged tokens", async () => {
    const { timed, done, running } = await begun();
    rig.clock.advance(2000);
    timed(100, "many words", 2000);
    rig.clock.advance(1990);
    timed(3990);
    done();
    assert.equal((await running).end, "finished");
  });

  test("ends the attempt when timestamps decrease, and ignores timestamps from the future", async () => {
    const backwards = await begun();
    rig.clock.advance(500);
    backwards.timed(400);
    backwards.timed(399);
    assert.equal((await backwards.running).end, "broken");
    rig.plane.drop("a");
    const ahead = await begun();
    rig.clock.advance(500);
    ahead.timed(4_000_000_000);
    rig.clock.advance(1900);
    ahead.timed(4_000_000_000);
    ahead.done();
    assert.equal((await ahead.running).end, "finished", "arrival counts in their place");
  });

  test("counts progress reports before the first token as a sign of life, by the gateway's clock and by the node's", async () => {
    const { node, job, timed, done, running } = await begun();
    for (let s = 1; s <= 5; s++) {
      rig.clock.advance(1000);
      await waitOneTurn();
      node.say({ kind: "progress", job, fraction: s / 6 });
    }
    rig.clock.advance(1500);
    timed(6500);
    done();
    assert.equal((await running).end, "finished");
  });

  test("does not count a delta without text as output or as a sign of life", async () => {
    for (const withTimes of [true, false]) {
      const { node, job, timed, running, sink } = await begun();
      rig.clock.advance(1500);
      if (withTimes) timed(1500, "");
      else node.delta(job, 0, "");
      rig.clock.advance(799);
      await waitOneTurn();
      assert.equal(await Promise.race([running, waitOneTurn().then(() => "runs")]), "runs");
      rig.clock.advance(1);
      const result = await running;
      assert.deepEqual([result.end, result.ttftMs, sink.reachedClient], ["quiet", null, false]);
      rig.plane.drop("a");
    }
  });

  test("reads frames that arrived while the gateway was frozen before it decides that the node stalled", async () => {
    const judged: (string | null)[] = [];
    rig.dispatcher.onAttempt(({ failure }) => judged.push(failure));
    const { timed, done, running } = await begun();
    rig.clock.advance(1000);
    timed(1000);
    // The gateway process freezes. The node continues, and its frames arrive when the process resumes.
    rig.clock.freeze(5000);
    await waitOneTurn();
    timed(2500, "a", 5900);
    rig.clock.advance(2000);
    await waitOneTurn();
    timed(7900);
    done();
    assert.equal((await running).end, "finished");
    assert.deepEqual(judged, [null]);
  });

  test("after the gateway was frozen, ends a stalled node's attempt only once the node has had its full time", async () => {
    const { timed, running } = await begun();
    timed(0);
    // The acceptance timer was due at 250 ms and runs 2,550 ms late.
    rig.clock.freeze(2800);
    await waitOneTurn();
    rig.clock.advance(2549);
    await waitOneTurn();
    assert.equal(await Promise.race([running, waitOneTurn().then(() => "runs")]), "runs");
    rig.clock.advance(1);
    assert.equal((await running).end, "quiet");
  });

  test("reads the last frames from the socket before it decides on a timeout", async () => {
    const { timed, done, running } = await begun();
    timed(0);
    rig.clock.advance(2300);
    // The timeout's timer has run, but the event loop has not read the socket since.
    timed(2100);
    done();
    assert.equal((await running).end, "finished");
  });

  test("ends a job that exceeds its time limit as a stall, without blame or retry", async () => {
    const judged: (string | null)[] = [];
    rig.dispatcher.onAttempt(({ failure }) => judged.push(failure));
    const { node, job, running } = await begun();
    const other = await rig.online("b");
    for (let s = 1; s <= 899; s++) {
      rig.clock.advance(1000);
      for (const one of [node, other]) one.report({ models: [MODEL], slots: 1 });
      node.delta(job, s - 1, "x");
      await waitOneTurn();
    }
    assert.equal(await Promise.race([running, waitOneTurn().then(() => "runs")]), "runs");
    rig.clock.advance(1000);
    const result = await running;
    assert.deepEqual([result.end, result.attempts, result.server?.hostAccountId], ["quiet", 1, "host-of-a"]);
    assert.deepEqual(judged, [null]);
    assert.ok(listReceivedFrameKinds(node).includes("cancel"));
  });
});
