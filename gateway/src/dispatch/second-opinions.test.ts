/** An empty answer counts only if a node of another host, asked the same, gives one too (the second opinion). */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import type { Uuid } from "../base/ids.ts";
import { waitOneTurn } from "../base/testing.ts";
import type { DispatchSink } from "./dispatch-request.ts";
import type { DispatchResult } from "./dispatch-result.ts";
import { type FakeNode, TextSink } from "./testing.ts";
import {
  DISPATCH_REQUEST,
  type DispatchRig,
  listReceivedFrameKinds,
  MODEL,
  nodeRecordOf,
  openDispatchRig,
  REQUEST_ID,
  waitForFirstOffer,
} from "./testing-dispatcher.ts";

describe("an answer without a single token", () => {
  let hostOfNode: (id: string) => string;
  let rig: DispatchRig;
  beforeEach(() => {
    hostOfNode = (id) => `host-of-${id}`;
    rig = openDispatchRig({ nodeRecord: (id) => ({ ...nodeRecordOf(id), hostAccountId: hostOfNode(id) as Uuid }) });
  });
  const judged: [string, string | null][] = [];
  beforeEach(() => {
    judged.length = 0;
    rig.dispatcher.onAttempt(({ node, failure }) => judged.push([node.id, failure]));
  });
  /** Lets the first node end without output. Resolves with the job of the second node once it is offered. */
  const afterEmpty = async (sink: DispatchSink, signal?: AbortSignal) => {
    const [a, b] = [await rig.online("a"), await rig.online("b")];
    const running = rig.run(sink, signal);
    const { job, node, other } = await waitForFirstOffer(a, b);
    node.say({ kind: "accepted", job });
    const second = other.job();
    node.say({ kind: "done", job, seq: 0, finish: "stop" });
    return { running, first: node, other, second: await second };
  };
  const hostOf = ({ server }: DispatchResult) => server?.hostAccountId;

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
    assert.equal(listReceivedFrameKinds(first).includes("cancel"), false, "it is done by its own word");
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
    const node = await rig.online("a");
    const offered = node.job();
    const running = rig.run(new TextSink());
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
    other.report({ models: [MODEL], slots: 0 });
    for (let s = 0; s < 10; s++) {
      await waitOneTurn();
      rig.clock.advance(1000);
      for (const node of [first, other]) node.report({ models: [MODEL], slots: node === other ? 0 : 1 });
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
      ["is lost", (node) => rig.plane.drop(node.id), "quiet"],
      ["falls silent", () => rig.clock.advance(2300), "quiet"],
    ];
    for (const [what, come, end] of ways) {
      for (const output of [false, true]) {
        for (const id of ["a", "b"]) rig.plane.drop(id);
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
    const [a, b] = [await rig.online("a"), await rig.online("b")];
    await rig.online("c");
    rig.plane.drop("c");
    const running = rig.run(new TextSink());
    const { job, node, other } = await waitForFirstOffer(a, b);
    node.say({ kind: "accepted", job });
    rig.clock.advance(2300);
    const second = await other.job();
    other.say({ kind: "accepted", job: second });
    other.say({ kind: "done", job: second, seq: 0, finish: "stop" });
    const result = await running;
    assert.deepEqual([result.end, result.attempts], ["unconfirmed", 2]);
  });

  for (const theirs of [true, false]) {
    test(`gets a second opinion from ${theirs ? "another host's node although it is busy" : "the same host when no other host is connected"}`, async () => {
      hostOfNode = (id) => (id === "c" ? "theirs" : "ours");
      const c = theirs ? await rig.online("c") : undefined;
      const gone = new AbortController();
      const held =
        c &&
        rig.dispatcher.run(
          { ...DISPATCH_REQUEST, request: REQUEST_ID.replace("06", "07") },
          new TextSink(),
          gone.signal,
        );
      await c?.job();
      const [a, b] = [await rig.online("a"), await rig.online("b")];
      const running = rig.run(new TextSink());
      const { job, node, other } = await waitForFirstOffer(a, b);
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
