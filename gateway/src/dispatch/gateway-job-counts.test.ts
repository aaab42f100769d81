/**
 * Dispatch does not rely on nodes' own reports. A node's load is the number of jobs that the gateways sent to it, and
 * the node's record limits how many of its slots are used.
 */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import type { Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { type ManualClock, manualClock, seededRandom, waitOneTurn } from "../base/testing.ts";
import type { DispatchRequest } from "./dispatch-request.ts";
import { type Dispatcher, openDispatcher } from "./dispatcher.ts";
import { openPeerGateways, type PeerGateways } from "./exchange/peer-gateways.ts";
import type { NodeRecord } from "./node-records.ts";
import { Roster } from "./roster.ts";
import { FakeNode, MemoryPlane, TextSink } from "./testing.ts";

const MODEL = "tiny-3b";
const log = createLog("silent");

describe("dispatch by the gateways' own counts of running jobs", () => {
  let clock: ManualClock;
  let plane: MemoryPlane;
  let nodeRecords: Record<string, Partial<NodeRecord>>;
  let refused: string[];
  let requests: number;

  beforeEach(() => {
    [clock, plane, nodeRecords, refused, requests] = [manualClock(), new MemoryPlane(), {}, [], 0];
  });

  const open = (gatewayId: string) => {
    const nodeRecord = async (id: string) => ({
      nodeId: id as Uuid,
      hostAccountId: `host-of-${id}` as Uuid,
      models: [MODEL],
      ...nodeRecords[id],
    });
    const roster = new Roster({ plane, clock, random: seededRandom(1), log, nodeRecord });
    const peers: PeerGateways = openPeerGateways({ plane, roster, gatewayId, clock, log });
    const dispatcher = openDispatcher({ plane, roster, clock, log, gatewayId, deadlineMs: 10_000, peers });
    dispatcher.onRefused((nodeId, how) => refused.push(`${nodeId} ${how}`));
    return { roster, peers, dispatcher };
  };
  const online = async (id: string, told: Partial<Parameters<FakeNode["report"]>[0]> = {}) => {
    const node = new FakeNode(plane, { id, gatewayId: "gw1" });
    node.report({ models: [MODEL], slots: 1, ...told });
    await waitOneTurn();
    return node;
  };
  const ask = (dispatcher: Dispatcher, sink = new TextSink(), gone = new AbortController().signal, stream = true) => {
    const order: DispatchRequest = {
      request: String(requests++).padStart(26, "0"),
      header: { model: MODEL, endpoint: "chat", stream, output_tokens_max: 9, sampling: {} },
      body: { messages: [{ role: "user", content: "a secret prompt" }] },
    };
    return dispatcher.run(order, sink, gone);
  };
  const jobs = (node: FakeNode): number => node.heard.filter(({ kind }) => kind === "job").length;
  const answer = (node: FakeNode, job: string): void => {
    node.say({ kind: "accepted", job });
    node.delta(job, 0, "whole");
    node.say({ kind: "done", job, seq: 1, finish: "stop" });
  };

  test("ignores whether a node reports itself as busy or free", async () => {
    const { roster, dispatcher } = open("gw1");
    const full = await online("full", { slots: 2, busy: 4096 });
    const running = ask(dispatcher);
    const job = await full.job();
    full.report({ models: [MODEL], slots: 2, busy: 0 });
    clock.advance(1_000);
    await waitOneTurn();
    assert.equal(roster.find("full")?.outstanding, 1, "what it runs is what it was given");
    answer(full, job);
    assert.equal((await running).end, "finished");
    assert.equal(roster.find("full")?.outstanding, 0);
  });

  test("counts jobs that another gateway sent to a node, until that gateway leaves", async () => {
    const [one, two] = [open("gw1"), open("gw2")];
    const node = await online("n", { slots: 1 });
    const running = ask(one.dispatcher);
    const job = await node.job();
    node.say({ kind: "accepted", job });
    clock.advance(250);
    await waitOneTurn();
    assert.equal(two.roster.find("n")?.outstanding, 1);
    const waiting = ask(two.dispatcher);
    await waitOneTurn();
    assert.equal(jobs(node), 1, "the other gateway waits for the slot");
    node.delta(job, 0, "x");
    node.say({ kind: "done", job, seq: 1, finish: "stop" });
    assert.equal((await running).end, "finished");
    clock.advance(250);
    await waitOneTurn();
    assert.equal(jobs(node), 2, "and gets it once it hears that it is free");
    one.peers.close();
    assert.equal(two.roster.find("n")?.outstanding, 1, "its own is left");
    clock.advance(10_000);
    await waiting;
  });

  test("no longer counts the jobs of a crashed gateway after ten seconds", async () => {
    const [one, two] = [open("gw1"), open("gw2")];
    const node = await online("n", { slots: 1 });
    void ask(one.dispatcher);
    node.say({ kind: "accepted", job: await node.job() });
    clock.advance(250);
    await waitOneTurn();
    assert.equal(two.roster.find("n")?.outstanding, 1);
    two.roster.told("gw1", {}, { whole: true });
    assert.equal(two.roster.find("n")?.outstanding, 0);
    two.roster.told("gw1", { n: 1 }, { whole: false });
    plane.silence("gw1");
    for (let second = 0; second < 13; second++) {
      clock.advance(1_000);
      node.report({ models: [MODEL], slots: 1 });
      await waitOneTurn();
    }
    assert.equal(two.roster.find("n")?.outstanding, 0);
  });

  test("uses no more of a node's slots than its node record allows, and no more than the node reports", async () => {
    const { roster, dispatcher } = open("gw1");
    nodeRecords = { young: { slotsMax: 4 }, old: {} };
    await online("young", { slots: 4096 });
    await online("old", { slots: 2 });
    assert.equal(roster.find("young")?.slots, 4);
    assert.equal(roster.find("old")?.slots, 2);
    assert.equal(dispatcher.slots(MODEL), 6, "the admission ceiling counts on no more");
  });

  const heard = (node: FakeNode): string[] => node.heard.map(({ kind }) => kind);
  /** Returns the node that got the offer first, and then the other node. */
  const inTurn = async (a: FakeNode, b: FakeNode) => {
    await waitOneTurn();
    return jobs(a) > 0 ? { first: a, other: b } : { first: b, other: a };
  };

  describe("acceptance of offers", () => {
    test("cancels an offer that is not accepted within 250 ms, and prefers other nodes for some time", async () => {
      const { roster, dispatcher } = open("gw1");
      const [a, b] = [await online("a"), await online("b")];
      const sink = new TextSink();
      const running = ask(dispatcher, sink);
      const { first, other } = await inTurn(a, b);
      const job = await first.job();
      clock.advance(249);
      await waitOneTurn();
      assert.equal(jobs(other), 0);
      clock.advance(1);
      await waitOneTurn();
      assert.deepEqual(heard(first), ["job", "cancel"]);
      first.say({ kind: "accepted", job });
      first.delta(job, 0, "too late");
      answer(other, await other.job());
      const result = await running;
      assert.deepEqual(
        [result.end, result.attempts, sink.text],
        ["finished", 1, "whole"],
        "it runs once, no retry spent",
      );
      assert.deepEqual(refused, [`${first.id} late`]);
      assert.ok((roster.find(first.id)?.shunnedUntil ?? 0) > clock.monotonic());
    });

    test("blames no node for a late acceptance when a server of the dispatch plane was frozen", async () => {
      const { roster, dispatcher } = open("gw1");
      const [a, b] = [await online("a"), await online("b")];
      const running = ask(dispatcher);
      const { first, other } = await inTurn(a, b);
      await first.job();
      plane.isFrozen = true;
      clock.advance(250);
      await waitOneTurn();
      plane.isFrozen = false;
      answer(other, await other.job());
      assert.equal((await running).end, "finished");
      assert.deepEqual(refused, []);
      assert.ok((roster.find(first.id)?.shunnedUntil ?? 0) <= clock.monotonic(), "it is asked as before");
    });

    test("waits for a node that accepts late, and does not blame it, while no other node is free", async () => {
      const { dispatcher } = open("gw1");
      const node = await online("a");
      const running = ask(dispatcher);
      const job = await node.job();
      for (let i = 0; i < 4; i++) {
        clock.advance(400);
        await waitOneTurn();
      }
      answer(node, job);
      assert.equal((await running).end, "finished");
      assert.deepEqual(refused, []);
    });

    test("blames no node when the gateway itself was delayed", async () => {
      const { dispatcher } = open("gw1");
      const [a, b] = [await online("a"), await online("b")];
      const running = ask(dispatcher);
      const { first } = await inTurn(a, b);
      clock.freeze(900);
      await waitOneTurn();
      answer(first, await first.job());
      assert.equal((await running).end, "finished");
      assert.deepEqual(refused, []);
    });

    test("reports a busy reply of a node with free slots, cuts its slots to its running jobs, then raises them slowly", async () => {
      const { roster, dispatcher } = open("gw1");
      const node = await online("a", { slots: 8 });
      const running = [ask(dispatcher), ask(dispatcher), ask(dispatcher)];
      for (const nth of [1, 2]) node.say({ kind: "accepted", job: await node.job(nth) });
      node.say({ kind: "busy", job: await node.job(3) });
      await waitOneTurn();
      assert.deepEqual(refused, ["a busy"]);
      assert.equal(roster.find("a")?.slots, 2);
      assert.equal(dispatcher.slots(MODEL), 2, "nor does the ceiling count on more");
      for (const nth of [1, 2]) answerTo(node, await node.job(nth));
      for (let second = 0; second < 30; second += 5) {
        clock.advance(5_000);
        node.report({ models: [MODEL], slots: 8 });
        await waitOneTurn();
      }
      assert.equal(roster.find("a")?.slots, 5);
      await Promise.all(running.slice(0, 2));
    });

    test("does not count a busy reply while a canceled job or another gateway may occupy the slot", async () => {
      const one = open("gw1");
      const node = await online("a");
      const gone = new AbortController();
      const left = ask(one.dispatcher, new TextSink(), gone.signal);
      node.say({ kind: "accepted", job: await node.job() });
      gone.abort();
      await left;
      void ask(one.dispatcher);
      node.say({ kind: "busy", job: await node.job(2) });
      await waitOneTurn();
      assert.deepEqual(refused, [], "its engine has not let go yet");
      clock.advance(6_000);
      const two = open("gw2");
      await waitOneTurn();
      node.say({ kind: "busy", job: await node.job(3) });
      two.roster.told("gw1", {}, { whole: true });
      one.roster.told("gw2", { a: 1 }, { whole: false });
      clock.advance(1_000);
      assert.deepEqual(refused, [], "told a moment later");
    });

    test("after a node declines four requests, asks other nodes first, and sends it a prompt only after it accepts", async () => {
      const { roster, dispatcher } = open("gw1");
      const node = await online("a", { accepts_early: true });
      for (let nth = 1; nth <= 4; nth++) {
        // Repeated refusals of one request count once. So each refusal has its own request, whose client then
        // disconnects.
        const gone = new AbortController();
        const left = ask(dispatcher, new TextSink(), gone.signal);
        const job = await node.job(nth);
        assert.equal(prompted(node), nth, "in good standing: the prompt travels along");
        node.say({ kind: "busy", job });
        await waitOneTurn();
        gone.abort();
        clock.advance(250);
        await left;
      }
      void ask(dispatcher);
      assert.equal(roster.find("a")?.inGoodStanding, false);
      assert.ok((roster.find("a")?.shunnedUntil ?? 0) - clock.monotonic() > 2_000);
      const job = await node.job(5);
      assert.equal(prompted(node), 4);
      node.say({ kind: "accepted", job });
      assert.deepEqual(heard(node).slice(-1), ["piece"]);
    });
  });

  describe("a node on probation", () => {
    test("receives the prompt only after it accepts", async () => {
      const { dispatcher } = open("gw1");
      nodeRecords = { a: { answersOwed: 20 } };
      const node = await online("a", { accepts_early: true });
      const running = ask(dispatcher);
      const job = await node.job();
      assert.deepEqual([heard(node), prompted(node)], [["job"], 0]);
      node.say({ kind: "accepted", job });
      assert.deepEqual(heard(node), ["job", "piece"]);
      const [, piece] = node.heard;
      assert.match(Buffer.from(piece?.kind === "piece" ? piece.piece : []).toString(), /a secret prompt/);
      answerTo(node, job);
      assert.equal((await running).end, "finished");
    });

    test("receives no work if its agent cannot accept an offer before it has the prompt", async () => {
      const { dispatcher, roster } = open("gw1");
      nodeRecords = { a: { answersOwed: 20 } };
      const node = await online("a");
      assert.equal((await ask(dispatcher)).end, "no_capacity");
      assert.deepEqual([jobs(node), roster.find("a")?.acceptsEarly], [0, false]);
    });
  });

  describe("stalled nodes", () => {
    test("does not offer a request to a third node after two nodes stalled on it", async () => {
      const { dispatcher } = open("gw1");
      const nodes = await Promise.all(["a", "b", "c", "d"].map((id) => online(id)));
      const running = ask(dispatcher);
      await waitOneTurn();
      const first = nodes.find((node) => jobs(node) > 0) as FakeNode;
      first.say({ kind: "accepted", job: await first.job() });
      clock.advance(2_300);
      await waitOneTurn();
      const second = nodes.find((node) => node !== first && jobs(node) > 0) as FakeNode;
      second.say({ kind: "accepted", job: await second.job() });
      clock.advance(2_300);
      assert.equal((await running).end, "quiet");
      assert.equal(nodes.filter((node) => jobs(node) > 0).length, 2);
    });

    test("ends a request after one minute of progress reports without output, counted across all nodes", async () => {
      const { dispatcher } = open("gw1");
      const [a, b] = [await online("a"), await online("b")];
      const running = ask(dispatcher);
      const { first, other } = await inTurn(a, b);
      let seconds = 0;
      for (const node of [first, other]) {
        const job = await node.job();
        node.say({ kind: "accepted", job });
        for (let fraction = 0.001; jobs(other) === 0 || node === other; fraction += 0.001) {
          if (seconds > 70) break;
          node.say({ kind: "progress", job, fraction });
          clock.advance(1_000);
          seconds += 1;
          for (const each of [a, b]) each.report({ models: [MODEL], slots: 1 });
          await waitOneTurn();
        }
      }
      assert.equal((await running).end, "quiet");
      assert.ok(seconds <= 71, `${seconds} s`);
    });
  });

  /** The number of offers to this node that contained the prompt. */
  const prompted = (node: FakeNode): number =>
    node.heard.filter((frame) => frame.kind === "job" && frame.piece.length > 0).length;
  /** Sends a complete answer to a job that the node accepted. */
  const answerTo = (node: FakeNode, job: string): void => {
    node.delta(job, 0, "whole");
    node.say({ kind: "done", job, seq: 1, finish: "stop" });
  };

  /** Collects the attempts that the dispatcher reports, with their failures. */
  const judged = (dispatcher: Dispatcher): string[] => {
    const seen: string[] = [];
    dispatcher.onAttempt(({ node, failure }) => seen.push(`${node.id} ${failure}`));
    return seen;
  };
  /** Offers a request to nodes of two hosts, of which the first falls silent. */
  const silentFirst = async (gone = new AbortController().signal) => {
    const { roster, dispatcher } = open("gw1");
    const seen = judged(dispatcher);
    const nodes = [await online("a"), await online("b")];
    const running = ask(dispatcher, new TextSink(), gone);
    await waitOneTurn();
    const first = nodes.find((node) => jobs(node) === 1) as FakeNode;
    const second = nodes.find((node) => node !== first) as FakeNode;
    first.say({ kind: "accepted", job: await first.job() });
    clock.advance(2_300);
    await waitOneTurn();
    assert.equal(jobs(second), 1, "another node is asked");
    assert.deepEqual(seen, []);
    return { roster, seen, running, first, second };
  };

  test("counts a stall against the node once another node returns output for the same request", async () => {
    const { roster, seen, running, first, second } = await silentFirst();
    const job = await second.job();
    second.say({ kind: "accepted", job });
    second.delta(job, 0, "it can be answered");
    assert.deepEqual(seen, [`${first.id} silent`]);
    assert.ok((roster.find(first.id)?.shunnedUntil ?? 0) > clock.monotonic(), "it is asked last");
    second.say({ kind: "done", job, seq: 1, finish: "stop" });
    assert.equal((await running).end, "finished");
    assert.deepEqual(seen, [`${first.id} silent`, `${second.id} null`]);
  });

  test("counts no stall when nodes of two hosts stall on the same request", async () => {
    const { roster, seen, running, first, second } = await silentFirst();
    second.say({ kind: "accepted", job: await second.job() });
    clock.advance(2_300);
    assert.equal((await running).end, "quiet");
    assert.deepEqual(seen, []);
    for (const { id } of [first, second]) assert.equal(roster.find(id)?.shunnedUntil, 0);
  });

  test("counts no stall when the client disconnects before another node returns output", async () => {
    const client = new AbortController();
    const { seen, running, first } = await silentFirst(client.signal);
    client.abort();
    assert.equal((await running).end, "cancelled");
    assert.ok(seen.every((one) => one !== `${first.id} silent`));
  });

  test("counts a stall against each node of a host if no other host serves the model", async () => {
    nodeRecords = { a: { hostAccountId: "one" as Uuid }, b: { hostAccountId: "one" as Uuid } };
    const { seen, running, first, second } = await silentFirst();
    second.say({ kind: "accepted", job: await second.job() });
    clock.advance(2_300);
    assert.equal((await running).end, "quiet");
    assert.deepEqual(seen, [`${first.id} silent`, `${second.id} silent`]);
  });

  test("moves a request to another node after two seconds of progress reports without output, and counts no failure", async () => {
    const { dispatcher } = open("gw1");
    const seen = judged(dispatcher);
    const node = await online("slow");
    const running = ask(dispatcher);
    const job = await node.job();
    node.say({ kind: "accepted", job });
    const other = await online("known");
    for (let step = 1; step <= 4; step++) {
      clock.advance(500);
      node.say({ kind: "progress", job, fraction: step / 10 });
    }
    clock.advance(500);
    await waitOneTurn();
    assert.equal(jobs(other), 1);
    answer(other, await other.job());
    assert.equal((await running).end, "finished");
    assert.deepEqual(seen, ["slow null", "known null"]);
    assert.deepEqual(refused, ["slow late"]);
  });

  test("asks other nodes before a failing node for 15 s, then 30 s, until one of its jobs succeeds", async () => {
    const { roster, dispatcher } = open("gw1");
    const node = await online("n");
    let nth = 0;
    const runJob = async (end: (job: string) => void) => {
      const running = ask(dispatcher);
      const job = await node.job(++nth);
      node.say({ kind: "accepted", job });
      end(job);
      await running;
      return Math.max(0, (roster.find("n")?.shunnedUntil ?? 0) - clock.monotonic());
    };
    const fails = (job: string): void => node.say({ kind: "failed", job, seq: 0, cause: "engine", message: "" });
    assert.equal(await runJob(fails), 15_000);
    assert.equal(await runJob(fails), 30_000);
    const works = (job: string): void => {
      node.delta(job, 0, "whole");
      node.say({ kind: "done", job, seq: 1, finish: "stop" });
    };
    assert.equal(await runJob(works), 0);
    assert.equal(await runJob(fails), 15_000);
  });

  test("after a host's node fails, prefers other hosts' nodes to that host's new nodes, not to its established ones", async () => {
    const host = { hostAccountId: "one" as Uuid };
    nodeRecords = { fails: host, new: { ...host, slotsMax: 4 }, known: { ...host, slotsMax: 16 } };
    const { roster, dispatcher } = open("gw1");
    const node = await online("fails");
    const running = ask(dispatcher);
    const job = await node.job();
    node.say({ kind: "accepted", job });
    node.say({ kind: "failed", job, seq: 0, cause: "engine", message: "" });
    await running;
    const [young, known] = [await online("new"), await online("known")];
    const picked = () => roster.pick({ model: MODEL }, new Set(), () => null)?.id;
    for (let i = 0; i < 20; i++) assert.equal(picked(), "known");
    known.report({ models: [], slots: 1 });
    await waitOneTurn();
    assert.ok(picked() !== undefined, "nobody else serves the model");
    known.report({ models: [MODEL], slots: 1 });
    clock.advance(15_000);
    for (const one of [node, young, known]) one.report({ models: [MODEL], slots: 1 });
    await waitOneTurn();
    const seen = new Set(Array.from({ length: 100 }, picked));
    assert.ok(seen.has("new"), `${[...seen]}`);
  });

  for (const stream of [true, false])
    test(`for a minute, prefers other nodes to a node whose ${stream ? "stream" : "whole answer"} is far too slow, even if the client disconnects`, async () => {
      const { roster, dispatcher } = open("gw1");
      const node = await online("n");
      const client = new AbortController();
      const running = ask(dispatcher, new TextSink(), client.signal, stream);
      const job = await node.job();
      node.say({ kind: "accepted", job });
      for (let seq = 0; seq < 4; seq++) {
        node.delta(job, seq, "x");
        clock.advance(1_500);
      }
      client.abort();
      assert.equal((await running).end, "cancelled");
      assert.equal((roster.find("n")?.shunnedUntil ?? 0) - clock.monotonic(), 60_000);
    });
});
