import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import { type ManualClock, manualClock } from "../base/testing.ts";
import { type Dispatcher, openDispatcher } from "./dispatcher.ts";
import type { DispatchOrder, DispatchSink } from "./offers.ts";
import { Roster } from "./roster.ts";
import { FakeNode, MemoryPlane } from "./testing.ts";

const REQUEST = "06dfk3zq9v8n2x4m7t1c5w0rbe";
const order: DispatchOrder = {
  request: REQUEST,
  header: { model: "tiny-3b", endpoint: "chat", stream: true, output_tokens_max: 9, sampling: {} },
  body: { messages: [{ role: "user", content: "hi" }] },
};

class TextSink implements DispatchSink {
  text = "";
  begun = 0;
  reachedClient = false;
  streams: boolean;
  enoughAt: number;
  constructor({ streams = false, enoughAt = Number.POSITIVE_INFINITY } = {}) {
    this.streams = streams;
    this.enoughAt = enoughAt;
  }
  begin(): void {
    this.begun += 1;
    this.text = "";
  }
  delta(_channel: string, text: string): "more" | "enough" {
    this.text += text;
    this.reachedClient ||= this.streams;
    return this.text.length >= this.enoughAt ? "enough" : "more";
  }
  vectors(): "more" | "broken" {
    return "broken";
  }
}

