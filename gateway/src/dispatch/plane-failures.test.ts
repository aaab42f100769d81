/**
 * Requests that the dispatch plane loses while their nodes are healthy are retried. Such an attempt does not count as
 * the one retry of a request, and it is not blamed on the node.
 */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import type { Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { type ManualClock, manualClock, seededRandom, waitOneTurn } from "../base/testing.ts";
import type { DispatchRequest, DispatchSink } from "./dispatch-request.ts";
import { type Dispatcher, openDispatcher } from "./dispatcher.ts";
import { Roster } from "./roster.ts";
import type { Attempt } from "./running-attempt.ts";
import { FakeNode, MemoryPlane, TextSink } from "./testing.ts";

const MODEL = "tiny-3b";
const order: DispatchRequest = {
  request: "06dfk3zq9v8n2x4m7t1c5w0rbe",
  header: { model: MODEL, endpoint: "chat", stream: true, output_tokens_max: 9, sampling: {} },
  body: { messages: [{ role: "user", content: "hi" }] },
};

describe("requests in flight when the dispatch plane fails", () => {
  let clock: ManualClock;
  let plane: MemoryPlane;
  let roster: Roster;
  let dispatcher: Dispatcher;
  let attempts: Attempt[];

  beforeEach(() => {
    clock = manualClock();
    plane = new MemoryPlane();
    attempts = [];
    const nodeRecord = async (id: string) => ({
      nodeId: id as Uuid,
      hostAccountId: `host-of-${id}` as Uuid,
      models: [MODEL],
    });
    const log = createLog("silent");
    roster = new Roster({ plane, clock, random: seededRandom(1), log, nodeRecord });
    dispatcher = openDispatcher({ plane, roster, clock, log, gatewayId: "gw1", deadlineMs: 10_000 });
    dispatcher.onAttempt((attempt) => attempts.push(attempt));
  });

  const online = async (id: string, slots = 1): Promise<FakeNode> => {
    const node = new FakeNode(plane, { id, gatewayId: "gw1" });
    node.report({ models: [MODEL], slots });
    await waitOneTurn();
    return node;
  };
  const report = async (node: FakeNode, busy = 0): Promise<void> => {
    node.report({ models: [MODEL], slots: 1, busy });
    await waitOneTurn();
  };
  const run = (sink: DispatchSink) => dispatcher.run(order, sink, new AbortController().signal);
  const answer = (node: FakeNode, job: string): void => {
    node.say({ kind: "accepted", job });
    node.delta(job, 0, "whole");
    node.say({ kind: "done", job, seq: 1, finish: "stop" });
  };
  const states = (): string[] => attempts.map(({ state, failure }) => `${state} ${failure}`);
  const cancelled = (node: FakeNode): string[] =>
    node.heard.flatMap((frame) => (frame.kind === "cancel" ? [frame.job] : []));

  describe("when the whole dispatch plane is unreachable", () => {
    test("retries requests whose frames a frozen gateway process missed, and blames no node", async () => {
      const [a, b] = [await online("a"), await online("b")];
      const sink = new TextSink();
      const running = run(sink);
      await waitOneTurn();
      const first = a.heard.some(({ kind }) => kind === "job") ? a : b;
      const other = first === a ? b : a;
      const job = await first.job(1);
      first.say({ kind: "accepted", job });
      clock.freeze(40_000);
      await waitOneTurn();
      assert.equal(roster.nodes().length, 2, "nor is any node taken for gone");
      assert.equal(dispatcher.isTroubled, false);
      // The dispatch plane lost the frames that the node sent in between.
      first.delta(job, 3, "late");
      await waitOneTurn();
      assert.equal(dispatcher.isTroubled, true);
      const next = other.heard.some(({ kind }) => kind === "job") ? other : first;
      answer(next, await next.job(next === first ? 2 : 1));
      const { end, attempts: accepted } = await running;
      assert.deepEqual([end, accepted, sink.text], ["finished", 2, "whole"]);
      assert.deepEqual(states(), ["cut null", "finished null"]);
    });

    test("blames no node for outdated messages that arrive after the gateway was frozen", async () => {
      const [a, b] = [await online("a"), await online("b")];
      clock.freeze(40_000);
      const sink = new TextSink();
      const running = run(sink);
      await waitOneTurn();
      const first = a.heard.some(({ kind }) => kind === "job") ? a : b;
      const job = await first.job(1);
      first.say({ kind: "accepted", job });
      plane.drop(first.id, "node");
      const other = first === a ? b : a;
      answer(other, await other.job(1));
      assert.deepEqual([(await running).end, sink.text], ["finished", "whole"]);
      assert.deepEqual(states(), ["cut null", "finished null"]);
    });

    test("retries on the same node until the deadline when nothing reached the client", async () => {
      const node = await online("a");
      const sink = new TextSink();
      const running = run(sink);
      for (let flap = 1; flap <= 4; flap++) {
        const job = await node.job(flap);
        node.say({ kind: "accepted", job });
        node.delta(job, 0, "half");
        plane.goAway();
        await waitOneTurn();
        clock.advance(1_900);
        plane.comeBack();
        assert.deepEqual(cancelled(node).at(-1), job, "a node that did not notice must not go on");
        await report(node);
      }
      answer(node, await node.job(5));
      const result = await running;
      assert.equal(result.end, "finished");
      assert.equal(sink.text, "whole");
      assert.equal(result.attempts, 5);
      assert.deepEqual(states(), [...Array(4).fill("cut null"), "finished null"]);
    });

    test("applies one deadline to all attempts lost in the same outage, and a new deadline to a later outage", async () => {
      const node = await online("a");
      const running = run(new TextSink());
      const lose = async (nth: number, awayMs: number): Promise<void> => {
        node.say({ kind: "accepted", job: await node.job(nth) });
        plane.goAway();
        await waitOneTurn();
        clock.advance(awayMs);
        await waitOneTurn();
        plane.comeBack();
        await report(node);
      };
      await lose(1, 6_000);
      // The job runs for long enough that the next loss counts as a new outage.
      const job = await node.job(2);
      node.say({ kind: "accepted", job });
      for (let i = 0; i < 4; i++) {
        clock.advance(1_000);
        node.delta(job, i, "x");
      }
      plane.goAway();
      await waitOneTurn();
      clock.advance(9_000);
      plane.comeBack();
      await report(node);
      node.say({ kind: "accepted", job: await node.job(3) });
      plane.goAway();
      await waitOneTurn();
      clock.advance(999);
      await waitOneTurn();
      assert.deepEqual(states(), Array(3).fill("cut null"));
      clock.advance(1);
      assert.equal((await running).end, "cut");
    });

    test("ends a request whose offer gets no reply at the dispatch deadline, counted from the request's start", async () => {
      const node = await online("a");
      const running = run(new TextSink());
      await node.job(1);
      plane.hears = false;
      clock.advance(2_000);
      await waitOneTurn();
      assert.deepEqual(states(), ["cut null"]);
      plane.goAway();
      await waitOneTurn();
      clock.advance(8_000);
      assert.equal((await running).end, "cut");
    });

    test("ends a request whose last offer is unanswered at the deadline, without blaming the node", async () => {
      const node = await online("a");
      const running = run(new TextSink());
      node.say({ kind: "accepted", job: await node.job() });
      plane.goAway();
      await waitOneTurn();
      clock.advance(9_500);
      plane.comeBack();
      await report(node);
      await node.job(2);
      clock.advance(500);
      await waitOneTurn();
      assert.equal((await running).end, "cut");
      assert.deepEqual(states(), ["cut null", "cut null"]);
      assert.equal(roster.nodes()[0]?.shunnedUntil, 0);
    });

    test("does not use up a request's one retry when the plane loses an attempt", async () => {
      const [a, b] = [await online("a"), await online("b")];
      const running = run(new TextSink());
      await waitOneTurn();
      const [first] = [a, b].filter(({ heard }) => heard.length > 0);
      first?.say({ kind: "accepted", job: await first.job() });
      plane.goAway();
      plane.comeBack();
      await report(a);
      const second = await a.job(first === a ? 2 : 1);
      a.say({ kind: "accepted", job: second });
      await report(b);
      clock.advance(2_300);
      answer(b, await b.job(first === b ? 2 : 1));
      assert.equal((await running).end, "finished");
      assert.deepEqual(states(), ["cut null", "quiet silent", "finished null"]);
    });

    test("ends a request at its deadline and blames no node if the plane fails during the retry after a stall", async () => {
      const [a, b] = [await online("a"), await online("b")];
      const running = run(new TextSink());
      await waitOneTurn();
      const [first, other] = a.heard.length > 0 ? [a, b] : [b, a];
      first.say({ kind: "accepted", job: await first.job() });
      clock.advance(2_300);
      other.say({ kind: "accepted", job: await other.job() });
      plane.goAway();
      await waitOneTurn();
      clock.advance(10_000);
      assert.equal((await running).end, "cut");
      assert.deepEqual(states(), ["cut null"], "nobody showed that the request can be answered");
    });

    test("ends a request and blames no node if the plane is still unreachable at the dispatch deadline", async () => {
      const node = await online("a");
      const running = run(new TextSink());
      const job = await node.job();
      node.say({ kind: "accepted", job });
      for (let i = 0; i < 12; i++) {
        clock.advance(1_000);
        node.delta(job, i, "x");
      }
      plane.goAway();
      await waitOneTurn();
      clock.advance(9_999);
      await waitOneTurn();
      assert.deepEqual(states(), ["cut null"]);
      clock.advance(1);
      const result = await running;
      assert.equal(result.end, "cut");
      assert.equal(result.server?.hostAccountId, "host-of-a");
    });

    test("does not retry a request once output has reached the client", async () => {
      const node = await online("a");
      const running = run(new TextSink({ streams: true }));
      const job = await node.job();
      node.say({ kind: "accepted", job });
      node.delta(job, 0, "x");
      plane.goAway();
      const result = await running;
      assert.equal(result.end, "cut");
      assert.equal(result.server?.hostAccountId, "host-of-a");
      assert.deepEqual(states(), ["cut null"]);
    });

    test("repeats an offer that got no reply because of the outage", async () => {
      const node = await online("a");
      const running = run(new TextSink());
      await node.job();
      plane.goAway();
      plane.comeBack();
      await report(node);
      answer(node, await node.job(2));
      assert.equal((await running).end, "finished");
    });

    test("ends an empty answer as unconfirmed after 2 s if its second opinion was lost and no other node returned", async () => {
      const [a, b] = [await online("a"), await online("b")];
      const running = run(new TextSink());
      await waitOneTurn();
      const [first, other] = a.heard.length > 0 ? [a, b] : [b, a];
      const job = await first.job();
      first.say({ kind: "accepted", job });
      first.say({ kind: "done", job, seq: 0, finish: "stop" });
      other.say({ kind: "accepted", job: await other.job() });
      plane.goAway();
      plane.comeBack();
      await report(first);
      clock.advance(2_000);
      const result = await running;
      assert.equal(result.end, "unconfirmed");
      assert.deepEqual(states(), ["cut null", "empty null"]);
    });

    test("does not blame a node for missing output while the NATS server does not respond", async () => {
      const node = await online("a");
      const running = run(new TextSink());
      node.say({ kind: "accepted", job: await node.job() });
      plane.hears = false;
      clock.advance(2_300);
      await waitOneTurn();
      assert.deepEqual(states(), ["cut null"]);
      plane.hears = true;
      answer(node, await node.job(2));
      assert.equal((await running).end, "finished");
    });
  });

  describe("when one server of the dispatch plane fails", () => {
    const begin = async (node: FakeNode, nth = 1): Promise<string> => {
      const job = await node.job(nth);
      clock.advance(10);
      node.say({ kind: "accepted", job });
      node.delta(job, 0, "half");
      return job;
    };

    /** Simulates that the node connects to another server because its own is dead. */
    const move = (id: string): void => {
      plane.moved.set(id, clock.monotonic());
      plane.deadServers.add(plane.server);
    };

    test("retries immediately, also on the same node, when the node reconnects elsewhere and reports no running job", async () => {
      const node = await online("a");
      const running = run(new TextSink());
      await begin(node);
      move("a");
      await report(node);
      answer(node, await node.job(2));
      const result = await running;
      assert.equal(result.end, "finished");
      assert.deepEqual(states(), ["cut null", "finished null"]);
    });

    test("retries on a reachable node whenever a node's NATS server hangs; this does not use up the request's one retry", async () => {
      const [a, b] = [await online("a"), await online("b")];
      const running = run(new TextSink());
      await waitOneTurn();
      const [first, other] = a.heard.length > 0 ? [a, b] : [b, a];
      await begin(first);
      plane.unreachable.add(first.id);
      clock.advance(2_300);
      await begin(other);
      plane.unreachable.add(other.id);
      plane.unreachable.delete(first.id);
      clock.advance(2_300);
      answer(first, await first.job(2));
      assert.equal((await running).end, "finished");
      assert.deepEqual(states(), ["cut null", "cut null", "finished null"]);
    });

    test("ends a request at its deadline and blames no node when every node is connected to a server that hangs", async () => {
      const [a, b] = [await online("a"), await online("b")];
      const running = run(new TextSink());
      await waitOneTurn();
      const first = a.heard.length > 0 ? a : b;
      await begin(first);
      plane.unreachable.add("a").add("b");
      for (let i = 0; i < 13; i++) {
        clock.advance(1_000);
        await waitOneTurn();
        for (const node of [a, b]) await report(node, 1);
      }
      assert.equal((await running).end, "cut");
      assert.ok(
        states().every((state) => state === "cut null" || state === "declined null"),
        states().join(),
      );
    });

    test("retries, and does not blame the node, when frames were lost or stop arriving after a node's server failed", async () => {
      const node = await online("a");
      for (const [nth, happens] of [
        [1, (job: string) => node.delta(job, 5, "later")],
        [3, () => clock.advance(2_300)],
      ] as const) {
        const running = run(new TextSink());
        const job = await begin(node, nth);
        move("a");
        await report(node, 1);
        happens(job);
        await report(node);
        assert.deepEqual(cancelled(node).at(-1), job, "what it still runs is stopped");
        answer(node, await node.job(nth + 1));
        assert.equal((await running).end, "finished");
        clock.advance(60_000);
        await report(node);
      }
      assert.deepEqual(states(), ["cut null", "finished null", "cut null", "finished null"]);
    });

    test("lets a job continue when its node reconnects with renewed credentials", async () => {
      const node = await online("a");
      const running = run(new TextSink());
      const job = await begin(node);
      plane.moved.set("a", clock.monotonic());
      await report(node, 1);
      plane.moved.delete("a");
      node.delta(job, 1, " rest");
      node.say({ kind: "done", job, seq: 2, finish: "stop" });
      assert.equal((await running).end, "finished");
      assert.deepEqual(states(), ["finished null"]);
    });

    test("blames the node if it breaks the protocol in a job offered after the node moved to another server", async () => {
      const node = await online("a");
      plane.moved.set("a", clock.monotonic());
      clock.advance(10);
      const running = run(new TextSink());
      node.delta(await begin(node), 7, "later");
      assert.equal((await running).end, "broken");
      assert.deepEqual(states(), ["broken protocol"]);
    });

    test("waits for the node when the server closes the node's connection", async () => {
      const node = await online("a");
      const running = run(new TextSink());
      await begin(node);
      plane.drop("a", "plane");
      await waitOneTurn();
      clock.advance(1_000);
      await report(node);
      answer(node, await node.job(2));
      assert.equal((await running).end, "finished");
      assert.deepEqual(states(), ["cut null", "finished null"]);
    });

    test("blames the node when it closes its connection itself", async () => {
      const node = await online("a");
      const running = run(new TextSink());
      await begin(node);
      plane.drop("a");
      assert.equal((await running).end, "quiet");
      assert.deepEqual(states(), ["lost lost"]);
    });

    test("does not count a stall against a node whose server hung before the node moved to another server", async () => {
      const excused: string[] = [];
      dispatcher.onExcused((id, since) => excused.push(`${id} ${clock.monotonic() - since}`));
      const node = await online("a");
      const running = run(new TextSink());
      await begin(node);
      clock.advance(2_300);
      assert.equal((await running).end, "quiet");
      await report(node);
      assert.deepEqual(excused, [], "it has not moved");
      clock.advance(4_000);
      plane.moved.set("a", clock.monotonic());
      await report(node);
      assert.deepEqual(excused, [], "the server that it left answers");
      plane.deadServers.add(plane.server);
      await report(node, 1);
      assert.deepEqual(excused, [], "it renews its credentials");
      await report(node);
      await report(node);
      assert.deepEqual(excused, ["a 15000"]);
    });

    test("counts a stall against a node that moved to another server although its former server responds", async () => {
      const node = await online("a");
      const running = run(new TextSink({ streams: true }));
      await begin(node);
      plane.moved.set("a", clock.monotonic());
      await report(node);
      assert.deepEqual(states(), [], "what it says of itself ends nothing");
      clock.advance(2_300);
      assert.equal((await running).end, "quiet");
      assert.deepEqual(states(), ["quiet silent"]);
    });

    test("treats a server as failed if nodes of two other established hosts lost their connection to it too", async () => {
      const [a, b, c] = [await online("a"), await online("b"), await online("c")];
      const running = run(new TextSink());
      await waitOneTurn();
      const first = [a, b, c].find(({ heard }) => heard.length > 0) as FakeNode;
      await begin(first);
      // The node that runs the request reconnects last, after the others have shown that they lost the server too.
      for (const node of [...[a, b, c].filter((one) => one !== first), first]) {
        plane.moved.set(node.id, clock.monotonic());
        await report(node);
      }
      assert.deepEqual(states(), ["cut null"]);
      plane.goAway();
      clock.advance(10_000);
      await running;
    });
  });

  describe("nodes that disconnected a short time ago", () => {
    test("count as capacity for one more minute, whether the node or the whole plane was lost", async () => {
      const [a] = [await online("a", 20), await online("b", 30)];
      plane.drop("a");
      assert.equal(dispatcher.slots(MODEL), 50);
      assert.deepEqual(roster.capacity(MODEL), { nodes: 1, slots: 30, busy: 0 }, "and for nothing else");
      plane.goAway();
      assert.equal(dispatcher.slots(MODEL), 50);
      assert.deepEqual(roster.nodes(), []);
      clock.advance(59_999);
      assert.equal(dispatcher.slots(MODEL), 50);
      clock.advance(1);
      assert.equal(dispatcher.slots(MODEL), 0);
      plane.comeBack();
      await report(a);
      assert.equal(dispatcher.slots(MODEL), 1);
    });

    test("do not count as capacity if they were draining", async () => {
      const a = await online("a", 20);
      a.report({ models: [MODEL], slots: 20, draining: true });
      await waitOneTurn();
      plane.drop("a");
      assert.equal(dispatcher.slots(MODEL), 0);
    });

    test("make requests wait up to two seconds after the plane recovers, until one of these nodes reports again", async () => {
      const node = await online("a");
      plane.goAway();
      plane.comeBack();
      const lucky = run(new TextSink());
      await waitOneTurn();
      await report(node);
      answer(node, await node.job());
      assert.equal((await lucky).end, "finished");

      plane.goAway();
      plane.comeBack();
      const unlucky = run(new TextSink());
      clock.advance(1_999);
      await waitOneTurn();
      let ended = false;
      unlucky.finally(() => {
        ended = true;
      });
      await waitOneTurn();
      assert.equal(ended, false);
      clock.advance(1);
      assert.equal((await unlucky).end, "no_capacity");
    });

    test("are not reported as gone during a 30 s outage of the plane, and are reported as gone after a minute", async () => {
      const gone: string[] = [];
      roster.onGone((id, by) => gone.push(`${id} ${by}`));
      const node = await online("a");
      plane.goAway();
      clock.advance(30_000);
      plane.comeBack();
      await report(node);
      assert.deepEqual(gone, []);
      plane.goAway();
      clock.advance(65_000);
      assert.deepEqual(gone, ["a plane"]);
    });
  });
});
