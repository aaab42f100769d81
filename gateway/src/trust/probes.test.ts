/** Tests which nodes are probed when, and what their answers lead to. Nodes are functions from a job to its result. */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { newIds, type Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { pico } from "../base/money.ts";
import { type ManualClock, manualClock, seededRandom, waitOneTurn } from "../base/testing.ts";
import type { MeasuredAnswer } from "../dispatch/dispatcher.ts";
import type { Roster } from "../dispatch/roster.ts";
import type { RosterNode } from "../dispatch/roster-node.ts";
import type { UnpaidJob, UnpaidJobResult } from "../inference/unpaid-job.ts";
import type { ActiveModel, Canary } from "../metering/catalogue.ts";
import { openCanaryRecords } from "./canary-records.ts";
import { openCanarySource } from "./canary-source.ts";
import { type Probes, startProbes } from "./probes.ts";
import { randomChoices } from "./questions/random-choices.ts";
import { pickUsualRequestShape, type RequestShape } from "./questions/request-shapes.ts";
import type { QuarantineVerdict } from "./reliability.ts";
import { answerPublishedCanary, RecordedCanaries } from "./testing.ts";
import { TrafficRates } from "./traffic-rates.ts";

const random = seededRandom(1);
const book = new RecordedCanaries();
const promptOf = ({ messages, texts }: UnpaidJob): string => messages.at(-1)?.content ?? texts[0] ?? "";
/** Returns an honest model's answer. Undefined: any answer is accepted. */
const rightAnswer = (job: UnpaidJob): string | undefined =>
  book.answerTo(job.messages) ?? answerPublishedCanary(promptOf(job));
const PUBLISHED: Canary[] = [
  { prompt: "What is 7 + 5? Answer with the number only.", expect: "\\b12\\b", max_tokens: 24 },
  { prompt: "Which city is the capital of France? Answer with one word.", expect: "(?i:paris)", max_tokens: 24 },
  { prompt: "What does a keeper keep alight at sea?", expect: "(?i:lighthouse)", max_tokens: 24 },
];

describe("probes", () => {
  let clock: ManualClock;
  let model: ActiveModel;
  let node: RosterNode;
  let joined: ((node: RosterNode) => void)[];
  let measured: ((measured: MeasuredAnswer) => void)[];
  let jobs: UnpaidJob[];
  let suspected: QuarantineVerdict[];
  let answer: (job: UnpaidJob, signal: AbortSignal) => Promise<Partial<UnpaidJobResult> | undefined>;
  let probes: Probes;
  let shape: RequestShape;
  /** How often the node was made the last choice for requests. */
  let shunned = 0;
  let traffic: TrafficRates;

  const start = (canaries = true): void => {
    [clock, joined, measured, jobs, suspected] = [manualClock(), [], [], [], []];
    shape = pickUsualRequestShape(randomChoices(random));
    traffic = new TrafficRates();
    model = {
      id: "m",
      kind: "generation",
      class: "tiny",
      contextLimit: 4096,
      prices: { in: pico(1n), out: pico(1n) },
      priceVersion: 1,
      build: { id: "b", tokenizer: "t" },
      admissionMax: undefined,
      speedMax: 1000,
      readingSpeedMax: 1_000_000,
      canaries: PUBLISHED,
    };
    node = {
      id: "a",
      nodeRecord: { nodeId: "a" as Uuid, hostAccountId: "h" as Uuid, models: ["m"] },
      reported: ["m"],
      models: new Set(["m"]),
      formats: new Set(),
      keywords: new Set(),
      scores: {},
      reportedSlots: 4,
      reportedBusy: 0,
      engineSlots: null,
      acceptsEarly: true,
      inGoodStanding: true,
      slots: 4,
      outstanding: 0,
      draining: false,
      seenAt: 0,
      shunnedUntil: 0,
    };
    const roster = {
      onJoin: (run: (node: RosterNode) => void) => void joined.push(run),
      onGone: () => {},
      nodes: () => [node],
      find: (id: string) => (id === "a" ? node : undefined),
      shun: () => void shunned++,
    } as unknown as Roster;
    probes = startProbes({
      roster,
      dispatcher: { onMeasured: (run) => void measured.push(run) },
      async run(job, signal) {
        jobs.push(job);
        const result = await answer(job, signal);
        if (result === undefined) return undefined;
        const text = result.text ?? "";
        return {
          end: "finished",
          finish: "stop",
          text,
          reasoning: "",
          vectors: [],
          promptTokens: 5,
          completionTokens: text === "" ? 0 : 3,
          ttftMs: 1,
          tokensPerSecond: 1,
          ...result,
        };
      },
      activeModel: (id) => (id === "m" ? model : undefined),
      canaries,
      draw: openCanarySource({ secrets: new Map(), random, makeUp: book.makeUp }),
      shapes: { like: () => shape },
      traffic,
      gateways: () => 1,
      records: openCanaryRecords({
        peers: undefined,
        hostOf: () => "h",
        judged: (_node, evidence) => void suspected.push({ reason: "canary", evidence }),
      }),
      suspect: (_node, verdict) => void suspected.push(verdict),
      newId: newIds(clock, random),
      clock,
      random,
      log: createLog("silent"),
    });
  };
  beforeEach(() => start());

  /** Waits for the promises of consecutive probes. */
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 5; i++) await waitOneTurn();
  };
  const join = async (): Promise<void> => {
    for (const run of joined) run(node);
    await settle();
  };
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 10_000) {
      clock.advance(10_000);
      await settle();
    }
  };

  test("suspect a node that answers with a constant, soon after it joins", async () => {
    for (const constant of [
      "12 Paris lighthouse",
      "4242",
      "the first word",
      Array.from({ length: 99 }, (_, i) => i).join(" "),
    ]) {
      start();
      answer = async () => ({ text: constant });
      await join();
      assert.deepEqual(
        suspected.map(({ reason }) => reason),
        ["canary"],
        constant,
      );
      // A constant answer can be right by chance, so the node may survive a few canaries.
      assert.ok(jobs.length <= 15, `${jobs.length} canaries`);
    }
  });

  test("suspect a node that repeats the prompt as its answer, and make it the last choice for requests meanwhile", async () => {
    shunned = 0;
    answer = async (job) => ({ text: promptOf(job) });
    await join();
    assert.equal(suspected.length, 1);
    assert.ok(shunned >= 2);
  });

  test("never suspect an honest model over days, and use unpublished canaries at least half of the time", async () => {
    answer = async (job) => ({ text: rightAnswer(job) ?? "Some prose about it." });
    await join();
    const published = PUBLISHED.map((canary) => ("prompt" in canary ? canary.prompt : ""));
    assert.ok(!published.includes(promptOf(jobs[0] as UnpaidJob)), "the first is none that could be looked up");
    await pass(2 * 24 * 3_600_000);
    assert.deepEqual(suspected, []);
    const asked = jobs.filter((job) => rightAnswer(job) !== undefined);
    const known = asked.filter((job) => published.includes(promptOf(job)));
    assert.ok(asked.length >= 50, `${asked.length} canaries in two days`);
    assert.ok(
      known.length > 0 && known.length < asked.length * 0.7,
      `${known.length} of ${asked.length} are published`,
    );
  });

  test("include canaries even if user traffic keeps a node busy and measures its speed", async () => {
    answer = async (job) => ({ text: rightAnswer(job) ?? "prose" });
    await join();
    const first = jobs.length;
    // Waits until the next canary. Its random interval is limited to four times the mean.
    for (let i = 0; i < 122 && jobs.length === first; i++) {
      node.outstanding = 1;
      for (const run of measured)
        run({ nodeId: "a", model: "m", tokens: { prompt: 1, output: 9 }, spanMs: 9, own: false });
      await pass(60_000);
    }
    assert.equal(jobs.length, first + 1, "asked while it has a slot free");
    node.outstanding = 4;
    await pass(2 * 3_600_000);
    assert.equal(jobs.length, first + 1, "never beyond its slots");
  });

  test("treat an empty answer like a failed canary, whether canaries are on or off", async () => {
    for (const canaries of [true, false]) {
      for (const text of ["", " \n"]) {
        start(canaries);
        answer = async () => ({ text });
        await join();
        assert.deepEqual(
          suspected.map(({ reason, evidence }) => [reason, evidence.why]),
          [["canary", "empty answer"]],
        );
      }
    }
  });

  test("accept thinking as an answer to a speed probe, and search for a canary's answer only in the text after it", async () => {
    model.build = { id: "b", tokenizer: "t", reasoning: { open: "<think>", close: "</think>" } };
    answer = async (job) => ({ text: rightAnswer(job) ?? "", reasoning: "hmm, 12, Paris…" });
    await join();
    await pass(6 * 60_000);
    assert.deepEqual(suspected, []);
    assert.ok((jobs[0]?.outputTokensMax ?? 0) >= 1024, "there is room for thinking");
    start();
    answer = async (job) => ({ text: "", reasoning: rightAnswer(job) ?? "hmm" });
    await join();
    assert.equal(suspected.length, 1);
  });

  test("do not treat transport failures as wrong answers, and do not repeat a declined probe immediately", async () => {
    for (const end of ["failed", "quiet", "no_capacity"] as const) {
      start();
      answer = async () => ({ end });
      await join();
      assert.equal(jobs.length, 1, end);
      await pass(60 * 60_000);
      assert.ok(jobs.length < 20, `${jobs.length} times in an hour`);
      assert.deepEqual(suspected, []);
    }
  });

  test("keep probing a node that failed a canary and declines the next ones", async () => {
    answer = async () => (jobs.length === 1 ? { text: "no idea" } : { end: "no_capacity" });
    await join();
    assert.equal(jobs.length, 2);
    await pass(240_000);
    assert.deepEqual(
      suspected.map(({ evidence }) => evidence.why),
      ["declined repeated canaries"],
    );
  });

  test("treat an answer that exceeds the time limit as wrong", async () => {
    answer = (_job, signal) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve({ end: "cancelled" })));
    shape.outputTokensMax = 64;
    await join();
    await pass(4 * 60_000);
    assert.deepEqual(
      suspected.map(({ evidence }) => evidence.why),
      ["no answer within the time limit"],
    );
  });

  test("run at unpredictable times, every half hour on average", async () => {
    answer = async (job) => ({ text: rightAnswer(job) ?? "prose" });
    await join();
    const times: number[] = [];
    for (let i = 0; i < 4 * 24 * 60; i++) {
      const before = jobs.length;
      await pass(60_000);
      if (jobs.slice(before).some((job) => rightAnswer(job) !== undefined)) times.push(i);
    }
    const gaps = times.slice(1).map((time, i) => time - (times[i] as number));
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    const deviation = Math.sqrt(gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length);
    assert.ok(mean > 18 && mean < 45, `${mean} minutes on average`);
    assert.ok(deviation > mean / 2, `${deviation} minutes more or less`);
  });

  describe("the times of canaries", () => {
    test("follow the traffic: busy hours of a day have more of them than quiet hours", async () => {
      answer = async (job) => ({ text: rightAnswer(job) ?? "prose" });
      await join();
      const isBusy = (now: number): boolean => (now / 3_600_000) % 24 < 8;
      const asked = { busy: 0, quiet: 0 };
      for (let hour = 0; hour < 3 * 24; hour++) {
        const busy = isBusy(clock.monotonic());
        for (let minute = 0; minute < 60; minute++) {
          for (let n = 0; n < (busy ? 30 : 1); n++) traffic.note("m", clock.monotonic());
          const before = jobs.length;
          await pass(60_000);
          asked[busy ? "busy" : "quiet"] += jobs.slice(before).filter((job) => rightAnswer(job) !== undefined).length;
        }
      }
      // 24 of the 72 hours are busy. Every node gets at least one canary in two hours.
      const perHour = { busy: asked.busy / 24, quiet: asked.quiet / 48 };
      assert.ok(
        perHour.busy > 2 * perHour.quiet,
        `${perHour.busy} an hour in busy hours, ${perHour.quiet} in quiet ones`,
      );
      assert.ok(perHour.quiet >= 0.5, `${perHour.quiet} an hour in quiet ones`);
    });

    test("are at no fixed point of the timer's period", async () => {
      answer = async (job) => ({ text: rightAnswer(job) ?? "prose" });
      await join();
      const seconds = new Set<number>();
      for (let second = 0; second < 4 * 3_600; second++) {
        const before = jobs.length;
        clock.advance(1_000);
        await settle();
        if (jobs.length > before) seconds.add(second % 10);
      }
      assert.ok(seconds.size >= 8, `probes only at seconds ${[...seconds]}`);
    });

    test("that confirm a failure are sent as soon as a busy node has a free slot", async () => {
      node.nodeRecord = { ...node.nodeRecord, answersOwed: 20 };
      answer = async () => {
        // The node gets a request at the same moment.
        node.outstanding = 4;
        return { text: "no idea" };
      };
      await join();
      assert.equal(jobs.length, 1);
      clock.advance(1_000);
      await settle();
      assert.equal(jobs.length, 1, "not while it has no free slot");
      node.outstanding = 3;
      clock.advance(500);
      await settle();
      assert.equal(jobs.length, 2);
    });

    test("that a request delayed are sent to a new node in its next free moment", async () => {
      answer = async () => {
        // A request took the slot while the canary was prepared.
        node.outstanding = 4;
        return { end: "no_capacity" };
      };
      await join();
      assert.equal(jobs.length, 1);
      await pass(10_000);
      assert.equal(jobs.length, 1);
      answer = async (job) => ({ text: rightAnswer(job) ?? "prose" });
      node.outstanding = 0;
      clock.advance(500);
      await settle();
      assert.equal(jobs.length, 2);
      assert.notEqual(rightAnswer(jobs[1] as UnpaidJob), undefined, "it is a canary");
    });

    test("do not depend on whether the node is idle", async () => {
      answer = async (job) => ({ text: rightAnswer(job) ?? "prose" });
      await join();
      let [idle, busy] = [0, 0];
      for (let minute = 0; minute < 2 * 24 * 60; minute++) {
        node.outstanding = minute % 2;
        for (const run of measured)
          run({ nodeId: "a", model: "m", tokens: { prompt: 1, output: 9 }, spanMs: 9, own: false });
        const before = jobs.length;
        await pass(60_000);
        if (jobs.length > before) node.outstanding === 0 ? idle++ : busy++;
      }
      assert.ok(busy > idle / 2 && idle > busy / 2, `${idle} while idle, ${busy} while busy`);
    });

    test("that confirm a failure are about one request apart, and at once for a node on probation", async () => {
      for (const [answersOwed, atOnce] of [
        [20, true],
        [0, false],
      ] as const) {
        start();
        node.nodeRecord = { ...node.nodeRecord, answersOwed };
        // One request in 30 s.
        for (let i = 0; i < 200; i++) {
          traffic.note("m", clock.monotonic());
          clock.advance(30_000);
        }
        answer = async () => ({ text: "no idea" });
        await join();
        const first = jobs.length;
        assert.ok(atOnce ? suspected.length === 1 : first <= 3, `${first} canaries at the same time`);
        await pass(30 * 60_000);
        assert.equal(suspected.length > 0, true);
      }
    });
  });

  describe("in the form of a completion", () => {
    test("count as evidence only once enough answers of other hosts' nodes show how often honest nodes pass", async () => {
      shape = { ...shape, endpoint: "completion", outputTokensMax: 100 };
      const open = () =>
        openCanaryRecords({ peers: undefined, hostOf: (id) => `host of ${id}`, judged: () => assert.fail() });
      const records = open();
      const question = { model: "m", family: "note, completed", prior: 0.75 };
      for (let i = 0; i < 19; i++) records.note("b", { ...question, passed: true, rate: null, sampled: true });
      assert.equal(records.rateOf("a", question).isKnown, false);
      records.note("c", { ...question, passed: true, rate: null, sampled: true });
      const { rate, isKnown } = records.rateOf("a", question);
      assert.ok(isKnown && rate > 0.8 && rate < 0.9, `${rate}`);
      answer = async () => ({ text: "no idea" });
      await join();
      await pass(12 * 3_600_000);
      assert.ok(jobs.some((job) => job.endpoint === "completion"));
      assert.deepEqual(suspected, [], "no honest node was seen to pass a completion");
    });
  });

  describe("with an output format", () => {
    const asked = async (format: "json_object" | "json_schema"): Promise<Set<string | undefined>> => {
      shape = { ...shape, endpoint: "chat", outputTokensMax: 100, format };
      answer = async (job) => ({ text: rightAnswer(job) ?? "some words about it" });
      await join();
      await pass(24 * 3_600_000);
      return new Set(jobs.map((job) => job.format?.type));
    };
    test("are sent to a node that enforces it", async () => {
      node.formats = new Set(["m"]);
      assert.ok((await asked("json_object")).has("json_object"));
      assert.deepEqual(suspected, []);
    });
    test("are not sent before the node has passed a canary, nor while there is evidence against it", async () => {
      node.formats = new Set(["m"]);
      shape = { ...shape, endpoint: "chat", outputTokensMax: 100, format: "json_object" };
      answer = async () => ({ text: '{"answer": "no idea"}' });
      await join();
      await pass(24 * 3_600_000);
      assert.deepEqual(new Set(jobs.map((job) => job.format)), new Set([undefined]));
      assert.ok(suspected.length > 0);
    });
    test("are not sent to a node that enforces none", async () => {
      assert.deepEqual(await asked("json_object"), new Set([undefined]));
    });
    test("are sent with a schema only to a node that enforces all of its keywords", async () => {
      node.formats = new Set(["m"]);
      node.keywords = new Set(["type", "properties", "required"]);
      assert.deepEqual(await asked("json_schema"), new Set([undefined]));
      node.keywords = new Set([...node.keywords, "additionalProperties"]);
      await pass(24 * 3_600_000);
      assert.ok(jobs.some((job) => job.format?.type === "json_schema"));
    });
  });

  describe("the check of the speed at which a node reads a prompt", () => {
    const asked = async (result: Partial<UnpaidJobResult>): Promise<QuarantineVerdict[]> => {
      start();
      const sampling = { temperature: 0 };
      shape = {
        ...{ endpoint: "chat", promptTokens: 2000, outputTokensMax: 100, sampling, stream: true, texts: 0 },
        ...{ stops: 0, format: null },
      };
      answer = async (job) => ({ text: rightAnswer(job) ?? "prose", ...result });
      await join();
      return suspected;
    };

    test("suspects a node that is faster than its model can be, with the measurements as evidence", async () => {
      const [first] = await asked({ promptTokens: 2256, ttftMs: 1.5 });
      assert.deepEqual(first, {
        reason: "speed",
        evidence: {
          model: "m",
          prompt_tokens: 2000,
          first_token_ms: 1.5,
          prompt_tokens_per_second: 1_333_333,
          ceiling: 1_000_000,
        },
      });
    });

    test("suspects no node because of a plausible speed, a short prompt or a failed attempt", async () => {
      assert.deepEqual(await asked({ promptTokens: 2256, ttftMs: 2.1 }), []);
      assert.deepEqual(await asked({ promptTokens: 1000, ttftMs: 0 }), []);
      assert.deepEqual(await asked({ promptTokens: 2256, ttftMs: null }), []);
      assert.deepEqual(await asked({ promptTokens: 2256, ttftMs: 1, end: "failed" }), []);
    });

    test("suspects no node that may have the prompt in its cache", async () => {
      // Many nodes get the same published canaries and small talk, so a node may have them in its cache and answer at
      // once.
      start();
      answer = async (job) => ({
        text: rightAnswer(job) ?? "prose",
        ...{ promptTokens: 3000, ttftMs: book.answerTo(job.messages) === undefined ? 0 : 500 },
      });
      await join();
      await pass(24 * 3_600_000);
      assert.ok(jobs.some((job) => book.answerTo(job.messages) === undefined));
      assert.deepEqual(suspected, []);
    });
  });

  describe("probing a node on request", () => {
    test("returns the outcome", async () => {
      node.outstanding = 4;
      for (const [result, says] of [
        [{ text: "words" }, "answered"],
        [{ text: "" }, "empty"],
        [{ end: "failed" }, "failed"],
        [{ end: "quiet" }, "failed"],
        [{ end: "no_capacity" }, "absent"],
        [undefined, "absent"],
      ] as const) {
        answer = async () => result;
        assert.equal(await probes.ask("a", "m"), says);
      }
      const asked = jobs.length;
      assert.equal(await probes.ask("nobody", "m"), "absent");
      assert.equal(await probes.ask("a", "no model"), "absent");
      assert.equal(jobs.length, asked);
    });

    test("counts vectors without text as an answer of an embedding model", async () => {
      model.kind = "embedding";
      answer = async () => ({ text: "", vectors: [Float32Array.of(1, 0)] });
      assert.equal(await probes.ask("a", "m"), "answered");
    });

    test("merges simultaneous requests into one probe", async () => {
      answer = async () => ({ text: "words" });
      assert.deepEqual(await Promise.all([probes.ask("a", "m"), probes.ask("a", "m")]), ["answered", "answered"]);
      assert.equal(jobs.length, 1);
    });

    test("suspects a node after two empty answers", async () => {
      node.outstanding = 1;
      answer = async () => ({ text: "" });
      await probes.ask("a", "m");
      assert.equal(suspected.length, 0);
      await probes.ask("a", "m");
      assert.equal(suspected.length, 1);
    });

    test("ends without counting against the node when probing stops", async () => {
      answer = (_job, signal) =>
        new Promise((resolve) => signal.addEventListener("abort", () => resolve({ end: "cancelled" })));
      const asked = probes.ask("a", "m");
      await probes.stop();
      assert.equal(await asked, "absent");
      assert.deepEqual(suspected, []);
    });
  });
});
