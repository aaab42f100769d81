/**
 * Requests that are lost because one server of the dispatch plane fails are retried and not blamed on the node, if
 * there is evidence of the server's failure besides the node's word.
 */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { waitOneTurn } from "../base/testing.ts";
import type { Attempt } from "./running-attempt.ts";
import { type FakeNode, TextSink } from "./testing.ts";
import { answerJob, type DispatchRig, listCancelledJobs, openDispatchRig, reportState } from "./testing-dispatcher.ts";

describe("requests in flight when one server of the dispatch plane fails", () => {
  let rig: DispatchRig;
  let attempts: Attempt[];

  beforeEach(() => {
    rig = openDispatchRig();
    attempts = [];
    rig.dispatcher.onAttempt((attempt) => attempts.push(attempt));
  });
  const states = (): string[] => attempts.map(({ state, failure }) => `${state} ${failure}`);
  const begin = async (node: FakeNode, nth = 1): Promise<string> => {
    const job = await node.job(nth);
    rig.clock.advance(10);
    node.say({ kind: "accepted", job });
    node.delta(job, 0, "half");
    return job;
  };

  /** Simulates that the node connects to another server because its own is dead. */
  const move = (id: string): void => {
    rig.plane.moved.set(id, rig.clock.monotonic());
    rig.plane.deadServers.add(rig.plane.server);
  };

  test("retries immediately, also on the same node, when the node reconnects elsewhere and reports no running job", async () => {
    const node = await rig.online("a");
    const running = rig.run(new TextSink());
    await begin(node);
    move("a");
    await reportState(node);
    answerJob(node, await node.job(2));
    const result = await running;
    assert.equal(result.end, "finished");
    assert.deepEqual(states(), ["cut null", "finished null"]);
  });

  test("retries on a reachable node whenever a node's NATS server hangs; this does not use up the request's one retry", async () => {
    const [a, b] = [await rig.online("a"), await rig.online("b")];
    const running = rig.run(new TextSink());
    await waitOneTurn();
    const [first, other] = a.heard.length > 0 ? [a, b] : [b, a];
    await begin(first);
    rig.plane.unreachable.add(first.id);
    rig.clock.advance(2_300);
    await begin(other);
    rig.plane.unreachable.add(other.id);
    rig.plane.unreachable.delete(first.id);
    rig.clock.advance(2_300);
    answerJob(first, await first.job(2));
    assert.equal((await running).end, "finished");
    assert.deepEqual(states(), ["cut null", "cut null", "finished null"]);
  });

  test("ends a request at its deadline and blames no node when every node is connected to a server that hangs", async () => {
    const [a, b] = [await rig.online("a"), await rig.online("b")];
    const running = rig.run(new TextSink());
    await waitOneTurn();
    const first = a.heard.length > 0 ? a : b;
    await begin(first);
    rig.plane.unreachable.add("a").add("b");
    for (let i = 0; i < 13; i++) {
      rig.clock.advance(1_000);
      await waitOneTurn();
      for (const node of [a, b]) await reportState(node, 1);
    }
    assert.equal((await running).end, "cut");
    assert.ok(
      states().every((state) => state === "cut null" || state === "declined null"),
      states().join(),
    );
  });

  test("retries, and does not blame the node, when frames were lost or stop arriving after a node's server failed", async () => {
    const node = await rig.online("a");
    for (const [nth, happens] of [
      [1, (job: string) => node.delta(job, 5, "later")],
      [3, () => rig.clock.advance(2_300)],
    ] as const) {
      const running = rig.run(new TextSink());
      const job = await begin(node, nth);
      move("a");
      await reportState(node, 1);
      happens(job);
      await reportState(node);
      assert.deepEqual(listCancelledJobs(node).at(-1), job, "what it still runs is stopped");
      answerJob(node, await node.job(nth + 1));
      assert.equal((await running).end, "finished");
      rig.clock.advance(60_000);
      await reportState(node);
    }
    assert.deepEqual(states(), ["cut null", "finished null", "cut null", "finished null"]);
  });

  test("lets a job continue when its node reconnects with renewed credentials", async () => {
    const node = await rig.online("a");
    const running = rig.run(new TextSink());
    const job = await begin(node);
    rig.plane.moved.set("a", rig.clock.monotonic());
    await reportState(node, 1);
    rig.plane.moved.delete("a");
    node.delta(job, 1, " rest");
    node.say({ kind: "done", job, seq: 2, finish: "stop" });
    assert.equal((await running).end, "finished");
    assert.deepEqual(states(), ["finished null"]);
  });

  test("blames the node if it breaks the protocol in a job offered after the node moved to another server", async () => {
    const node = await rig.online("a");
    rig.plane.moved.set("a", rig.clock.monotonic());
    rig.clock.advance(10);
    const running = rig.run(new TextSink());
    node.delta(await begin(node), 7, "later");
    assert.equal((await running).end, "broken");
    assert.deepEqual(states(), ["broken protocol"]);
  });

  test("waits for the node when the server closes the node's connection", async () => {
    const node = await rig.online("a");
    const running = rig.run(new TextSink());
    await begin(node);
    rig.plane.drop("a", "plane");
    await waitOneTurn();
    rig.clock.advance(1_000);
    await reportState(node);
    answerJob(node, await node.job(2));
    assert.equal((await running).end, "finished");
    assert.deepEqual(states(), ["cut null", "finished null"]);
  });

  test("counts against a node that closes its connection itself", async () => {
    const node = await rig.online("a");
    const running = rig.run(new TextSink());
    await begin(node);
    rig.plane.drop("a");
    assert.equal((await running).end, "quiet");
    assert.deepEqual(states(), ["lost lost"]);
  });

  test("does not count a stall against a node whose server hung before the node moved to another server", async () => {
    const excused: string[] = [];
    rig.dispatcher.onExcused((id, since) => excused.push(`${id} ${rig.clock.monotonic() - since}`));
    const node = await rig.online("a");
    const running = rig.run(new TextSink());
    await begin(node);
    rig.clock.advance(2_300);
    assert.equal((await running).end, "quiet");
    await reportState(node);
    assert.deepEqual(excused, [], "it has not moved");
    rig.clock.advance(4_000);
    rig.plane.moved.set("a", rig.clock.monotonic());
    await reportState(node);
    assert.deepEqual(excused, [], "the server that it left answers");
    rig.plane.deadServers.add(rig.plane.server);
    await reportState(node, 1);
    assert.deepEqual(excused, [], "it renews its credentials");
    await reportState(node);
    await reportState(node);
    assert.deepEqual(excused, ["a 15000"]);
  });

  test("counts a stall against a node that moved to another server although its former server responds", async () => {
    const node = await rig.online("a");
    const running = rig.run(new TextSink({ streams: true }));
    await begin(node);
    rig.plane.moved.set("a", rig.clock.monotonic());
    await reportState(node);
    assert.deepEqual(states(), [], "what it says of itself ends nothing");
    rig.clock.advance(2_300);
    assert.equal((await running).end, "quiet");
    assert.deepEqual(states(), ["quiet silent"]);
  });

  test("treats a server as failed if nodes of two other established hosts lost their connection to it too", async () => {
    const [a, b, c] = [await rig.online("a"), await rig.online("b"), await rig.online("c")];
    const running = rig.run(new TextSink());
    await waitOneTurn();
    const first = [a, b, c].find(({ heard }) => heard.length > 0) as FakeNode;
    await begin(first);
    // The node that runs the request reconnects last, after the others have shown that they lost the server too.
    for (const node of [...[a, b, c].filter((one) => one !== first), first]) {
      rig.plane.moved.set(node.id, rig.clock.monotonic());
      await reportState(node);
    }
    assert.deepEqual(states(), ["cut null"]);
    rig.plane.goAway();
    rig.clock.advance(10_000);
    await running;
  });
});
