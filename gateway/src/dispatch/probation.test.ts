/** Nodes on probation (new nodes that are not trusted yet) get one request at a time, whatever they report. */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import type { Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { type ManualClock, manualClock, seededRandom, waitOneTurn } from "../base/testing.ts";
import { type Dispatcher, type MeasuredAnswer, openDispatcher } from "./dispatcher.ts";
import { Roster } from "./roster.ts";
import { FakeNode, MemoryPlane } from "./testing.ts";

const MODEL = "tiny-3b";

describe("a node on probation", () => {
  let clock: ManualClock;
  let plane: MemoryPlane;
  let roster: Roster;
  let dispatcher: Dispatcher;
  let owed: number;
  let barred: boolean;
  beforeEach(() => {
    [clock, plane, owed, barred] = [manualClock(), new MemoryPlane(), 20, false];
    const log = createLog("silent");
    roster = new Roster({
      plane,
      clock,
      random: seededRandom(1),
      log,
      nodeRecord: async (id) => {
        const slotsMax = owed > 0 ? 1 : 8;
        const nodeRecord = {
          nodeId: id as Uuid,
          hostAccountId: "h" as Uuid,
          models: [MODEL],
          answersOwed: owed,
          slotsMax,
        };
        return barred ? undefined : nodeRecord;
      },
    });
    dispatcher = openDispatcher({ plane, roster, clock, log, gatewayId: "gw1", deadlineMs: 10_000 });
  });

  const join = async (): Promise<FakeNode> => {
    const node = new FakeNode(plane, { id: "a", gatewayId: "gw1" });
    await report(node);
    return node;
  };
  const report = async (node: FakeNode): Promise<void> => {
    node.report({ models: [MODEL], slots: 8, busy: 0, accepts_early: true });
    await waitOneTurn();
  };
  let requests = 0;
  const ask = () => {
    const header = { model: MODEL, endpoint: "chat" as const, stream: true, output_tokens_max: 9, sampling: {} };
    const request = String(requests++).padStart(26, "0");
    const sink = {
      begin() {},
      delta: () => "more" as const,
      vectors: () => "broken" as const,
      finished: () => "answered" as const,
      reachedClient: false,
    };
    return dispatcher.run({ request, header, body: { messages: [] } }, sink, new AbortController().signal);
  };
  const jobs = (node: FakeNode): number => node.heard.filter(({ kind }) => kind === "job").length;
  const finish = (node: FakeNode, job: string): void => {
    node.say({ kind: "accepted", job });
    node.delta(job, 0, "words");
    node.say({ kind: "done", job, seq: 1, finish: "stop" });
  };

  test("counts as one slot, whatever it reports", async () => {
    await join();
    assert.equal(roster.slots(MODEL), 1);
    assert.equal(dispatcher.slots(MODEL), 1);
    assert.deepEqual(roster.capacity(MODEL), { nodes: 1, slots: 1, busy: 0 });
  });

  test("gets a second request only after the first ends, even if it reports itself as free", async () => {
    const node = await join();
    const answers = [ask(), ask()];
    const first = await node.job(1);
    node.say({ kind: "accepted", job: first });
    for (let i = 0; i < 5; i++) await report(node);
    assert.equal(jobs(node), 1);
    node.delta(first, 0, "words");
    node.say({ kind: "done", job: first, seq: 1, finish: "stop" });
    finish(node, await node.job(2));
    assert.deepEqual(
      (await Promise.all(answers)).map(({ end }) => end),
      ["finished", "finished"],
    );
  });

  test("has no free slot if it leaves and returns while its request runs", async () => {
    const node = await join();
    const answers = [ask()];
    const first = await node.job(1);
    node.say({ kind: "accepted", job: first });
    barred = true;
    await roster.review("a");
    assert.equal(roster.find("a"), undefined);
    barred = false;
    await roster.review("a");
    await report(node);
    answers.push(ask());
    await waitOneTurn();
    assert.equal(jobs(node), 1);
    node.delta(first, 0, "words");
    node.say({ kind: "done", job: first, seq: 1, finish: "stop" });
    finish(node, await node.job(2));
    await Promise.all(answers);
  });

  test("gets all its slots when its probation ends", async () => {
    const node = await join();
    const answers = [ask(), ask(), ask()];
    const first = await node.job(1);
    node.say({ kind: "accepted", job: first });
    owed = 0;
    await roster.review("a");
    assert.deepEqual(roster.capacity(MODEL), { nodes: 1, slots: 8, busy: 3 });
    for (const nth of [2, 3]) finish(node, await node.job(nth));
    node.delta(first, 0, "words");
    node.say({ kind: "done", job: first, seq: 1, finish: "stop" });
    await Promise.all(answers);
  });

  test("has one slot for users' requests and one for the platform's own checks", async () => {
    const node = await join();
    const seen: MeasuredAnswer[] = [];
    dispatcher.onMeasured((measured) => seen.push(measured));
    const tokens = { prompt: 3, output: 1 };
    const answer = ask();
    finish(node, await node.job(1));
    dispatcher.measured(MODEL, await answer, tokens);
    const header = { model: MODEL, endpoint: "chat" as const, stream: true, output_tokens_max: 9, sampling: {} };
    const sink = {
      begin() {},
      delta: () => "more" as const,
      vectors: () => "broken" as const,
      finished: () => "answered" as const,
      reachedClient: false,
    };
    const order = { request: "z".repeat(26), header, body: { messages: [] } };
    const own = dispatcher.runOn("a", order, sink, new AbortController().signal);
    finish(node, await node.job(2));
    const result = await own;
    assert.ok(result !== undefined);
    dispatcher.measured(MODEL, result, tokens);
    assert.deepEqual(
      seen.map(({ own }) => own),
      [false, true],
    );
  });
});
