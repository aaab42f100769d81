/** Requests with an output format (JSON or a JSON schema) only go to nodes whose engine enforces one. */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import type { Frame } from "@tollgate/protocol/frames.ts";
import { JobJoiner } from "@tollgate/protocol/job-splitting.ts";
import type { Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { type ManualClock, manualClock, seededRandom, waitOneTurn } from "../base/testing.ts";
import type { DispatchRequest, DispatchSink } from "./dispatch-request.ts";
import type { DispatchResult } from "./dispatch-result.ts";
import { type Dispatcher, openDispatcher } from "./dispatcher.ts";
import { Roster } from "./roster.ts";
import { FakeNode, MemoryPlane } from "./testing.ts";

const MODEL = "tiny-3b";
const DEADLINE_MS = 10_000;
const format = { type: "json_schema" as const, name: "x", schema: { type: "object" } };

const useOf = (keyword: string) => ({ needs: keyword, keyword, place: "#" });

let requests = 0;
const order = (formatted: boolean, keywords: string[] = []): DispatchRequest => ({
  request: String(++requests).padStart(26, "0"),
  header: { model: MODEL, endpoint: "chat", stream: false, output_tokens_max: 9, sampling: {} },
  body: { messages: [{ role: "user", content: "hi" }], ...(formatted && { format }) },
  formatted,
  keywords: keywords.map(useOf),
});

const sinkOf = (): DispatchSink & { text: string } => ({
  text: "",
  reachedClient: false,
  begin() {
    this.text = "";
  },
  delta(_channel, text) {
    this.text += text;
    return "more";
  },
  vectors: () => "broken",
  finished() {
    return this.text === "" ? "empty" : "answered";
  },
});

describe("requests with an output format", () => {
  let clock: ManualClock;
  let plane: MemoryPlane;
  let dispatcher: Dispatcher;
  let elected: string[];
  let roster: Roster;

  beforeEach(() => {
    clock = manualClock();
    plane = new MemoryPlane();
    elected = [MODEL];
    const log = createLog("silent");
    const nodeRecord = async (id: string) => ({
      nodeId: id as Uuid,
      hostAccountId: `host-of-${id}` as Uuid,
      models: elected,
    });
    roster = new Roster({ plane, clock, random: seededRandom(1), log, nodeRecord });
    dispatcher = openDispatcher({ plane, roster, clock, log, gatewayId: "gw1", deadlineMs: DEADLINE_MS });
  });

  const online = async (id: string, told: Partial<Parameters<FakeNode["report"]>[0]> = {}): Promise<FakeNode> => {
    const node = new FakeNode(plane, { id, gatewayId: "gw1" });
    node.report({ models: [MODEL], slots: 1, ...told });
    await waitOneTurn();
    return node;
  };
  const able = { json_schema: [MODEL] };
  const run = (formatted: boolean, keywords?: string[]): Promise<DispatchResult> =>
    dispatcher.run(order(formatted, keywords), sinkOf(), new AbortController().signal);
  const answer = (node: FakeNode, job: string): void => {
    node.say({ kind: "accepted", job });
    node.delta(job, 0, "{}");
    node.say({ kind: "done", job, seq: 1, finish: "stop" });
  };
  const jobsAt = (node: FakeNode): Extract<Frame, { kind: "job" }>[] =>
    node.heard.filter(({ kind }) => kind === "job") as never;
  const hasFormat = (node: FakeNode): boolean[] =>
    jobsAt(node).map((frame) => "format" in (new JobJoiner(frame).body() as object));

  test("go to the only free node that supports the format, with the format in the job", async () => {
    const others = await Promise.all(["a", "b", "c", "d", "e", "f"].map((id) => online(id, { slots: 8 })));
    const node = await online("g", { ...able, slots: 4, busy: 3 });
    const running = run(true);
    answer(node, await node.job());
    const result = await running;
    assert.deepEqual([result.end, result.server?.nodeId], ["finished", "g"]);
    assert.deepEqual(new JobJoiner(jobsAt(node)[0] as never).body(), order(true).body);
    assert.deepEqual(others.flatMap(jobsAt), []);
  });

  test("end with no_capacity immediately when no node announces the format for that model", async () => {
    const nodes = [
      await online("older"),
      await online("none", { json_schema: [] }),
      await online("other", { models: [MODEL, "small-8b"], json_schema: ["small-8b"] }),
      await online("unserved", { models: ["small-8b"], json_schema: [MODEL] }),
    ];
    const before = clock.monotonic();
    assert.equal((await run(true)).end, "no_capacity");
    assert.equal(clock.monotonic(), before, "nobody waited");
    assert.equal(dispatcher.keepsFormat(MODEL), false);
    assert.deepEqual(nodes.flatMap(jobsAt), []);
  });

  test("ignore nodes that support the format only for a model that their host did not choose", async () => {
    elected = [];
    await online("a", able);
    assert.equal((await run(true)).end, "no_capacity");
    assert.equal(dispatcher.keepsFormat(MODEL), false);
  });

  test("count as supported only while a node that supports the format is connected", async () => {
    assert.equal(dispatcher.keepsFormat(MODEL), false);
    const node = await online("a", able);
    assert.equal(dispatcher.keepsFormat(MODEL), true);
    node.report({ models: [MODEL], slots: 1, json_schema: [] });
    await waitOneTurn();
    assert.equal(dispatcher.keepsFormat(MODEL), false);
    node.report({ models: [MODEL], slots: 1, ...able });
    await waitOneTurn();
    assert.equal(dispatcher.keepsFormat(MODEL), true);
    plane.drop("a");
    assert.equal(dispatcher.keepsFormat(MODEL), false);
  });

  test("wait while all nodes that support the format are busy, and let requests without a format use the other nodes", async () => {
    const node = await online("able", able);
    const first = run(true);
    const job = await node.job();
    const second = run(true);
    const older = await online("older");
    await waitOneTurn();
    assert.deepEqual(jobsAt(older), [], "a free node that cannot do it is not handed it");
    const plain = run(false);
    answer(older, await older.job());
    assert.equal((await plain).server?.nodeId, "older");
    answer(node, job);
    answer(node, await node.job(2));
    assert.deepEqual([(await first).end, (await second).end], ["finished", "finished"]);
    assert.deepEqual([hasFormat(node), hasFormat(older)], [[true, true], [false]]);
  });

  test("keep their place in the queue: no later request gets the node that supports the format", async () => {
    const node = await online("able", able);
    const older = await online("older");
    // Keeps both nodes busy with plain requests.
    const busy = [run(false), run(false)];
    const [jobHere, jobThere] = [await node.job(), await older.job()];
    const formatted = run(true);
    const plain = run(false);
    answer(node, jobHere);
    answer(node, await node.job(2));
    assert.equal((await formatted).server?.nodeId, "able");
    answer(older, jobThere);
    const results = [...busy, plain];
    const offeredHere = node.job(3).then((job) => answer(node, job));
    const offeredThere = older.job(2).then((job) => answer(older, job));
    await Promise.race([offeredHere, offeredThere]);
    assert.deepEqual(
      (await Promise.all(results)).map(({ end }) => end),
      ["finished", "finished", "finished"],
    );
    assert.deepEqual(hasFormat(node).slice(0, 2), [false, true]);
    assert.ok(!hasFormat(older).includes(true));
  });

  test("do not delay requests without a format that arrived earlier", async () => {
    const node = await online("able", able);
    const busy = run(false);
    const job = await node.job();
    const [plain, formatted] = [run(false), run(true)];
    answer(node, job);
    answer(node, await node.job(2));
    answer(node, await node.job(3));
    await Promise.all([busy, plain, formatted]);
    assert.deepEqual(hasFormat(node), [false, false, true]);
  });

  test("fail immediately when the last node that supports the format leaves or drops it, while requests without a format wait", async () => {
    const older = await online("older");
    const held = run(false);
    const heldJob = await older.job();
    for (const leave of [
      () => plane.drop("able"),
      (node: FakeNode) => node.report({ models: [MODEL], slots: 1, json_schema: [] }),
      (node: FakeNode) => node.report({ models: [MODEL], slots: 0, ...able }),
    ]) {
      const node = await online("able", able);
      const running = run(true);
      const job = await node.job();
      node.say({ kind: "accepted", job });
      node.delta(job, 0, "x");
      const formatted = run(true);
      leave(node);
      assert.equal((await formatted).end, "no_capacity");
      plane.drop("able");
      await running;
    }
    const plain = run(false);
    answer(older, heldJob);
    answer(older, await older.job(2));
    assert.deepEqual([(await held).end, (await plain).end], ["finished", "finished"]);
  });

  test("end with no_capacity at the deadline if every node that supports the format is still busy", async () => {
    const node = await online("able", able);
    await online("older");
    const running = run(true);
    const job = await node.job();
    node.say({ kind: "accepted", job });
    const formatted = run(true);
    for (let s = 0; s * 1000 < DEADLINE_MS; s++) {
      clock.advance(1000);
      node.delta(job, s, "x");
    }
    assert.equal((await formatted).end, "no_capacity");
    node.say({ kind: "done", job, seq: DEADLINE_MS / 1000, finish: "stop" });
    await running;
  });

  test("wait for a node that supports the format if the plane lost the node a moment ago", async () => {
    await online("older");
    const node = await online("able", able);
    plane.drop("able", "plane");
    const formatted = run(true);
    node.report({ models: [MODEL], slots: 1, ...able });
    answer(node, await node.job());
    assert.equal((await formatted).end, "finished");
  });

  test("are retried after a stall only on a node that supports the format", async () => {
    for (const second of [able, {}]) {
      const node = await online("able", { ...able, slots: 9 });
      const formatted = run(true);
      const job = await node.job();
      const other = await online("other", second);
      node.say({ kind: "accepted", job });
      clock.advance(2_300);
      if (second === able) answer(other, await other.job());
      assert.equal((await formatted).end, second === able ? "finished" : "quiet");
      if (second !== able) assert.deepEqual(jobsAt(other), []);
      plane.drop("able");
      plane.drop("other");
    }
  });

  test("ask for a second opinion on an empty answer only from a node that supports the format", async () => {
    for (const second of [able, {}]) {
      const node = await online("able", { ...able, slots: 9 });
      const formatted = run(true);
      const job = await node.job();
      const other = await online("other", second);
      node.say({ kind: "accepted", job });
      node.say({ kind: "done", job, seq: 0, finish: "stop" });
      if (second === able) answer(other, await other.job());
      assert.equal((await formatted).end, second === able ? "finished" : "unconfirmed");
      if (second !== able) assert.deepEqual(jobsAt(other), []);
      plane.drop("able");
      plane.drop("other");
    }
  });

  test("are offered a second time to the only node that supports the format if it declined, and to no other node", async () => {
    const older = await online("older");
    const node = await online("able", able);
    const formatted = run(true);
    node.say({ kind: "busy", job: await node.job() });
    await waitOneTurn();
    clock.advance(250);
    answer(node, await node.job(2));
    assert.equal((await formatted).end, "finished");
    assert.deepEqual(jobsAt(older), []);
  });

  test("blame no node for a grammar that cannot be built, and count an engine's failure after output as a refused prompt", async () => {
    const node = await online("able", { ...able, slots: 9 });
    const failures: unknown[] = [];
    dispatcher.onAttempt(({ failure }) => failures.push(failure));
    for (const [nth, { formatted, output, cause, end }] of [
      { formatted: true, output: 0, cause: "prompt" as const, end: "unbuilt" },
      { formatted: true, output: 0, cause: "engine" as const, end: "unbuilt" },
      { formatted: true, output: 0, cause: "agent" as const, end: "failed" },
      { formatted: true, output: 1, cause: "engine" as const, end: "failed" },
      { formatted: false, output: 0, cause: "engine" as const, end: "failed" },
    ].entries()) {
      const running = run(formatted);
      const job = await node.job(nth + 1);
      node.say({ kind: "accepted", job });
      if (output > 0) node.delta(job, 0, "{");
      node.say({ kind: "failed", job, seq: output, cause, message: "HTTP 400" });
      assert.equal((await running).end, end);
    }
    assert.deepEqual(failures, ["agent", "prompt", "engine"]);
  });

  test("with a schema go only to nodes that announce its keywords; basic keywords need no announcement", async () => {
    const keeps = (schema_keywords: string[]) => ({ ...able, schema_keywords });
    const older = await online("older", { ...able, slots: 9 });
    const ranges = await online("ranges", keeps(["type", "minimum"]));
    const patterns = await online("patterns", keeps(["type", "pattern"]));
    for (const [keywords, node] of [
      [["type", "minimum"], ranges],
      [["pattern"], patterns],
      [["type", "properties", "required", "additionalProperties", "enum"], older],
    ] as const) {
      const running = run(true, [...keywords]);
      answer(node, await node.job());
      assert.equal((await running).server?.nodeId, node.id);
    }
    const unkept = (...keywords: string[]) => dispatcher.unkeptKeyword(MODEL, keywords.map(useOf))?.keyword;
    assert.equal(unkept("type", "minimum"), undefined);
    assert.equal(unkept("type", "uniqueItems", "minimum"), "uniqueItems");
    assert.equal(unkept("minimum", "pattern"), "pattern", "no single node keeps both");
    assert.equal((await run(true, ["uniqueItems"])).end, "no_capacity");
  });
});
