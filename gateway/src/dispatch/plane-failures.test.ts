/**
 * Requests that are lost because the whole dispatch plane fails are retried. Such an attempt does not count as the one
 * retry of a request, and it is not blamed on the node.
 */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { waitOneTurn } from "../base/testing.ts";
import type { Attempt } from "./running-attempt.ts";
import { TextSink } from "./testing.ts";
import { answerJob, type DispatchRig, listCancelledJobs, openDispatchRig, reportState } from "./testing-dispatcher.ts";

describe("requests in flight when the whole dispatch plane is unreachable", () => {
  let rig: DispatchRig;
  let attempts: Attempt[];

  beforeEach(() => {
    rig = openDispatchRig();
    attempts = [];
    rig.dispatcher.onAttempt((attempt) => attempts.push(attempt));
  });
  const states = (): string[] => attempts.map(({ state, failure }) => `${state} ${failure}`);

  test("retries requests whose frames a frozen gateway process missed, and blames no node", async () => {
    const [a, b] = [await rig.online("a"), await rig.online("b")];
    const sink = new TextSink();
    const running = rig.run(sink);
    await waitOneTurn();
    const first = a.heard.some(({ kind }) => kind === "job") ? a : b;
    const other = first === a ? b : a;
    const job = await first.job(1);
    first.say({ kind: "accepted", job });
    rig.clock.freeze(40_000);
    await waitOneTurn();
    assert.equal(rig.roster.nodes().length, 2, "nor is any node taken for gone");
    assert.equal(rig.dispatcher.isTroubled, false);
    // The dispatch plane lost the frames that the node sent in between.
    first.delta(job, 3, "late");
    await waitOneTurn();
    assert.equal(rig.dispatcher.isTroubled, true);
    const next = other.heard.some(({ kind }) => kind === "job") ? other : first;
    answerJob(next, await next.job(next === first ? 2 : 1));
    const { end, attempts: accepted } = await running;
    assert.deepEqual([end, accepted, sink.text], ["finished", 2, "whole"]);
    assert.deepEqual(states(), ["cut null", "finished null"]);
  });

  test("blames no node for outdated messages that arrive after the gateway was frozen", async () => {
    const [a, b] = [await rig.online("a"), await rig.online("b")];
    rig.clock.freeze(40_000);
    const sink = new TextSink();
    const running = rig.run(sink);
    await waitOneTurn();
    const first = a.heard.some(({ kind }) => kind === "job") ? a : b;
    const job = await first.job(1);
    first.say({ kind: "accepted", job });
    rig.plane.drop(first.id, "node");
    const other = first === a ? b : a;
    answerJob(other, await other.job(1));
    assert.deepEqual([(await running).end, sink.text], ["finished", "whole"]);
    assert.deepEqual(states(), ["cut null", "finished null"]);
  });

  test("retries on the same node until the deadline when nothing reached the client", async () => {
    const node = await rig.online("a");
    const sink = new TextSink();
    const running = rig.run(sink);
    for (let flap = 1; flap <= 4; flap++) {
      const job = await node.job(flap);
      node.say({ kind: "accepted", job });
      node.delta(job, 0, "half");
      rig.plane.goAway();
      await waitOneTurn();
      rig.clock.advance(1_900);
      rig.plane.comeBack();
      assert.deepEqual(listCancelledJobs(node).at(-1), job, "a node that did not notice must not go on");
      await reportState(node);
    }
    answerJob(node, await node.job(5));
    const result = await running;
    assert.equal(result.end, "finished");
    assert.equal(sink.text, "whole");
    assert.equal(result.attempts, 5);
    assert.deepEqual(states(), [...Array(4).fill("cut null"), "finished null"]);
  });

  test("applies one deadline to all attempts lost in the same outage, and a new deadline to a later outage", async () => {
    const node = await rig.online("a");
    const running = rig.run(new TextSink());
    const lose = async (nth: number, awayMs: number): Promise<void> => {
      node.say({ kind: "accepted", job: await node.job(nth) });
      rig.plane.goAway();
      await waitOneTurn();
      rig.clock.advance(awayMs);
      await waitOneTurn();
      rig.plane.comeBack();
      await reportState(node);
    };
    await lose(1, 6_000);
    // The job runs for long enough that the next loss counts as a new outage.
    const job = await node.job(2);
    node.say({ kind: "accepted", job });
    for (let i = 0; i < 4; i++) {
      rig.clock.advance(1_000);
      node.delta(job, i, "x");
    }
    rig.plane.goAway();
    await waitOneTurn();
    rig.clock.advance(9_000);
    rig.plane.comeBack();
    await reportState(node);
    node.say({ kind: "accepted", job: await node.job(3) });
    rig.plane.goAway();
    await waitOneTurn();
    rig.clock.advance(999);
    await waitOneTurn();
    assert.deepEqual(states(), Array(3).fill("cut null"));
    rig.clock.advance(1);
    assert.equal((await running).end, "cut");
  });

  test("ends a request whose offer gets no reply at the dispatch deadline, counted from the request's start", async () => {
    const node = await rig.online("a");
    const running = rig.run(new TextSink());
    await node.job(1);
    rig.plane.hears = false;
    rig.clock.advance(2_000);
    await waitOneTurn();
    assert.deepEqual(states(), ["cut null"]);
    rig.plane.goAway();
    await waitOneTurn();
    rig.clock.advance(8_000);
    assert.equal((await running).end, "cut");
  });

  test("ends a request whose last offer is unanswered at the deadline, without blaming the node", async () => {
    const node = await rig.online("a");
    const running = rig.run(new TextSink());
    node.say({ kind: "accepted", job: await node.job() });
    rig.plane.goAway();
    await waitOneTurn();
    rig.clock.advance(9_500);
    rig.plane.comeBack();
    await reportState(node);
    await node.job(2);
    rig.clock.advance(500);
    await waitOneTurn();
    assert.equal((await running).end, "cut");
    assert.deepEqual(states(), ["cut null", "cut null"]);
    assert.equal(rig.roster.nodes()[0]?.shunnedUntil, 0);
  });

  test("does not use up a request's one retry when the plane loses an attempt", async () => {
    const [a, b] = [await rig.online("a"), await rig.online("b")];
    const running = rig.run(new TextSink());
    await waitOneTurn();
    const [first] = [a, b].filter(({ heard }) => heard.length > 0);
    first?.say({ kind: "accepted", job: await first.job() });
    rig.plane.goAway();
    rig.plane.comeBack();
    await reportState(a);
    const second = await a.job(first === a ? 2 : 1);
    a.say({ kind: "accepted", job: second });
    await reportState(b);
    rig.clock.advance(2_300);
    answerJob(b, await b.job(first === b ? 2 : 1));
    assert.equal((await running).end, "finished");
    assert.deepEqual(states(), ["cut null", "quiet silent", "finished null"]);
  });

  test("ends a request at its deadline and blames no node if the plane fails during the retry after a stall", async () => {
    const [a, b] = [await rig.online("a"), await rig.online("b")];
    const running = rig.run(new TextSink());
    await waitOneTurn();
    const [first, other] = a.heard.length > 0 ? [a, b] : [b, a];
    first.say({ kind: "accepted", job: await first.job() });
    rig.clock.advance(2_300);
    other.say({ kind: "accepted", job: await other.job() });
    rig.plane.goAway();
    await waitOneTurn();
    rig.clock.advance(10_000);
    assert.equal((await running).end, "cut");
    assert.deepEqual(states(), ["cut null"], "nobody showed that the request can be answered");
  });

  test("ends a request and blames no node if the plane is still unreachable at the dispatch deadline", async () => {
    const node = await rig.online("a");
    const running = rig.run(new TextSink());
    const job = await node.job();
    node.say({ kind: "accepted", job });
    for (let i = 0; i < 12; i++) {
      rig.clock.advance(1_000);
      node.delta(job, i, "x");
    }
    rig.plane.goAway();
    await waitOneTurn();
    rig.clock.advance(9_999);
    await waitOneTurn();
    assert.deepEqual(states(), ["cut null"]);
    rig.clock.advance(1);
    const result = await running;
    assert.equal(result.end, "cut");
    assert.equal(result.server?.hostAccountId, "host-of-a");
  });

  test("does not retry a request once output has reached the client", async () => {
    const node = await rig.online("a");
    const running = rig.run(new TextSink({ streams: true }));
    const job = await node.job();
    node.say({ kind: "accepted", job });
    node.delta(job, 0, "x");
    rig.plane.goAway();
    const result = await running;
    assert.equal(result.end, "cut");
    assert.equal(result.server?.hostAccountId, "host-of-a");
    assert.deepEqual(states(), ["cut null"]);
  });

  test("repeats an offer that got no reply because of the outage", async () => {
    const node = await rig.online("a");
    const running = rig.run(new TextSink());
    await node.job();
    rig.plane.goAway();
    rig.plane.comeBack();
    await reportState(node);
    answerJob(node, await node.job(2));
    assert.equal((await running).end, "finished");
  });

  test("ends an empty answer as unconfirmed after 2 s if its second opinion was lost and no other node returned", async () => {
    const [a, b] = [await rig.online("a"), await rig.online("b")];
    const running = rig.run(new TextSink());
    await waitOneTurn();
    const [first, other] = a.heard.length > 0 ? [a, b] : [b, a];
    const job = await first.job();
    first.say({ kind: "accepted", job });
    first.say({ kind: "done", job, seq: 0, finish: "stop" });
    other.say({ kind: "accepted", job: await other.job() });
    rig.plane.goAway();
    rig.plane.comeBack();
    await reportState(first);
    rig.clock.advance(2_000);
    const result = await running;
    assert.equal(result.end, "unconfirmed");
    assert.deepEqual(states(), ["cut null", "empty null"]);
  });

  test("does not blame a node for missing output while the NATS server does not respond", async () => {
    const node = await rig.online("a");
    const running = rig.run(new TextSink());
    node.say({ kind: "accepted", job: await node.job() });
    rig.plane.hears = false;
    rig.clock.advance(2_300);
    await waitOneTurn();
    assert.deepEqual(states(), ["cut null"]);
    rig.plane.hears = true;
    answerJob(node, await node.job(2));
    assert.equal((await running).end, "finished");
  });
});
