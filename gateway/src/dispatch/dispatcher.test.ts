/** Which node the dispatcher asks, how long a request waits for one, and what it returns of the node's answer. */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { waitOneTurn } from "../base/testing.ts";
import { FakeNode, TextSink } from "./testing.ts";
import {
  DISPATCH_REQUEST,
  type DispatchRig,
  listReceivedFrameKinds,
  MODEL,
  NEVER_ABORTED,
  nodeRecordOf,
  openDispatchRig,
  REQUEST_ID,
  waitForFirstOffer,
} from "./testing-dispatcher.ts";

describe("dispatcher", () => {
  let elected: string[];
  let rig: DispatchRig;
  beforeEach(() => {
    elected = [MODEL];
    rig = openDispatchRig({ nodeRecord: (id) => ({ ...nodeRecordOf(id), models: elected }) });
  });

  test("sends a request to a node and returns its output in order", async () => {
    const node = await rig.online("a");
    const sink = new TextSink();
    const offered = node.job();
    const running = rig.run(sink);
    const job = await offered;
    assert.equal(job, `${REQUEST_ID}-01`);
    rig.clock.advance(30);
    node.say({ kind: "accepted", job });
    rig.clock.advance(70);
    node.delta(job, 0, "one ");
    rig.clock.advance(40);
    node.delta(job, 1, "two");
    node.say({ kind: "done", job, seq: 2, finish: "stop" });
    const result = await running;
    assert.equal(sink.text, "one two");
    assert.deepEqual(
      { ...result, server: result.server?.hostAccountId },
      {
        end: "finished",
        finish: "stop",
        server: "host-of-a",
        attempts: 1,
        queueMs: 30,
        ttftMs: 100,
        pace: { nodeId: "a", ttftMs: 100, spanMs: 140, outputMs: 40 },
      },
    );
    rig.dispatcher.measured(MODEL, result, { prompt: 5, output: 21 });
    assert.deepEqual(rig.dispatcher.speedOf(MODEL), { ttftMs: 100, ttftMsPerToken: 20, tokensPerSecond: 500 });
    assert.deepEqual(listReceivedFrameKinds(node), ["job"]);
  });

  test("fails immediately if no connected node serves the model", async () => {
    assert.equal((await rig.run(new TextSink())).end, "no_capacity");
    elected = ["other"];
    await rig.online("a");
    assert.equal((await rig.run(new TextSink())).end, "no_capacity", "a node serves only what its host elected");
  });

  test("waits while all nodes are busy, takes the first free slot, or gives up at the deadline", async () => {
    const node = await rig.online("a");
    const offered = node.job();
    const first = rig.run(new TextSink());
    const job = await offered;
    node.say({ kind: "accepted", job });
    node.delta(job, 0, "x");
    const second = rig.dispatcher.run(
      { ...DISPATCH_REQUEST, request: REQUEST_ID.replace("06", "07") },
      new TextSink(),
      NEVER_ABORTED,
    );
    const third = rig.dispatcher.run(
      { ...DISPATCH_REQUEST, request: REQUEST_ID.replace("06", "08") },
      new TextSink(),
      NEVER_ABORTED,
    );
    await waitOneTurn();
    assert.deepEqual(listReceivedFrameKinds(node), ["job"], "the others wait");
    const next = node.job(2);
    node.say({ kind: "done", job, seq: 1, finish: "stop" });
    assert.equal((await first).end, "finished");
    const secondJob = await next;
    assert.ok(secondJob.startsWith("07"), "first come, first served");
    node.say({ kind: "accepted", job: secondJob });
    for (let s = 0, seq = 0; s < 10; s++) {
      rig.clock.advance(1000);
      node.delta(secondJob, seq++, "x");
      node.report({ models: [MODEL], slots: 1, busy: 1 });
      await waitOneTurn();
    }
    assert.equal((await third).end, "no_capacity");
    node.say({ kind: "failed", job: secondJob, seq: 10, cause: "engine", message: "" });
    assert.equal((await second).end, "failed");
  });

  test("asks the next node after a busy reply, which does not use up the request's one retry", async () => {
    const [a, b] = [await rig.online("a"), await rig.online("b")];
    const sink = new TextSink();
    const running = rig.run(sink);
    const { job, node, other } = await waitForFirstOffer(a, b);
    const nextOffer = other.job();
    node.say({ kind: "busy", job });
    const second = await nextOffer;
    other.say({ kind: "accepted", job: second });
    rig.clock.advance(2300);
    await waitOneTurn();
    // The second node has stalled, and the busy reply did not use the one retry. So the first node is asked again after
    // 250 ms.
    await waitOneTurn();
    rig.clock.advance(250);
    const third = await node.job(2);
    node.say({ kind: "accepted", job: third });
    node.delta(third, 0, "ok");
    node.say({ kind: "done", job: third, seq: 1, finish: "stop" });
    const result = await running;
    assert.equal(result.end, "finished");
    assert.equal(result.attempts, 2);
    assert.equal(sink.text, "ok");
  });

  test("repeats an offer after 250 ms to a node that replied busy, if no other node is free", async () => {
    const [a, b] = [await rig.online("a"), await rig.online("b")];
    const first = rig.run(new TextSink());
    const { job, node: full, other } = await waitForFirstOffer(a, b);
    full.say({ kind: "accepted", job });
    const sink = new TextSink();
    const second = rig.dispatcher.run(
      { ...DISPATCH_REQUEST, request: REQUEST_ID.replace("06", "07") },
      sink,
      NEVER_ABORTED,
    );
    other.say({ kind: "busy", job: await other.job() });
    await waitOneTurn();
    // For half a second, other nodes are asked before this one.
    rig.clock.advance(500);
    const again = await other.job(2);
    other.say({ kind: "accepted", job: again });
    other.delta(again, 0, "ok");
    other.say({ kind: "done", job: again, seq: 1, finish: "stop" });
    assert.equal((await second).end, "finished");
    assert.equal(sink.text, "ok");
    full.delta(job, 0, "x");
    full.say({ kind: "done", job, seq: 1, finish: "stop" });
    assert.equal((await first).end, "finished");
  });

  test("after a node replies busy, prefers other nodes to it until a set time has passed", async () => {
    const [a, b] = [await rig.online("a"), await rig.online("b")];
    const first = rig.run(new TextSink());
    const { job, node: full, other } = await waitForFirstOffer(a, b);
    full.say({ kind: "accepted", job });
    const gone = new AbortController();
    const left = rig.dispatcher.run(
      { ...DISPATCH_REQUEST, request: REQUEST_ID.replace("06", "07") },
      new TextSink(),
      gone.signal,
    );
    other.say({ kind: "busy", job: await other.job() });
    await waitOneTurn();
    gone.abort();
    assert.equal((await left).end, "cancelled");
    const second = rig.dispatcher.run(
      { ...DISPATCH_REQUEST, request: REQUEST_ID.replace("06", "08") },
      new TextSink(),
      NEVER_ABORTED,
    );
    rig.clock.advance(500);
    const again = await other.job(2);
    for (const [node, id] of [
      [other, again],
      [full, job],
    ] as const) {
      if (node === other) node.say({ kind: "accepted", job: id });
      node.delta(id, 0, "ok");
      node.say({ kind: "done", job: id, seq: 1, finish: "stop" });
    }
    assert.deepEqual([(await first).end, (await second).end], ["finished", "finished"]);
  });

  test("fails immediately when the only node has no slots", async () => {
    const node = await rig.online("a", { slots: 0 });
    assert.equal((await rig.run(new TextSink())).end, "no_capacity");
    node.report({ models: [MODEL], slots: 1 });
    await waitOneTurn();
    const waiting = rig.run(new TextSink());
    node.say({ kind: "busy", job: await node.job() });
    node.report({ models: [MODEL], slots: 0 });
    await waitOneTurn();
    rig.clock.advance(250);
    assert.equal((await waiting).end, "no_capacity");
  });

  test("keeps a disconnected node out of the roster when its last state is processed late", async () => {
    const node = new FakeNode(rig.plane, { id: "a", gatewayId: "gw1" });
    node.report({ models: [MODEL], slots: 1 });
    rig.plane.drop("a");
    await waitOneTurn();
    assert.equal((await rig.run(new TextSink())).end, "no_capacity");
    node.report({ models: [MODEL], slots: 1 });
    await waitOneTurn();
    assert.equal(rig.dispatcher.slots(MODEL), 1);
  });

  test("cancels the job on the node when the output sink needs no more output", async () => {
    const node = await rig.online("a");
    const sink = new TextSink({ enoughAt: 3 });
    const offered = node.job();
    const running = rig.run(sink);
    const job = await offered;
    node.say({ kind: "accepted", job });
    node.delta(job, 0, "abc");
    assert.equal((await running).end, "enough");
    assert.deepEqual(listReceivedFrameKinds(node), ["job", "cancel"]);
  });

  test("names a node to be paid only if it accepted before the client disconnected", async () => {
    const node = await rig.online("a");
    for (const [nth, accepted] of [false, true].entries()) {
      const gone = new AbortController();
      const offered = node.job(nth + 1);
      const running = rig.run(new TextSink(), gone.signal);
      const job = await offered;
      if (accepted) node.say({ kind: "accepted", job });
      gone.abort();
      const result = await running;
      assert.equal(result.end, "cancelled");
      assert.equal(result.server !== null, accepted);
      assert.equal(listReceivedFrameKinds(node).at(-1), "cancel");
    }
  });
});
