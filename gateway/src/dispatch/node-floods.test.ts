/** A node that sends more than allowed is disconnected, and neither the log nor memory grows without limit. */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { encodeFrame } from "@tollgate/protocol/frame-codec.ts";
import { nodeStateSubject } from "@tollgate/protocol/nats-subjects.ts";
import type { Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { type ManualClock, manualClock, seededRandom, waitOneTurn } from "../base/testing.ts";
import type { DispatchRequest, DispatchSink } from "./dispatch-request.ts";
import type { DispatchResult } from "./dispatch-result.ts";
import { type Dispatcher, openDispatcher } from "./dispatcher.ts";
import type { NodeRecord } from "./node-records.ts";
import { Roster } from "./roster.ts";
import { FakeNode, MemoryPlane } from "./testing.ts";

const order: DispatchRequest = {
  request: "06dfk3zq9v8n2x4m7t1c5w0rbe",
  header: { model: "tiny-3b", endpoint: "chat", stream: true, output_tokens_max: 9, sampling: {} },
  body: { messages: [{ role: "user", content: "hi" }] },
};
const FOREIGN = "16dfk3zq9v8n2x4m7t1c5w0rbe-01";
const CUT_OFF = "node sent frames faster than allowed; disconnecting it";
const JUNK = Buffer.from("junk");

describe("limits on the messages that nodes may send", () => {
  let clock: ManualClock;
  let plane: MemoryPlane;
  let roster: Roster;
  let dispatcher: Dispatcher;
  let lines: { msg: string; node: string; unsaid?: number }[];
  let lookups: number;
  let answerLookups: ((nodeRecord: NodeRecord) => void)[] | undefined;

  beforeEach(() => {
    clock = manualClock();
    plane = new MemoryPlane();
    lines = [];
    lookups = 0;
    answerLookups = undefined;
    const log = createLog("info", { write: (line) => lines.push(JSON.parse(line)) });
    const nodeRecord = async (id: string): Promise<NodeRecord> => {
      lookups += 1;
      if (answerLookups !== undefined) return new Promise((resolve) => answerLookups?.push(resolve));
      return recordOf(id);
    };
    roster = new Roster({ plane, clock, random: seededRandom(1), log, nodeRecord });
    dispatcher = openDispatcher({ plane, roster, clock, log, gatewayId: "gw1", deadlineMs: 10_000 });
  });

  const recordOf = (id: string): NodeRecord => ({
    nodeId: id as Uuid,
    hostAccountId: `host-of-${id}` as Uuid,
    models: ["tiny-3b"],
  });
  const online = async (id: string): Promise<FakeNode> => {
    const node = new FakeNode(plane, { id, gatewayId: "gw1" });
    node.report({ models: ["tiny-3b"], slots: 2 });
    await waitOneTurn();
    assert.ok(roster.find(id) !== undefined, `${id} is online`);
    return node;
  };
  const run = (): Promise<DispatchResult> => dispatcher.run(order, sink(), new AbortController().signal);
  const written = (msg: string): number => lines.filter((line) => line.msg === msg).length;

  test("disconnect a node that sends malformed states, with two log lines and no effect on other nodes", async () => {
    await online("good");
    for (let i = 0; i < 10_000; i++) plane.publish(nodeStateSubject("bad"), JUNK);
    await waitOneTurn();
    assert.deepEqual(plane.cuts, ["bad"]);
    assert.equal(written("node sent a malformed state frame"), 1);
    assert.equal(written(CUT_OFF), 1);
    assert.ok(roster.find("good") !== undefined);
  });

  test("allow 20 states a second indefinitely, and a burst of 200", async () => {
    const node = await online("a");
    const report = (): void => node.report({ models: ["tiny-3b"], slots: 2 });
    for (let second = 0; second < 60; second++) {
      clock.advance(1_000);
      for (let i = 0; i < 20; i++) report();
      await waitOneTurn();
    }
    assert.deepEqual(plane.cuts, []);
    clock.advance(10_000);
    for (let i = 0; i < 200; i++) report();
    await waitOneTurn();
    assert.deepEqual(plane.cuts, []);
    for (let i = 0; i < 1_000; i++) report();
    await waitOneTurn();
    assert.deepEqual(plane.cuts, ["a"]);
    assert.equal(roster.find("a"), undefined, "what it ran is lost with its connections");
    // The node reconnects, and its messages are read again.
    clock.advance(1_000);
    report();
    await waitOneTurn();
    assert.ok(roster.find("a") !== undefined);
  });

  test("process only a few of the 20 state reports that a node sends per second, but always the latest", async () => {
    const node = await online("a");
    let heard = 0;
    roster.onState(() => {
      heard += 1;
    });
    for (let i = 1; i <= 200; i++) {
      clock.advance(50);
      node.report({ models: ["tiny-3b"], slots: 2, busy: i });
      await waitOneTurn();
    }
    clock.advance(1_000);
    await waitOneTurn();
    assert.ok(heard <= 50, `${heard} in ten seconds`);
    assert.equal(roster.find("a")?.reportedBusy, 200);
  });

  test("allow messages that accumulated while the gateway was frozen, up to the limit for that time", async () => {
    const node = await online("a");
    const report = (): void => node.report({ models: ["tiny-3b"], slots: 2 });
    clock.freeze(40_000);
    for (let i = 0; i < 800; i++) report();
    await waitOneTurn();
    assert.deepEqual(plane.cuts, []);
    for (let i = 0; i < 1_000; i++) report();
    await waitOneTurn();
    assert.deepEqual(plane.cuts, ["a"]);
  });

  test("log a repeatedly disconnected node once a minute, with the number of omitted lines", async () => {
    for (let round = 0; round < 20; round++) {
      for (let i = 0; i < 300; i++) plane.publish(nodeStateSubject("bad"), JUNK);
      await waitOneTurn();
      clock.advance(4_000);
    }
    assert.equal(plane.cuts.length, 20);
    assert.equal(written(CUT_OFF), 2);
    const [, second] = lines.filter(({ msg }) => msg === CUT_OFF);
    assert.equal(second?.unsaid, 14);
  });

  test("keep only the newest of the states that wait for the node's record, and read the record once", async () => {
    const node = new FakeNode(plane, { id: "a", gatewayId: "gw1" });
    answerLookups = [];
    for (let i = 1; i <= 150; i++) node.report({ models: ["tiny-3b"], slots: i });
    await waitOneTurn();
    assert.equal(lookups, 1);
    // The node reconnects while the read of its record is still pending.
    for (let i = 0; i < 20; i++) {
      plane.drop("a");
      node.report({ models: ["tiny-3b"], slots: 200 + i });
      await waitOneTurn();
    }
    assert.equal(lookups, 1);
    for (const answer of answerLookups) answer(recordOf("a"));
    await waitOneTurn();
    assert.equal(roster.find("a")?.slots, 219);
  });

  test("are not exceeded when a node's record changes 500 times, because the gateway rarely requests the node's state", async () => {
    const node = await online("a");
    clock.advance(1_000);
    let asked = 0;
    plane.subscribe("tg.q", () => {
      asked += 1;
      node.report({ models: ["tiny-3b"], slots: 2 });
    });
    for (let i = 0; i < 500; i++) await roster.review("a");
    clock.advance(1_000);
    await waitOneTurn();
    assert.ok(asked >= 2 && asked <= 5, `asked ${asked} times`);
    assert.deepEqual(plane.cuts, []);
  });

  test("disconnect a node that sends malformed frames continuously", async () => {
    const bad = await online("bad");
    const running = run();
    const job = await bad.job();
    bad.say({ kind: "accepted", job });
    for (let i = 0; i < 10_000; i++) bad.raw(JUNK);
    assert.notEqual((await running).end, "finished");
    assert.deepEqual(plane.cuts, ["bad"]);
    assert.equal(written("node sent a malformed frame"), 1);
    // Ten malformed frames a minute suggest a bug, not an attack, so the node stays connected.
    const buggy = await online("buggy");
    for (let i = 0; i < 100; i++) {
      buggy.raw(JUNK);
      clock.advance(6_000);
      if (i % 2 === 0) buggy.report({ models: ["tiny-3b"], slots: 2 });
    }
    assert.deepEqual(plane.cuts, ["bad"]);
  });

  test("allow frames that concern no running job up to a limit, and disconnect a node above it", async () => {
    const foreign = {
      kind: "deltas" as const,
      deltas: [{ job: FOREIGN, seq: 0, channel: "answer" as const, text: "x" }],
    };
    const table: [string, (node: FakeNode, job: string) => void][] = [
      ["late", (node) => node.say(foreign)],
      ["progress", (node, job) => node.say({ kind: "progress", job, fraction: 0.5 })],
      ["unknown", (node) => node.raw(Buffer.from([1, 99]))],
      ["misplaced", (node) => node.raw(encodeFrame({ kind: "cancel", job: FOREIGN }))],
      ["empty", (node, job) => node.delta(job, seq++, "")],
    ];
    let seq = 0;
    for (const [id, say] of table) {
      const node = await online(id);
      const running = run();
      const job = await node.job();
      node.say({ kind: "accepted", job });
      const before = plane.cuts.length;
      for (let i = 0; i < 5_000; i++) say(node, job);
      assert.equal(plane.cuts.length, before, `${id}: within bounds`);
      for (let i = 0; i < 20_000; i++) say(node, job);
      await waitOneTurn();
      assert.deepEqual(plane.cuts.slice(before), [id]);
      assert.notEqual((await running).end, "finished");
    }
  });

  test("log a node's missing frames and failures once a minute", async () => {
    const node = await online("a");
    for (let nth = 1; nth <= 20; nth++) {
      const running = run();
      const job = await node.job(nth);
      node.say({ kind: "accepted", job });
      if (nth % 2 === 0) node.delta(job, 7, "x");
      else node.say({ kind: "failed", job, seq: 0, cause: "engine", message: "" });
      assert.notEqual((await running).end, "finished");
    }
    assert.equal(written("an output frame of the node has the wrong sequence number"), 1);
    assert.equal(written("node failed a job"), 1);
  });

  test("log the repeated connects and disconnects of a node at most once a minute", async () => {
    for (let i = 0; i < 20; i++) {
      await online("a");
      plane.drop("a");
    }
    assert.deepEqual([written("node online"), written("node offline")], [1, 1]);
  });
});

function sink(): DispatchSink {
  return { begin() {}, delta: () => "more", vectors: () => "broken", finished: () => "answered", reachedClient: true };
}
