import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { encodeFrame } from "@tollgate/protocol/codec.ts";
import type { Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { type ManualClock, manualClock, seededRandom, waitOneTurn } from "../base/testing.ts";
import type { DispatchRequest, DispatchSink } from "./dispatch-request.ts";
import { type Dispatcher, type DispatchResult, openDispatcher } from "./dispatcher.ts";
import { Roster } from "./roster.ts";
import { TextSink as CollectingSink, FakeNode, MemoryPlane } from "./testing.ts";

const REQUEST = "06dfk3zq9v8n2x4m7t1c5w0rbe";
const order: DispatchRequest = {
  request: REQUEST,
  header: { model: "tiny-3b", endpoint: "chat", stream: true, output_tokens_max: 9, sampling: {} },
  body: { messages: [{ role: "user", content: "hi" }] },
};

class TextSink extends CollectingSink {
  begun = 0;
  /** Whether the node still has to send the vectors of an embedding. */
  owes = false;
  readonly #enoughAt: number;
  constructor({ streams = false, enoughAt = Number.POSITIVE_INFINITY } = {}) {
    super({ streams });
    this.#enoughAt = enoughAt;
  }
  override begin(): void {
    super.begin();
    this.begun += 1;
  }
  override delta(channel: string, text: string): "more" | "enough" {
    super.delta(channel, text);
    return this.text.length >= this.#enoughAt ? "enough" : "more";
  }
  override finished(): "answered" | "empty" | "broken" {
    return this.owes ? "broken" : super.finished();
  }
}

const NEVER = new AbortController().signal;

describe("dispatcher", () => {
  let clock: ManualClock;
  let plane: MemoryPlane;
  let dispatcher: Dispatcher;
  let licensed: string[];
  let logged: string;
  let hostOfNode: (id: string) => string;

  beforeEach(() => {
    hostOfNode = (id) => `host-of-${id}`;
    clock = manualClock();
    plane = new MemoryPlane();
    licensed = ["tiny-3b"];
    logged = "";
    const log = createLog("trace", {
      write(line) {
        logged += line;
      },
    });
    const nodeRecord = async (id: string) => ({
      nodeId: id as Uuid,
      hostAccountId: hostOfNode(id) as Uuid,
      models: licensed,
    });
    const roster = new Roster({ plane, clock, random: seededRandom(1), log, nodeRecord });
    dispatcher = openDispatcher({ plane, roster, clock, log, gatewayId: "gw1", deadlineMs: 10_000 });
  });

  const online = async (id: string, slots = 1): Promise<FakeNode> => {
    const node = new FakeNode(plane, { id, gatewayId: "gw1" });
    node.report({ models: ["tiny-3b"], slots });
    await waitOneTurn();
    return node;
  };
  const run = (sink: DispatchSink, signal = new AbortController().signal) => dispatcher.run(order, sink, signal);
  const firstOffered = (a: FakeNode, b: FakeNode) =>
    Promise.race([
      a.job().then((job) => ({ job, node: a, other: b })),
      b.job().then((job) => ({ job, node: b, other: a })),
    ]);
  const heard = (node: FakeNode): string[] => node.heard.map(({ kind }) => kind);

  test("sends a request to a node and returns its output in order", async () => {
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
    assert.deepEqual(dispatcher.speedOf("tiny-3b"), { ttftMs: 100, ttftMsPerToken: 20, tokensPerSecond: 500 });
    assert.deepEqual(heard(node), ["job"]);
  });

  test("fails immediately if no connected node serves the model", async () => {
    assert.equal((await run(new TextSink())).end, "no_capacity");
    licensed = ["other"];
    await online("a");
    assert.equal((await run(new TextSink())).end, "no_capacity", "a node serves only what its host elected");
  });

  test("waits while all nodes are busy, takes the first free slot, or gives up at the deadline", async () => {
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
    await waitOneTurn();
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
      await waitOneTurn();
    }
    assert.equal((await third).end, "no_capacity");
    node.say({ kind: "failed", job: secondJob, seq: 10, cause: "engine", message: "" });
    assert.equal((await second).end, "failed");
  });

  test("asks the next node after a busy reply, which does not use up the request's one retry", async () => {
    const [a, b] = [await online("a"), await online("b")];
    const sink = new TextSink();
    const running = run(sink);
    const { job, node, other } = await firstOffered(a, b);
    const nextOffer = other.job();
    node.say({ kind: "busy", job });
    const second = await nextOffer;
    other.say({ kind: "accepted", job: second });
    clock.advance(2300);
    await waitOneTurn();
    // The second node has stalled, and the busy reply did not use the one retry. So the first node is asked again after
    // 250 ms.
    await waitOneTurn();
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

  test("repeats an offer after 250 ms to a node that replied busy, if no other node is free", async () => {
    const [a, b] = [await online("a"), await online("b")];
    const first = run(new TextSink());
    const { job, node: full, other } = await firstOffered(a, b);
    full.say({ kind: "accepted", job });
    const sink = new TextSink();
    const second = dispatcher.run({ ...order, request: REQUEST.replace("06", "07") }, sink, NEVER);
    other.say({ kind: "busy", job: await other.job() });
    await waitOneTurn();
    // For half a second, other nodes are asked before this one.
    clock.advance(500);
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
    const [a, b] = [await online("a"), await online("b")];
    const first = run(new TextSink());
    const { job, node: full, other } = await firstOffered(a, b);
    full.say({ kind: "accepted", job });
    const gone = new AbortController();
    const left = dispatcher.run({ ...order, request: REQUEST.replace("06", "07") }, new TextSink(), gone.signal);
    other.say({ kind: "busy", job: await other.job() });
    await waitOneTurn();
    gone.abort();
    assert.equal((await left).end, "cancelled");
    const second = dispatcher.run({ ...order, request: REQUEST.replace("06", "08") }, new TextSink(), NEVER);
    clock.advance(500);
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
    const node = await online("a", 0);
    assert.equal((await run(new TextSink())).end, "no_capacity");
    node.report({ models: ["tiny-3b"], slots: 1 });
    await waitOneTurn();
    const waiting = run(new TextSink());
    node.say({ kind: "busy", job: await node.job() });
    node.report({ models: ["tiny-3b"], slots: 0 });
    await waitOneTurn();
    clock.advance(250);
    assert.equal((await waiting).end, "no_capacity");
  });

  test("retries on another node when the first node stalls, and returns only the second node's output", async () => {
    const [a, b] = [await online("a"), await online("b")];
    const sink = new TextSink();
    const running = run(sink);
    const { job, node, other } = await firstOffered(a, b);
    node.say({ kind: "accepted", job });
    node.delta(job, 0, "half an ans");
    const nextOffer = other.job();
    clock.advance(2299);
    await waitOneTurn();
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

  test("keeps a disconnected node out of the roster when its last state is processed late", async () => {
    const node = new FakeNode(plane, { id: "a", gatewayId: "gw1" });
    node.report({ models: ["tiny-3b"], slots: 1 });
    plane.drop("a");
    await waitOneTurn();
    assert.equal((await run(new TextSink())).end, "no_capacity");
    node.report({ models: ["tiny-3b"], slots: 1 });
    await waitOneTurn();
    assert.equal(dispatcher.slots("tiny-3b"), 1);
  });

  test("for a while, asks other nodes before a node that stalled, unless no other node serves the model", async () => {
    const [a, b] = [await online("a", 4), await online("b", 4)];
    const running = run(new TextSink());
    const { node: silent, other } = await firstOffered(a, b);
    clock.advance(2000);
    await waitOneTurn();
    const job = await other.job();
    other.say({ kind: "accepted", job });
    other.delta(job, 0, "x");
    other.say({ kind: "done", job, seq: 1, finish: "stop" });
    await running;
    const answer = async (node: FakeNode, nth: number): Promise<void> => {
      const request = { ...order, request: REQUEST.replace("06", `1${nth}`) };
      const next = dispatcher.run(request, new TextSink(), new AbortController().signal);
      const offered = await node.job(nth);
      node.say({ kind: "accepted", job: offered });
      node.delta(offered, 0, "x");
      node.say({ kind: "done", job: offered, seq: 1, finish: "stop" });
      assert.equal((await next).end, "finished");
    };
    for (let nth = 2; nth < 8; nth++) await answer(other, nth);
    plane.drop(other.id);
    await answer(silent, 2);
  });

  test("ends the request if the node stalls after output reached the client", async () => {
    const node = await online("a");
    await online("b");
    const sink = new TextSink({ streams: true });
    const offered = node.job();
    const all = run(sink);
    const job = await Promise.race([offered, waitOneTurn().then(() => null)]);
    if (job === null) {
      // The other node was chosen and never replies, so the offer goes to this node after 2 s.
      clock.advance(2000);
    }
    const mine = job ?? (await offered);
    node.say({ kind: "accepted", job: mine });
    node.delta(mine, 0, "to the client");
    clock.advance(2300);
    const result = await all;
    assert.equal(result.end, "quiet");
    assert.equal(result.server?.hostAccountId, "host-of-a");
  });

  test("ends the request with the stalled node's output when no other node is free", async () => {
    const node = await online("a");
    const sink = new TextSink();
    const offered = node.job();
    const running = run(sink);
    const job = await offered;
    node.say({ kind: "accepted", job });
    node.delta(job, 0, "half");
    clock.advance(2300);
    const result = await running;
    assert.deepEqual([result.end, result.server?.hostAccountId, sink.text], ["quiet", "host-of-a", "half"]);
  });

  test("treats a node's dropped connection like a stall, but without waiting for the timeout", async () => {
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

  test("waits at most one minute for a node that only reports prompt progress", async () => {
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
      await waitOneTurn();
      assert.equal(ended, false, `at ${s} s`);
    }
    clock.advance(1000);
    node.say({ kind: "progress", job, fraction: 1 });
    clock.advance(1300);
    assert.equal((await running).end, "quiet");
  });

  test("cancels the job on the node when the output sink needs no more output", async () => {
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

  test("names a node to be paid only if it accepted before the client disconnected", async () => {
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

  test("fails the job, but not the gateway, when frames are missing, malformed or out of order", async () => {
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
      assert.equal((await running).end, "broken");
    }
    const owing = new TextSink();
    owing.owes = true;
    const offered = node.job(breaks.length + 1);
    const running = run(owing);
    const job = await offered;
    node.say({ kind: "accepted", job });
    node.say({ kind: "done", job, seq: 0, finish: "stop" });
    assert.equal((await running).end, "broken", "done without what it owes");
  });

  test("fails only the job named in a malformed frame", async () => {
    const node = await online("a", 4);
    const sinks = [new TextSink(), new TextSink()] as const;
    const running: Promise<DispatchResult>[] = [];
    const jobs: string[] = [];
    for (const [nth, sink] of sinks.entries()) {
      const offered = node.job(nth + 1);
      const request = String(nth).padStart(26, "0");
      running.push(dispatcher.run({ ...order, request }, sink, new AbortController().signal));
      jobs.push(await offered);
      node.say({ kind: "accepted", job: jobs[nth] as string });
    }
    const [broken, other] = jobs as [string, string];
    const whole = encodeFrame({ kind: "deltas", deltas: [{ job: broken, seq: 0, channel: "answer", text: "x" }] });
    // The malformed frame names no job. If it was output, the next frame of its job shows the gap.
    node.raw(Buffer.from([1, 19, 255]));
    node.raw(whole.subarray(0, -1));
    node.delta(other, 0, "well");
    node.say({ kind: "done", job: other, seq: 1, finish: "stop" });
    const ends = (await Promise.all(running)).map(({ end }) => end);
    assert.deepEqual([ends, sinks[1].text], [["broken", "finished"], "well"]);
  });

  test("does not log a node's failure message or malformed data", async () => {
    const node = await online("a", 4);
    const says = [
      (job: string) => node.say({ kind: "failed", job, seq: 0, cause: "engine", message: "MARKER of a prompt" }),
      () => node.raw(Buffer.concat([Buffer.from([1, 22]), Buffer.from('{"job":"MARKER","seq":"MARKER"}')])),
      () => node.raw(Buffer.concat([Buffer.from([1, 21]), Buffer.from("MARKER, not JSON")])),
    ];
    for (const [nth, say] of says.entries()) {
      const offered = node.job(nth + 1);
      const running = run(new TextSink());
      const job = await offered;
      node.say({ kind: "accepted", job });
      say(job);
      await running;
    }
    assert.match(logged, /"cause":"engine"/);
    assert.match(logged, /malformed frame/);
    assert.doesNotMatch(logged, /MARKER/);
  });

  test("ignores frames that another node sends for a job", async () => {
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

  describe("an answer without a single token", () => {
    const judged: [string, string | null][] = [];
    beforeEach(() => {
      judged.length = 0;
      dispatcher.onAttempt(({ node, failure }) => judged.push([node.id, failure]));
    });
    /** Lets the first node end without output. Resolves with the job of the second node once it is offered. */
    const afterEmpty = async (sink: DispatchSink, signal?: AbortSignal) => {
      const [a, b] = [await online("a"), await online("b")];
      const running = run(sink, signal);
      const { job, node, other } = await firstOffered(a, b);
      node.say({ kind: "accepted", job });
      const second = other.job();
      node.say({ kind: "done", job, seq: 0, finish: "stop" });
      return { running, first: node, other, second: await second };
    };
    const hostOf = ({ server }: Awaited<ReturnType<typeof run>>) => server?.hostAccountId;

    test("is replaced by the second node's output and counted as a failure (miss) of the first node", async () => {
      const sink = new TextSink();
      const { running, first, other, second } = await afterEmpty(sink);
      assert.deepEqual(judged, [], "nobody is judged before the second opinion is there");
      other.say({ kind: "accepted", job: second });
      other.delta(second, 0, "something");
      other.say({ kind: "done", job: second, seq: 1, finish: "stop" });
      const result = await running;
      assert.deepEqual([result.end, result.attempts, hostOf(result)], ["finished", 2, `host-of-${other.id}`]);
      assert.equal(sink.text, "something");
      assert.deepEqual(
        new Map(judged),
        new Map([
          [first.id, "miss"],
          [other.id, null],
        ] as const),
      );
      assert.equal(heard(first).includes("cancel"), false, "it is done by its own word");
    });

    test("is refuted by a second node's answer that is stopped at the output cap", async () => {
      const { running, first, other, second } = await afterEmpty(new TextSink({ enoughAt: 3 }));
      other.say({ kind: "accepted", job: second });
      other.delta(second, 0, "abc");
      assert.equal((await running).end, "enough");
      assert.equal(new Map(judged).get(first.id), "miss");
    });

    test("is not counted as a failure of the first node if the sink stops the second node before any output", async () => {
      const { running, first, other, second } = await afterEmpty(new TextSink({ enoughAt: 1 }));
      other.say({ kind: "accepted", job: second });
      other.delta(second, 0, " ");
      assert.equal((await running).end, "enough");
      assert.equal(new Map(judged).get(first.id), null);
    });

    test("is confirmed by a second node's empty answer, and the result names the second node as the one that served", async () => {
      const { running, first, other, second } = await afterEmpty(new TextSink());
      other.say({ kind: "accepted", job: second });
      other.delta(second, 0, "");
      other.say({ kind: "done", job: second, seq: 1, finish: "stop" });
      const result = await running;
      assert.deepEqual([result.end, result.attempts, hostOf(result)], ["empty", 2, `host-of-${other.id}`]);
      assert.deepEqual(
        judged.toSorted(),
        [
          [first.id, null],
          [other.id, null],
        ].toSorted(),
      );
    });

    test("is not confirmed by a second opinion when there is no other node", async () => {
      const node = await online("a");
      const offered = node.job();
      const running = run(new TextSink());
      const job = await offered;
      node.say({ kind: "accepted", job });
      node.say({ kind: "done", job, seq: 0, finish: "length" });
      const result = await running;
      assert.deepEqual(
        [result.end, result.finish, result.attempts, hostOf(result)],
        ["unconfirmed", "length", 1, "host-of-a"],
      );
      assert.deepEqual(judged, [["a", null]]);
    });

    test("is not confirmed by a second opinion when no other node is free before the deadline", async () => {
      const sink = new TextSink();
      const { running, first, other, second } = await afterEmpty(sink);
      other.say({ kind: "busy", job: second });
      other.report({ models: ["tiny-3b"], slots: 0 });
      for (let s = 0; s < 10; s++) {
        await waitOneTurn();
        clock.advance(1000);
        for (const node of [first, other]) node.report({ models: ["tiny-3b"], slots: node === other ? 0 : 1 });
        await waitOneTurn();
      }
      await waitOneTurn();
      const result = await running;
      assert.deepEqual([result.end, hostOf(result)], ["unconfirmed", `host-of-${first.id}`]);
      assert.equal(first.heard.filter(({ kind }) => kind === "job").length, 1, "the same node is not asked again");
    });

    test("stays unconfirmed if the node that was asked next fails before output; the request fails if that node fails after output", async () => {
      const ways: [string, (node: FakeNode, job: string, seq: number) => void, string][] = [
        ["fails", (node, job, seq) => node.say({ kind: "failed", job, seq, cause: "engine", message: "" }), "failed"],
        ["breaks the protocol", (node, job) => node.say({ kind: "accepted", job }), "broken"],
        ["is lost", (node) => plane.drop(node.id), "quiet"],
        ["falls silent", () => clock.advance(2300), "quiet"],
      ];
      for (const [what, come, end] of ways) {
        for (const output of [false, true]) {
          for (const id of ["a", "b"]) plane.drop(id);
          const { running, first, other, second } = await afterEmpty(new TextSink());
          other.say({ kind: "accepted", job: second });
          if (output) other.delta(second, 0, "half");
          come(other, second, output ? 1 : 0);
          const result = await running;
          assert.equal(result.end, output ? end : "unconfirmed", what);
          assert.equal(hostOf(result), `host-of-${output ? other.id : first.id}`);
          assert.equal(new Map(judged).get(first.id), null, "and nobody was refuted");
          judged.length = 0;
        }
      }
    });

    test("is not counted as a failure if the client disconnects during the second opinion; the second node is stopped", async () => {
      const gone = new AbortController();
      const { running, first, other, second } = await afterEmpty(new TextSink(), gone.signal);
      gone.abort();
      const result = await running;
      assert.deepEqual([result.end, result.server], ["cancelled", null]);
      assert.deepEqual(other.heard.at(-1), { kind: "cancel", job: second });
      assert.equal(new Map(judged).get(first.id), null);
    });

    test("gets no second opinion when a stall has already used the one retry", async () => {
      const [a, b] = [await online("a"), await online("b")];
      await online("c");
      plane.drop("c");
      const running = run(new TextSink());
      const { job, node, other } = await firstOffered(a, b);
      node.say({ kind: "accepted", job });
      clock.advance(2300);
      const second = await other.job();
      other.say({ kind: "accepted", job: second });
      other.say({ kind: "done", job: second, seq: 0, finish: "stop" });
      const result = await running;
      assert.deepEqual([result.end, result.attempts], ["unconfirmed", 2]);
    });

    for (const theirs of [true, false]) {
      test(`gets a second opinion from ${theirs ? "another host's node although it is busy" : "the same host when no other host is connected"}`, async () => {
        hostOfNode = (id) => (id === "c" ? "theirs" : "ours");
        const c = theirs ? await online("c") : undefined;
        const gone = new AbortController();
        const held =
          c && dispatcher.run({ ...order, request: REQUEST.replace("06", "07") }, new TextSink(), gone.signal);
        await c?.job();
        const [a, b] = [await online("a"), await online("b")];
        const running = run(new TextSink());
        const { job, node, other } = await firstOffered(a, b);
        node.say({ kind: "accepted", job });
        node.say({ kind: "done", job, seq: 0, finish: "stop" });
        await waitOneTurn();
        gone.abort();
        await held;
        const asked = c ?? other;
        const second = await asked.job(theirs ? 2 : 1);
        asked.say({ kind: "accepted", job: second });
        asked.say({ kind: "done", job: second, seq: 0, finish: "stop" });
        assert.equal((await running).end, "empty");
      });
    }
  });

  describe("stalls measured by the node's own timestamps", () => {
    const begun = async (id = "a") => {
      const node = await online(id);
      const offered = node.job();
      const sink = new TextSink({ streams: true });
      const running = run(sink);
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
        clock.advance(1990 - ((n - 1) % 4) * 90 + (n % 4) * 90);
        node.report({ models: ["tiny-3b"], slots: 1, busy: 1 });
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
          clock.advance(ms);
          timed(ms);
        }
        clock.advance(2290);
        timed(2300 + (before[0] ?? 0), "late");
        assert.equal((await running).end, "quiet");
        assert.equal(sink.text, "x".repeat(before.length));
        plane.drop("a");
      }
    });

    test("ends the attempt after 2.3 s without output, whatever timestamps arrive later", async () => {
      const { timed, running } = await begun();
      timed(0);
      clock.advance(2299);
      await waitOneTurn();
      timed(1);
      clock.advance(2299);
      await waitOneTurn();
      assert.equal(await Promise.race([running, waitOneTurn().then(() => "runs")]), "runs");
      clock.advance(1);
      assert.equal((await running).end, "quiet");
    });

    test("uses the first and last timestamps of a frame with merged tokens", async () => {
      const { timed, done, running } = await begun();
      clock.advance(2000);
      timed(100, "many words", 2000);
      clock.advance(1990);
      timed(3990);
      done();
      assert.equal((await running).end, "finished");
    });

    test("ends the attempt when timestamps decrease, and ignores timestamps from the future", async () => {
      const backwards = await begun();
      clock.advance(500);
      backwards.timed(400);
      backwards.timed(399);
      assert.equal((await backwards.running).end, "broken");
      plane.drop("a");
      const ahead = await begun();
      clock.advance(500);
      ahead.timed(4_000_000_000);
      clock.advance(1900);
      ahead.timed(4_000_000_000);
      ahead.done();
      assert.equal((await ahead.running).end, "finished", "arrival counts in their place");
    });

    test("counts progress reports before the first token as a sign of life, by the gateway's clock and by the node's", async () => {
      const { node, job, timed, done, running } = await begun();
      for (let s = 1; s <= 5; s++) {
        clock.advance(1000);
        await waitOneTurn();
        node.say({ kind: "progress", job, fraction: s / 6 });
      }
      clock.advance(1500);
      timed(6500);
      done();
      assert.equal((await running).end, "finished");
    });

    test("does not count a delta without text as output or as a sign of life", async () => {
      for (const withTimes of [true, false]) {
        const { node, job, timed, running, sink } = await begun();
        clock.advance(1500);
        if (withTimes) timed(1500, "");
        else node.delta(job, 0, "");
        clock.advance(799);
        await waitOneTurn();
        assert.equal(await Promise.race([running, waitOneTurn().then(() => "runs")]), "runs");
        clock.advance(1);
        const result = await running;
        assert.deepEqual([result.end, result.ttftMs, sink.reachedClient], ["quiet", null, false]);
        plane.drop("a");
      }
    });

    test("reads frames that arrived while the gateway was frozen before it decides that the node stalled", async () => {
      const judged: (string | null)[] = [];
      dispatcher.onAttempt(({ failure }) => judged.push(failure));
      const { timed, done, running } = await begun();
      clock.advance(1000);
      timed(1000);
      // The gateway process freezes. The node continues, and its frames arrive when the process resumes.
      clock.freeze(5000);
      await waitOneTurn();
      timed(2500, "a", 5900);
      clock.advance(2000);
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
      clock.freeze(2800);
      await waitOneTurn();
      clock.advance(2549);
      await waitOneTurn();
      assert.equal(await Promise.race([running, waitOneTurn().then(() => "runs")]), "runs");
      clock.advance(1);
      assert.equal((await running).end, "quiet");
    });

    test("reads the last frames from the socket before it decides on a timeout", async () => {
      const { timed, done, running } = await begun();
      timed(0);
      clock.advance(2300);
      // The timeout's timer has run, but the event loop has not read the socket since.
      timed(2100);
      done();
      assert.equal((await running).end, "finished");
    });

    test("ends a job that exceeds its time limit as a stall, without blame or retry", async () => {
      const judged: (string | null)[] = [];
      dispatcher.onAttempt(({ failure }) => judged.push(failure));
      const { node, job, running } = await begun();
      const other = await online("b");
      for (let s = 1; s <= 899; s++) {
        clock.advance(1000);
        for (const one of [node, other]) one.report({ models: ["tiny-3b"], slots: 1 });
        node.delta(job, s - 1, "x");
        await waitOneTurn();
      }
      assert.equal(await Promise.race([running, waitOneTurn().then(() => "runs")]), "runs");
      clock.advance(1000);
      const result = await running;
      assert.deepEqual([result.end, result.attempts, hostOfNode("a")], ["quiet", 1, "host-of-a"]);
      assert.deepEqual(judged, [null]);
      assert.ok(heard(node).includes("cancel"));
    });
  });
});
