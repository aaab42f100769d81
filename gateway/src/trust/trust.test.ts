import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { decodeFrame } from "@tollgate/protocol/codec.ts";
import type { JobHeader } from "@tollgate/protocol/frames.ts";
import { nodeSubject } from "@tollgate/protocol/nats-subjects.ts";
import { newIds, type Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { pico } from "../base/money.ts";
import { refusalPenaltyMs } from "../base/node-trust-thresholds.ts";
import { type ManualClock, manualClock, seededRandom, waitOneTurn } from "../base/testing.ts";
import type { DispatchSink } from "../dispatch/dispatch-request.ts";
import { type Dispatcher, openDispatcher } from "../dispatch/dispatcher.ts";
import { Roster } from "../dispatch/roster.ts";
import { FakeNode, MemoryPlane } from "../dispatch/testing.ts";
import { NO_OBSERVED_COUNTS, type ObservedNodeCounts } from "../fleet/node-record.ts";
import type { ActiveModel, Canary } from "../metering/catalogue.ts";
import type { Meter } from "../metering/meter.ts";
import { questionFromCanary } from "./canary.ts";
import type { QuarantineVerdict } from "./reliability.ts";
import { type Trust, watchNodes } from "./trust.ts";

/** Counts one token per word. */
const meter: Meter = {
  tokenizer: "words",
  tokenizerSha256: "",
  countPrompt: async () => ({ tokens: 5, over: null }),
  openOutput() {
    let words = 0;
    return {
      full: false,
      push(_channel, text) {
        words += text.split(" ").length;
        return text;
      },
      end: () => ({ answerTokens: words, reasoningTokens: 0 }),
    };
  },
};
const NO_SINK = {
  begin() {},
  delta: () => "more" as const,
  vectors: () => "broken" as const,
  finished: () => "answered" as const,
  reachedClient: false,
};
const drawn = seededRandom(2);
const coin = (): boolean => drawn.below(2) === 0;
const canary: Canary = { prompt: "7 + 5?", expect: "12", max_tokens: 8 };

describe("trust in nodes", () => {
  let clock: ManualClock;
  let plane: MemoryPlane;
  let roster: Roster;
  let dispatcher: Dispatcher;
  let trust: Trust;
  let barred: [string, QuarantineVerdict][];
  let recorded: [string, ObservedNodeCounts][];
  let lastDay: Partial<ObservedNodeCounts>;
  let lastDayOfHost: Partial<ObservedNodeCounts>;
  let model: ActiveModel;

  const start = (automatic = true): void => {
    clock = manualClock();
    plane = new MemoryPlane();
    [barred, recorded, lastDay, lastDayOfHost] = [[], [], {}, {}];
    model = {
      id: "tiny-3b",
      kind: "generation",
      class: "tiny",
      contextLimit: 100,
      prices: { in: pico(1n), out: pico(1n) },
      priceVersion: 1,
      build: { id: "b", tokenizer: "words" },
      admissionMax: undefined,
      speedMax: 1000,
      readingSpeedMax: 1_000_000,
      canaries: [canary],
    };
    const [log, random] = [createLog("silent"), seededRandom(1)];
    const nodeRecord = async (id: string) => ({
      nodeId: id as Uuid,
      hostAccountId: `host of ${id}` as Uuid,
      models: ["tiny-3b"],
    });
    roster = new Roster({ plane, clock, random, log, nodeRecord });
    dispatcher = openDispatcher({ plane, roster, clock, log, gatewayId: "gw1", deadlineMs: 10_000 });
    const catalogue = () => ({ priceVersion: 1, entries: [], active: new Map([["tiny-3b", model]]) });
    trust = watchNodes({
      gateway: { dispatcher, meter: () => meter, catalogue },
      roster,
      quarantine: async (id, verdict) => void barred.push([id, verdict]),
      automatic,
      draw: ({ canaries }) => {
        const [first] = canaries ?? [];
        return first === undefined ? undefined : questionFromCanary(first);
      },
      record: async (seen) => void recorded.push(...seen),
      lastDay: async () => ({
        own: { ...NO_OBSERVED_COUNTS, ...lastDay },
        host: { ...NO_OBSERVED_COUNTS, ...lastDayOfHost },
      }),
      newId: newIds(clock, random),
      clock,
      random: { ...random, below: (bound) => below?.(bound) ?? random.below(bound) },
      log,
    });
  };
  /** Replaces the randomness where a test needs to know when the next canary is due. */
  let below: ((bound: number) => number) | undefined;
  beforeEach(() => {
    below = undefined;
    start();
  });

  /** Connects a node that reports its state, now and every few seconds of the clock. */
  const join = async (): Promise<FakeNode> => {
    const node = new FakeNode(plane, { id: "a", gatewayId: "gw1" });
    node.report({ models: ["tiny-3b"], slots: 4 });
    await waitOneTurn();
    return node;
  };
  const answer = async (node: FakeNode, nth: number, text: string): Promise<JobHeader | undefined> => {
    const job = await node.job(nth);
    node.say({ kind: "accepted", job });
    node.delta(job, 0, text);
    clock.advance(500);
    node.delta(job, 1, " end");
    node.say({ kind: "done", job, seq: 2, finish: "stop" });
    await waitOneTurn();
    await waitOneTurn();
    return node.heard.flatMap((frame) => (frame.kind === "job" ? [frame.header] : []))[nth - 1];
  };
  /** Advances the clock until the node gets an offer. */
  const pass = async (node: FakeNode, ms: number): Promise<void> => {
    const before = jobs(node);
    for (let left = ms; left > 0 && jobs(node) === before; left -= 5000) {
      clock.advance(Math.min(left, 5000));
      node.report({ models: ["tiny-3b"], slots: 4 });
      await waitOneTurn();
    }
  };
  const jobs = (node: FakeNode): number => node.heard.filter(({ kind }) => kind === "job").length;

  test("probes a node when it joins, and not again while its measured speed is recent", async () => {
    // Delays the next canary by two hours, and makes the next probe come as early as possible.
    below = () => 0;
    const node = await join();
    const header = await answer(node, 1, "it is 12 and some more words here");
    assert.equal(header?.endpoint, "chat");
    assert.ok((dispatcher.speedOfNode("a", "tiny-3b").ttftMs ?? -1) >= 0);
    assert.ok((dispatcher.speedOf("tiny-3b").tokensPerSecond ?? 0) > 0);
    await pass(node, 4 * 60_000);
    assert.equal(jobs(node), 1);
    await pass(node, 2 * 60_000);
    assert.equal(jobs(node), 2, "every few minutes while idle");
  });

  test("does not probe a node that has no free slot", async () => {
    roster.told("another gateway", { a: 64 }, { whole: true });
    const node = await join();
    clock.advance(20_000);
    await waitOneTurn();
    assert.equal(jobs(node), 0);
  });

  test("quarantines a node after two failed canaries in a row, but not after one", async () => {
    const node = await join();
    await answer(node, 1, "no idea");
    assert.deepEqual(barred, []);
    await answer(node, 2, "twelve hundred");
    assert.deepEqual(barred, [
      ["a", { reason: "canary", evidence: { model: "tiny-3b", why: "unexpected answer", failures: 2, asked: 2 } }],
    ]);
  });

  test("forgives a failed canary after passed ones", async () => {
    const node = await join();
    await answer(node, 1, "no idea");
    await answer(node, 2, "it is 12");
    assert.deepEqual(barred, []);
    for (let nth = 3; jobs(node) >= nth; nth++) await answer(node, nth, "it is 12");
    assert.ok(jobs(node) > 2, "it is asked again until nothing speaks against it");
    assert.ok(jobs(node) < 9, `${jobs(node)} times`);
    assert.deepEqual(barred, []);
  });

  test("quarantines a node for an impossibly fast answer, unless the answer is short", async () => {
    const node = await join();
    await answer(node, 1, `12 ${"word ".repeat(100)}`);
    assert.equal(barred.length, 0);
    model.speedMax = 200;
    await pass(node, 6 * 60_000);
    await answer(node, 2, `12 ${"word ".repeat(200)}`);
    assert.equal(barred[0]?.[1].reason, "speed");
    assert.deepEqual(barred[0]?.[1].evidence, { model: "tiny-3b", tokens: 204, tokens_per_second: 408, ceiling: 200 });
  });

  test("quarantines a node after five failures, not counting refusals and client disconnects", async () => {
    const node = await join();
    await answer(node, 1, "it is 12");
    const order = (i: number) => ({
      request: `06dfk3zq9v8n2x4m7t1c5w0r${String(i).padStart(2, "0")}`,
      header: { model: "tiny-3b", endpoint: "chat" as const, stream: false, output_tokens_max: 9, sampling: {} },
      body: { messages: [] },
    });
    const sink = NO_SINK;
    for (let i = 0; i < 10; i++) {
      const leaving = new AbortController();
      const running = dispatcher.runOn("a", order(i), sink, leaving.signal);
      const job = await node.job(2 + i);
      if (i % 2 === 0) node.say({ kind: "accepted", job });
      if (i % 2 === 0) leaving.abort();
      else node.say({ kind: "busy", job });
      await running;
    }
    assert.deepEqual(trust.reliability("a"), { jobs: 6, failures: 0, jobsWindow: 20, failuresMax: 5 });
    for (let i = 0; i < 5; i++) {
      assert.deepEqual(barred, []);
      const running = dispatcher.runOn("a", order(20 + i), sink, new AbortController().signal);
      const job = await node.job(12 + i);
      node.say({ kind: "accepted", job });
      node.say({ kind: "failed", job, seq: 0, cause: "engine", message: "" });
      await running;
    }
    await waitOneTurn();
    assert.deepEqual(barred, [
      ["a", { reason: "failures", evidence: { jobs: 11, failures: 5, kinds: { engine: 5 } } }],
    ]);
  });

  describe("a node that stalls", () => {
    /** The node falls silent with this many requests in flight. */
    const stall = async (count: number): Promise<FakeNode> => {
      const node = await join();
      await answer(node, 1, "it is 12");
      const header = { model: "tiny-3b", endpoint: "chat", stream: true, output_tokens_max: 9, sampling: {} } as const;
      const sink = { ...NO_SINK, reachedClient: true };
      const running = Array.from({ length: count }, (_, i) => {
        const order = { request: `${i}`.padStart(26, "0"), header, body: { messages: [] } };
        return dispatcher.run(order, sink, new AbortController().signal);
      });
      for (let nth = 2; nth < 2 + count; nth++) {
        const job = await node.job(nth);
        node.say({ kind: "accepted", job });
        node.delta(job, 0, "one word");
      }
      clock.advance(2_300);
      for (const each of running) assert.equal((await each).end, "quiet");
      return node;
    };

    test("gets one failure per request while it stays connected", async () => {
      const node = await stall(4);
      node.report({ models: ["tiny-3b"], slots: 4 });
      await waitOneTurn();
      assert.equal(trust.reliability("a").failures, 4);
      await trust.stop();
      assert.deepEqual(recorded, [["a", { ...NO_OBSERVED_COUNTS, silences: 4 }]]);
    });

    test("gets one failure for all requests if its connection turns out to be lost", async () => {
      await stall(4);
      plane.drop("a");
      assert.equal(trust.reliability("a").failures, 1);
    });
  });

  test("counts up to four failures of the last day when a node joins, and quarantines the node at the fifth failure", async () => {
    lastDay = { answers: 2, failures: 9 };
    const node = await join();
    await answer(node, 1, "it is 12");
    assert.deepEqual([trust.reliability("a").failures, barred], [4, []]);
    const header = { model: "tiny-3b", endpoint: "chat", stream: true, output_tokens_max: 9, sampling: {} } as const;
    const order = { request: "z".repeat(26), header, body: { messages: [] } };
    const running = dispatcher.run(order, NO_SINK, new AbortController().signal);
    const job = await node.job(2);
    node.say({ kind: "accepted", job });
    node.say({ kind: "failed", job, seq: 0, cause: "engine", message: "" });
    await running;
    await waitOneTurn();
    assert.equal(barred[0]?.[1].reason, "failures");
  });

  test("counts failures of the host's other nodes when a node joins, by their share of the jobs", async () => {
    [lastDay, lastDayOfHost] = [{ answers: 100 }, { answers: 150, failures: 10, silences: 10 }];
    await join();
    assert.equal(trust.reliability("a").failures, 2);
  });

  for (const whose of ["the node or a retired one", "another node of the host"])
    test(`prefers other nodes to a joining node if ${whose} declined offers during the last day`, async () => {
      const seen = { answers: 12, refusals: 6, late: 6 };
      [lastDay, lastDayOfHost] = whose.startsWith("the node") ? [seen, {}] : [{}, seen];
      await join();
      const node = roster.find("a");
      assert.deepEqual([node?.inGoodStanding, node?.slots], [false, 4]);
      assert.equal((node?.shunnedUntil ?? 0) - clock.monotonic(), refusalPenaltyMs(10));
    });

  test("keeps a joining node in good standing if it declined only one offer of a hundred", async () => {
    lastDay = { answers: 990, refusals: 5, late: 5 };
    await join();
    assert.deepEqual([roster.find("a")?.inGoodStanding, roster.find("a")?.shunnedUntil], [true, 0]);
  });

  test("counts nothing against a node when its jobs end because the dispatch plane fails", async () => {
    const node = await join();
    await answer(node, 1, "it is 12");
    const before = trust.reliability("a");
    let nth = 1;
    for (let i = 0; i < 10; i++) {
      const header = { model: "tiny-3b", endpoint: "chat", stream: true, output_tokens_max: 9, sampling: {} } as const;
      const request = `0${i}dfk3zq9v8n2x4m7t1c5w0rbe`;
      const body = { messages: [{ role: "user", content: "hi" }] };
      const sink = { ...NO_SINK, reachedClient: true };
      const running = dispatcher.run({ request, header, body }, sink, new AbortController().signal);
      const job = await node.job(++nth);
      if (i % 2 === 0) {
        node.say({ kind: "accepted", job });
        node.delta(job, 0, "x");
      }
      plane.goAway();
      assert.equal((await running).end, "cut");
      plane.comeBack();
      node.report({ models: ["tiny-3b"], slots: 4 });
      await waitOneTurn();
    }
    assert.deepEqual(trust.reliability("a"), before);
    assert.deepEqual(barred, []);
    assert.equal(jobs(node), 11, "nor is it probed anew");
  });

  test("quarantines no node and sends no canary when automatic quarantine is off", async () => {
    start(false);
    const node = await join();
    await answer(node, 1, "no idea");
    await pass(node, 6 * 60_000);
    await answer(node, 2, "still none");
    assert.deepEqual(barred, []);
  });

  describe("statistics over answered requests", () => {
    const measured = (nodeId: string, accountId: string, output: number, temperature?: number): void => {
      const pace = { nodeId, ttftMs: 50, spanMs: 9_000, outputMs: 8_950 };
      const result = {
        end: "finished",
        finish: "stop",
        server: null,
        attempts: 1,
        queueMs: 1,
        ttftMs: 50,
        pace,
      } as const;
      const request = {
        accountId,
        endpoint: "chat",
        stream: true,
        outputTokensMax: 300,
        sampling: { temperature },
        formatted: false,
        texts: 0,
      } as const;
      dispatcher.measured("tiny-3b", result, { prompt: 40, output }, request);
    };

    test("report a node whose answers differ in length, without quarantining it", async () => {
      for (const id of ["a", "b", "c", "d"]) {
        new FakeNode(plane, { id, gatewayId: "gw1" }).report({ models: ["tiny-3b"], slots: 4, busy: 1 });
        await waitOneTurn();
      }
      const random = seededRandom(1);
      for (let i = 0; i < 4_000; i++) {
        const id = ["a", "b", "c", "d"][random.below(4)] as string;
        measured(id, `account ${random.below(12)}`, id === "a" ? 7 : 20 + random.below(200));
      }
      assert.deepEqual([trust.lengthSuspicion("a"), trust.lengthSuspicion("b")], [true, false]);
      assert.equal(trust.lengthEvidence("a")[0]?.model, "tiny-3b");
      assert.deepEqual([trust.lengthSuspicion("nobody"), barred], [false, []]);
    });

    test("give probes the parameters of user requests", async () => {
      model.canaries = [];
      const node = await join();
      await answer(node, 1, "some words about it");
      for (let i = 0; i < 64; i++) measured("a", "account", 50, 0.91);
      await pass(node, 6 * 60_000);
      assert.equal((await answer(node, 2, "some words about it"))?.sampling.temperature, 0.91);
    });
  });

  test("stops a running probe when it is closed", async () => {
    const node = await join();
    await node.job(1);
    await trust.stop();
    assert.ok(node.heard.some(({ kind }) => kind === "cancel"));
  });

  describe("misses (answers without output)", () => {
    // Turns canaries off, so that no node is quarantined for its answers to canaries instead of for misses.
    beforeEach(() => {
      model.canaries = [];
    });
    /** Counts one token per word, like the meter above. */
    class Words implements DispatchSink {
      words = "";
      reachedClient = false;
      begin(): void {
        this.words = "";
      }
      delta(_channel: string, text: string): "more" | "enough" {
        // Ends the output, as for a stop string at the very beginning.
        if (text === "STOP") return "enough";
        this.words += text;
        return "more";
      }
      vectors(): "more" | "broken" {
        return "broken";
      }
      finished(): "answered" | "empty" | "broken" {
        return this.words === "" ? "empty" : "answered";
      }
    }
    /** A node that answers every job with the given text. Undefined: it finishes without output. */
    const automaton = async (id: string, answerTo: (prompt: string) => string | undefined): Promise<FakeNode> => {
      const node = new FakeNode(plane, { id, gatewayId: "gw1" });
      plane.subscribe(nodeSubject(id), (_subject, payload) => {
        const frame = decodeFrame(payload);
        if (frame.kind !== "job") return;
        const { job } = frame.header;
        const said = answerTo(Buffer.from(frame.piece).toString());
        node.say({ kind: "accepted", job });
        if (said !== undefined) node.delta(job, 0, said);
        node.say({ kind: "done", job, seq: said === undefined ? 0 : 1, finish: "stop" });
      });
      node.report({ models: ["tiny-3b"], slots: 4 });
      await settled();
      return node;
    };
    const settled = async (): Promise<void> => {
      for (let i = 0; i < 8; i++) await waitOneTurn();
    };
    let asked = 0;
    const ask = async (prompt: string, signal = new AbortController().signal) => {
      const request = `06dfk3zq9v8n2x4m7t1c5w${String(asked++).padStart(4, "0")}`;
      const header = { model: "tiny-3b", endpoint: "chat" as const, stream: false, output_tokens_max: 9, sampling: {} };
      const body = { messages: [{ role: "user", content: prompt }] };
      const result = await dispatcher.run({ request, header, body }, new Words(), signal);
      await settled();
      return result;
    };
    const isOurs = (prompt: string): boolean => !prompt.includes("builder");

    test("quarantine a node after five of them and an empty answer to a probe", async () => {
      const honest = await automaton("honest", () => "it is 12");
      let lazy = false;
      await automaton("idle", () => (lazy ? undefined : "it is 12"));
      lazy = true;
      for (let i = 0; i < 60 && barred.length === 0; i++) {
        // The other node has no measured speed, so it is chosen only if this one has more work.
        honest.report({ models: ["tiny-3b"], slots: 4, busy: 1 });
        await waitOneTurn();
        const result = await ask("builder: hello");
        assert.notEqual(result.server?.nodeId, "idle", "it is never the one to be paid");
      }
      assert.equal(barred.length, 1);
      const [id, { reason, evidence }] = barred[0] as [string, QuarantineVerdict];
      assert.deepEqual([id, reason, evidence.probe, evidence.kinds], ["idle", "failures", "empty", { miss: 5 }]);
    });

    for (const [what, answerTo] of [
      ["prompts that end at once on every node", (prompt: string) => (isOurs(prompt) ? "it is 12" : undefined)],
      ["prompts that end at once by chance", (prompt: string) => (isOurs(prompt) || coin() ? "it is 12" : undefined)],
      [
        "stop strings that one node's engine finds and another's leaves to us",
        (prompt: string) => (isOurs(prompt) ? "it is 12" : coin() ? "STOP" : undefined),
      ],
    ] as const) {
      test(`lead to no quarantine with ${what}`, async () => {
        for (const id of ["a", "b", "c"]) await automaton(id, answerTo);
        for (let i = 0; i < 300; i++) await ask("builder: hello");
        assert.deepEqual(barred, []);
      });
    }

    test("are not counted when clients disconnect at once or during a second opinion", async () => {
      for (const id of ["a", "b"]) await automaton(id, (prompt) => (isOurs(prompt) ? "it is 12" : undefined));
      const silent = new FakeNode(plane, { id: "c", gatewayId: "gw1" });
      silent.report({ models: ["tiny-3b"], slots: 4 });
      await settled();
      for (let i = 0; i < 100; i++) {
        const leaving = new AbortController();
        const running = ask("builder: hello", leaving.signal);
        if (i % 2 === 0) leaving.abort();
        else setImmediate(() => leaving.abort());
        await running;
      }
      assert.deepEqual(barred, []);
    });

    test("are dropped when the node answers a probe; its failures are not", async () => {
      await automaton("honest", () => "it is 12");
      let prompts = 0;
      await automaton("moody", (prompt) => {
        if (!isOurs(prompt)) prompts++;
        return isOurs(prompt) ? "it is 12" : undefined;
      });
      for (let i = 0; i < 100; i++) await ask("builder: hello");
      assert.ok(prompts > 10, `${prompts} were missed`);
      assert.deepEqual(barred, []);
      assert.ok(trust.reliability("moody").failures < 5);
    });
  });

  test("ignores refused prompts near the context limit, and counts at most three refused prompts of one builder", async () => {
    const node = await join();
    await answer(node, 1, "it is 12");
    let nth = 2;
    const refuse = async (accountId: string, promptTokens: number): Promise<void> => {
      const request = `06dfk3zq9v8n2x4m7t1c5w0r${String(nth).padStart(2, "0")}`;
      const header = { model: "tiny-3b", endpoint: "chat" as const, stream: false, output_tokens_max: 9, sampling: {} };
      const sink = NO_SINK;
      const order = { request, header, body: { messages: [] }, origin: { accountId, promptTokens } };
      const running = dispatcher.runOn("a", order, sink, new AbortController().signal);
      const job = await node.job(nth++);
      node.say({ kind: "accepted", job });
      node.say({ kind: "failed", job, seq: 0, cause: "prompt", message: "too long" });
      await running;
      await waitOneTurn();
    };
    for (let i = 0; i < 15; i++) await refuse(`builder ${i}`, 75);
    for (let i = 0; i < 15; i++) await refuse("one builder", 10);
    assert.equal(barred.length, 0);
    for (const builder of ["another", "a third", "a fourth"]) for (let i = 0; i < 3; i++) await refuse(builder, 74);
    assert.equal(barred[0]?.[1].reason, "refused_prompts");
  });
});