describe("dispatch", () => {
  let clock: ManualClock;
  let plane: MemoryPlane;
  let dispatcher: Dispatcher;
  let licensed: string[];

  beforeEach(() => {
    clock = manualClock();
    plane = new MemoryPlane();
    licensed = ["tiny-3b"];
    const log = createLog("silent");
    const licence = async (id: string) => ({
      nodeId: id as Uuid,
      hostAccountId: `host-of-${id}` as Uuid,
      models: licensed,
    });
    const roster = new Roster({ plane, clock, random: systemRandom(), log, licence });
    dispatcher = openDispatcher({ plane, roster, clock, log, gatewayId: "gw1", deadlineMs: 10_000 });
  });

  const online = async (id: string, slots = 1): Promise<FakeNode> => {
    const node = new FakeNode(plane, { id, gatewayId: "gw1" });
    node.report({ models: ["tiny-3b"], slots });
    await turn();
    return node;
  };
  const run = (sink: DispatchSink, signal = new AbortController().signal) => dispatcher.run(order, sink, signal);
  const firstOffered = (a: FakeNode, b: FakeNode) =>
    Promise.race([
      a.job().then((job) => ({ job, node: a, other: b })),
      b.job().then((job) => ({ job, node: b, other: a })),
    ]);
  const heard = (node: FakeNode): string[] => node.heard.map(({ kind }) => kind);

  test("a request goes to a node and its output comes back in order", async () => {
    const node = await online("a");
    const sink = new TextSink();
    const offered = node.job();
    const running = run(sink);
    const job = await offered;
    assert.equal(job, `${REQUEST}-01`);
    clock.advance(30);
    node.say({ kind: "accepted", job });
    clock.advance(70);
    node.delta(job, 0, "one ");
    clock.advance(40);
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
    dispatcher.measured("tiny-3b", result, { prompt: 5, output: 21 });
    assert.deepEqual(dispatcher.speedOf("tiny-3b"), { ttftMs: 100, tokensPerSecond: 500 });
    assert.deepEqual(heard(node), ["job"]);
  });

  test("no connected node serves the model: at once", async () => {
    assert.equal((await run(new TextSink())).end, "no_capacity");
    licensed = ["other"];
    await online("a");
    assert.equal((await run(new TextSink())).end, "no_capacity", "a node serves only what its host elected");
  });

  test("all busy: it waits, gets the freed slot, or gives up at the deadline", async () => {
    const node = await online("a");
    const offered = node.job();
    const first = run(new TextSink());
    const job = await offered;
    node.say({ kind: "accepted", job });
    node.delta(job, 0, "x");
    const second = dispatcher.run(
      { ...order, request: REQUEST.replace("06", "07") },
      new TextSink(),
      new AbortController().signal,
    );
    const third = dispatcher.run(
      { ...order, request: REQUEST.replace("06", "08") },
      new TextSink(),
      new AbortController().signal,
    );
    await turn();
    assert.deepEqual(heard(node), ["job"], "the others wait");
    const next = node.job(2);
    node.say({ kind: "done", job, seq: 1, finish: "stop" });
    assert.equal((await first).end, "finished");
    const secondJob = await next;
    assert.ok(secondJob.startsWith("07"), "first come, first served");
    node.say({ kind: "accepted", job: secondJob });
    for (let s = 0, seq = 0; s < 10; s++) {
      clock.advance(1000);
      node.delta(secondJob, seq++, "x");
      node.report({ models: ["tiny-3b"], slots: 1, busy: 1 });
      await turn();
    }
    assert.equal((await third).end, "no_capacity");
    node.say({ kind: "failed", job: secondJob, seq: 10, cause: "engine", message: "" });
    assert.equal((await second).end, "failed");
  });

  test("busy: the next node is asked and no retry is spent", async () => {
    const [a, b] = [await online("a"), await online("b")];
    const sink = new TextSink();
    const running = run(sink);
    const { job, node, other } = await firstOffered(a, b);
    const nextOffer = other.job();
    node.say({ kind: "busy", job });
    const second = await nextOffer;
    other.say({ kind: "accepted", job: second });
    clock.advance(2000);
    // Quiet, but the retry is unspent: the node that declined is asked again after a moment.
    await turn();
    clock.advance(250);
    const third = await node.job(2);
    node.say({ kind: "accepted", job: third });
    node.delta(third, 0, "ok");
    node.say({ kind: "done", job: third, seq: 1, finish: "stop" });
    const result = await running;
    assert.equal(result.end, "finished");
    assert.equal(result.attempts, 2);
    assert.equal(sink.text, "ok");
  });

  test("quiet for 2 s with nothing at the client: the other node answers, whole and unmixed", async () => {
    const [a, b] = [await online("a"), await online("b")];
    const sink = new TextSink();
    const running = run(sink);
    const { job, node, other } = await firstOffered(a, b);
    node.say({ kind: "accepted", job });
    node.delta(job, 0, "half an ans");
    const nextOffer = other.job();
    clock.advance(1999);
    await turn();
    assert.deepEqual(heard(other), []);
    clock.advance(1);
    const second = await nextOffer;
    assert.ok(heard(node).includes("cancel"));
    node.delta(job, 1, "LATE");
    other.say({ kind: "accepted", job: second });
    other.delta(second, 0, "whole");
    other.say({ kind: "done", job: second, seq: 1, finish: "stop" });
    const result = await running;
    assert.equal(sink.text, "whole");
    assert.equal(result.server?.hostAccountId, `host-of-${other.id}`);
    assert.equal(result.attempts, 2);
  });

  test("a node's last state, understood after its connection was lost, does not bring it back", async () => {
    const node = new FakeNode(plane, { id: "a", gatewayId: "gw1" });
    node.report({ models: ["tiny-3b"], slots: 1 });
    plane.drop("a");
    await turn();
    assert.equal((await run(new TextSink())).end, "no_capacity");
    node.report({ models: ["tiny-3b"], slots: 1 });
    await turn();
    assert.equal(dispatcher.slots("tiny-3b"), 1);
  });

  test("a node that fell silent is asked last for a while, and as ever when it is the only one", async () => {
    const [a, b] = [await online("a", 4), await online("b", 4)];
    const running = run(new TextSink());
    const { node: silent, other } = await firstOffered(a, b);
    clock.advance(2000);
    await turn();
    const job = await other.job();
    other.say({ kind: "accepted", job });
    other.say({ kind: "done", job, seq: 0, finish: "stop" });
    await running;
    const answer = async (node: FakeNode, nth: number): Promise<void> => {
      const request = { ...order, request: REQUEST.replace("06", `1${nth}`) };
      const next = dispatcher.run(request, new TextSink(), new AbortController().signal);
      const offered = await node.job(nth);
      node.say({ kind: "accepted", job: offered });
      node.say({ kind: "done", job: offered, seq: 0, finish: "stop" });
      assert.equal((await next).end, "finished");
    };
    for (let nth = 2; nth < 8; nth++) await answer(other, nth);
    plane.drop(other.id);
    await answer(silent, 2);
  });

  test("quiet after output reached the client is the ending", async () => {
    const node = await online("a");
    await online("b");
    const sink = new TextSink({ streams: true });
    const offered = node.job();
    const all = run(sink);
    const job = await Promise.race([offered, turn().then(() => null)]);
    if (job === null) {
      // The other node was picked: it never answers, and the offer passes on after 2 s.
      clock.advance(2000);
    }
    const mine = job ?? (await offered);
    node.say({ kind: "accepted", job: mine });
    node.delta(mine, 0, "to the client");
    clock.advance(2000);
    const result = await all;
    assert.equal(result.end, "quiet");
    assert.equal(result.server?.hostAccountId, "host-of-a");
  });

  test("quiet with no other node: the quiet attempt is the ending, with its output", async () => {
    const node = await online("a");
    const sink = new TextSink();
    const offered = node.job();
    const running = run(sink);
    const job = await offered;
    node.say({ kind: "accepted", job });
    node.delta(job, 0, "half");
    clock.advance(2000);
    const result = await running;
    assert.deepEqual([result.end, result.server?.hostAccountId, sink.text], ["quiet", "host-of-a", "half"]);
  });

  test("a dropped connection is like silence, at once", async () => {
    const node = await online("a");
    const sink = new TextSink({ streams: true });
    const offered = node.job();
    const running = run(sink);
    const job = await offered;
    node.say({ kind: "accepted", job });
    node.delta(job, 0, "x");
    plane.drop("a");
    assert.equal((await running).end, "quiet");
  });

  test("prefill progress keeps it waiting for a minute, no longer", async () => {
    const node = await online("a");
    const offered = node.job();
    const running = run(new TextSink());
    const job = await offered;
    node.say({ kind: "accepted", job });
    let ended = false;
    void running.then(() => {
      ended = true;
    });
    for (let s = 0; s < 60; s++) {
      clock.advance(1000);
      node.say({ kind: "progress", job, fraction: s / 60 });
      node.report({ models: ["tiny-3b"], slots: 1, busy: 1 });
      await turn();
      assert.equal(ended, false, `at ${s} s`);
    }
    clock.advance(1000);
    node.say({ kind: "progress", job, fraction: 1 });
    clock.advance(1000);
    assert.equal((await running).end, "quiet");
  });

  test("the sink has enough: the node is stopped", async () => {
    const node = await online("a");
    const sink = new TextSink({ enoughAt: 3 });
    const offered = node.job();
    const running = run(sink);
    const job = await offered;
    node.say({ kind: "accepted", job });
    node.delta(job, 0, "abc");
    assert.equal((await running).end, "enough");
    assert.deepEqual(heard(node), ["job", "cancel"]);
  });

  test("the client goes away: before acceptance nobody is paid, after it the node is", async () => {
    const node = await online("a");
    for (const [nth, accepted] of [false, true].entries()) {
      const gone = new AbortController();
      const offered = node.job(nth + 1);
      const running = run(new TextSink(), gone.signal);
      const job = await offered;
      if (accepted) node.say({ kind: "accepted", job });
      gone.abort();
      const result = await running;
      assert.equal(result.end, "cancelled");
      assert.equal(result.server !== null, accepted);
      assert.equal(heard(node).at(-1), "cancel");
    }
  });

  test("a gap, a malformed frame, output before acceptance: the job fails, the gateway does not", async () => {
    const node = await online("a", 4);
    const breaks = [
      (job: string) => node.delta(job, 1, "gap"),
      () => node.raw(Buffer.from([1, 19, 255])),
      (job: string) => node.say({ kind: "vectors", job, seq: 0, first: 0, width: 1, values: Float32Array.of(1) }),
      (job: string) => node.say({ kind: "accepted", job }),
    ];
    for (const [nth, break_] of breaks.entries()) {
      const offered = node.job(nth + 1);
      const running = run(new TextSink());
      const job = await offered;
      node.say({ kind: "accepted", job });
      break_(job);
      assert.equal((await running).end, "failed");
    }
  });

  test("another node cannot speak for a job", async () => {
    const node = await online("a");
    const sink = new TextSink();
    const offered = node.job();
    const running = run(sink);
    const job = await offered;
    const thief = await online("b");
    node.say({ kind: "accepted", job });
    thief.delta(job, 0, "evil");
    thief.say({ kind: "done", job, seq: 1, finish: "stop" });
    node.delta(job, 0, "good");
    node.say({ kind: "done", job, seq: 1, finish: "stop" });
    await running;
    assert.equal(sink.text, "good");
  });
});
