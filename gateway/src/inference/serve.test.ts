/**
 * The charge of a request by its ending. An answer that the gateway breaks off costs only the output that reached the
 * client.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { newIds } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { pico } from "../base/money.ts";
import { systemRandom } from "../base/random.ts";
import { type ManualClock, manualClock, waitOneTurn } from "../base/testing.ts";
import { noTracing } from "../base/tracing.ts";
import type { DispatchRequest, DispatchSink } from "../dispatch/dispatch-request.ts";
import type { DispatchResult } from "../dispatch/dispatch-result.ts";
import type { Settlement } from "../ledger/settlement-sql.ts";
import { openMemoryLimits } from "../limits/in-memory-limits.ts";
import type { Limits } from "../limits/limits.ts";
import { chat } from "../routes/openai/chat.ts";
import type { Call } from "./call-interface.ts";
import { InFlightRequests } from "./in-flight.ts";
import { openRequestLogger } from "./request-log.ts";
import type { AnswerToSpotCheck, RequestPathDependencies } from "./request-path-dependencies.ts";
import { openRequestWaits } from "./request-waits.ts";
import { serveRequest } from "./serve.ts";

const newId = newIds(systemClock, systemRandom());
const KEY_ID = newId();
const PROMPT_TOKENS = 7;
const PRICES = { in: pico(10n), out: pico(1_000n) };
/**
 * The answer of the fake node: thinking, which is sent at the end, and a streamed answer, with one token per character.
 */
const [THINKING, ANSWER] = ["hmm, let me see", "yes"];

const MODEL = {
  ...{ id: "m", kind: "generation", class: "tiny", contextLimit: 100, prices: PRICES, priceVersion: 1, speedMax: 1000 },
  build: { id: "b", tokenizer: "characters", reasoning: { open: "<think>", close: "</think>" } },
};

const METER = {
  tokenizer: "characters",
  tokenizerSha256: "",
  countPrompt: async () => ({ tokens: PROMPT_TOKENS, over: null }),
  openOutput() {
    const tokens = { answer: 0, reasoning: 0 };
    return {
      full: false,
      push(channel: "answer" | "reasoning", text: string) {
        tokens[channel] += text.length;
        return text;
      },
      end: () => ({ answerTokens: tokens.answer, reasoningTokens: tokens.reasoning }),
    };
  },
};

/** Options of the fake environment, which by default answers at once. */
interface Around {
  clock?: ManualClock;
  /** Resolve when the key is found, and when the account's credit is known. */
  keyFound?: Promise<void>;
  creditKnown?: Promise<void>;
  limits?: Limits;
  /** Called when the hold is released without a charge. */
  voided?: () => void;
  /** The result of the hold, once the database commits it. */
  held?: Promise<{ kind: string }>;
  secured?: Promise<void>;
  /** Called when the job is offered to a node. */
  offered?: (order: DispatchRequest) => void;
  /** Called with the body of an unstreamed answer. */
  answered?: (body: string) => void;
  /** How many milliseconds the output takes; the model's usual speed is 60 tokens per second. */
  outputMs?: number;
  /** If set, the answer is drawn for a spot check, and this is called with it. */
  checked?: (answer: AnswerToSpotCheck) => void;
  /** Whether the key allows spot checks. */
  spotChecks?: boolean;
  /** The node's output, and the request's stop string. */
  output?: { thinking: string; answer: string };
  stop?: string;
}

/** Serves one request that ends like this. Returns the settlement and the streamed text. */
async function served(
  end: DispatchResult["end"] | "stopped",
  around: Around = {},
): Promise<{ settled: Settlement | undefined; events: string[] }> {
  const {
    held,
    secured,
    offered = () => {},
    answered,
    outputMs = 0,
    checked,
    spotChecks = true,
    output,
    stop,
  } = around;
  const { clock = manualClock(), keyFound, creditKnown, voided = () => {} } = around;
  const { limits = openMemoryLimits({ clock }) } = around;
  const log = createLog("silent");
  const settled: Settlement[] = [];
  const events: string[] = [];
  const server = { nodeId: newId(), hostAccountId: newId() };
  const gateway = {
    ...{ clock, log, limits, inFlight: new InFlightRequests(), requestWaits: openRequestWaits({ clock, log }) },
    requestLogger: openRequestLogger({ log, clock, tracing: noTracing }),
    keys: {
      async authenticate() {
        await keyFound;
        return { id: KEY_ID, accountId: newId(), name: "k", models: null, own: {}, spotChecks };
      },
    },
    catalogue: () => ({ active: new Map([["m", MODEL]]) }),
    meter: () => METER,
    leases: { keep: () => () => {} },
    watch: { ended() {}, withheld() {} },
    checks: { draws: () => checked !== undefined, check: (answer: AnswerToSpotCheck) => checked?.(answer) },
    ledger: {
      hasCredit: () => creditKnown?.then(() => true) ?? true,
      hold: async () => (await held) ?? { kind: "held" },
      void: async () => voided(),
      async secure(settlement: Settlement) {
        settled.push(settlement);
        await secured;
      },
    },
    dispatcher: {
      slots: () => 1,
      speedOf: () => ({ ttftMs: null, tokensPerSecond: 60 }),
      measured() {},
      async run(order: DispatchRequest, sink: DispatchSink) {
        offered(order);
        sink.begin("node_a");
        const { thinking, answer } = output ?? { thinking: THINKING, answer: ANSWER };
        if (thinking !== "") sink.delta("reasoning", thinking);
        if (answer !== "") sink.delta("answer", answer);
        if (end === "finished") sink.finished();
        // When the gateway stops, the dispatcher only sees a cancelled request, as when the client disconnects.
        if (end === "stopped") gateway.inFlight.stop();
        const told = end === "stopped" ? "cancelled" : end;
        const pace = { nodeId: "node_a", ttftMs: 2, spanMs: 2 + outputMs, outputMs };
        return { end: told, finish: null, server, attempts: 1, queueMs: 1, ttftMs: 2, pace };
      },
    },
  };
  const body = {
    model: "m",
    stream: answered === undefined,
    max_tokens: 50,
    ...(stop !== undefined && { stop }),
    messages: [{ role: "user", content: "?" }],
  };
  const call = {
    ...{
      id: newId(),
      arrivedAt: 0,
      headers: {},
      client: "test",
      sdk: null,
      cancelSignal: new AbortController().signal,
    },
    checkDeclaredLength() {},
    readBody: () => ({ isSmall: true, json: () => body }),
    reply: {
      setHeaders() {},
      openStream() {},
      event: (data: string) => void events.push(data),
      endStream() {},
      failStream() {},
      json: (_status: number, text: string) => answered?.(text),
    },
  };
  await serveRequest(gateway as unknown as RequestPathDependencies, chat, call as unknown as Call);
  assert.ok(settled.length <= 1);
  return { settled: settled[0], events };
}

const ALL = { thinking: THINKING.length, answer: ANSWER.length };
const SEEN = { thinking: 0, answer: ANSWER.length };

for (const [end, billed] of [
  ["cut", SEEN],
  ["broken", SEEN],
  ["stopped", SEEN],
  ["finished", ALL],
  ["failed", ALL],
  ["quiet", ALL],
  ["cancelled", ALL],
] as const) {
  test(`serve bills ${billed === ALL ? "thinking and answer" : "no thinking that the client did not see"} when a stream ends as ${end}`, async () => {
    const { settled, events } = await served(end);
    assert.ok(settled !== undefined);
    const output = billed.thinking + billed.answer;
    assert.deepEqual([settled.reasoningTokens, settled.completionTokens], [billed.thinking, output]);
    assert.equal(settled.charge, BigInt(PROMPT_TOKENS) * PRICES.in + BigInt(output) * PRICES.out);
    assert.equal(events.join("").includes(THINKING), end === "finished", "thinking comes with the end of the stream");
  });
}

test("serve bills a very slow answer whose client disconnected, and withholds the host's share", async () => {
  const tokens = THINKING.length + ANSWER.length;
  const charge = BigInt(PROMPT_TOKENS) * PRICES.in + BigInt(tokens) * PRICES.out;
  for (const [outputMs, reason] of [
    [(tokens - 1) * 500, undefined],
    [tokens * 1_900, "node_silent"],
  ] as const) {
    const { settled } = await served("cancelled", { outputMs });
    assert.deepEqual([settled?.withheld?.reason, settled?.charge], [reason, charge]);
    assert.equal(settled?.paidHostId === null, reason !== undefined);
  }
  const { settled } = await served("finished", { outputMs: tokens * 1_900 });
  assert.equal(settled?.withheld, undefined, "its client waited for it");
});

const checkedOf = async (...[end, around]: Parameters<typeof served>): Promise<AnswerToSpotCheck[]> => {
  const checked: AnswerToSpotCheck[] = [];
  await served(end, { ...around, checked: (answer) => checked.push(answer) });
  return checked;
};

test("serve spot-checks a sampled answer if its node is paid for it, even if the client disconnected before the end", async () => {
  const [whole] = await checkedOf("finished");
  assert.deepEqual([whole?.completionTokens, whole?.outputTokensMax], [THINKING.length + ANSWER.length, 50]);
  const [left] = await checkedOf("cancelled");
  const { completionTokens = 0, outputTokensMax, nodeId = "" } = left ?? {};
  assert.equal(completionTokens, THINKING.length + ANSWER.length);
  assert.equal(outputTokensMax, completionTokens, "the client ended it, not the node");
  assert.match(nodeId, /^node_/);
  assert.deepEqual(await checkedOf("cancelled", { outputMs: 60_000 }), [], "its share is withheld");
  for (const end of ["failed", "quiet", "broken", "cut", "stopped"] as const)
    assert.deepEqual(await checkedOf(end), []);
});

test("serve never spot-checks answers of a key that opted out, and sends its requests only to proven nodes", async () => {
  for (const spotChecks of [true, false]) {
    const orders: DispatchRequest[] = [];
    const checked = await checkedOf("finished", { spotChecks, offered: (order) => orders.push(order) });
    assert.deepEqual([checked.length, orders.map(({ proven }) => proven)], spotChecks ? [1, [false]] : [0, [true]]);
  }
});

test("serve spot-checks an answer without a token if its node is paid for the prompt", async () => {
  const nothing = { thinking: "", answer: "" };
  const stopped = await checkedOf("enough", { output: { thinking: "", answer: "END" }, stop: "END" });
  assert.deepEqual(
    stopped.map(({ completionTokens, text }) => [completionTokens, text]),
    [[0, ""]],
  );
  const confirmed = await checkedOf("empty", { output: nothing });
  assert.equal(confirmed.length, 1, "two hosts may agree on an empty answer");
  assert.deepEqual(await checkedOf("unconfirmed", { output: nothing }), []);
  assert.deepEqual(await checkedOf("cancelled", { output: nothing }), [], "its node had not answered yet");
});

test("serve offers a job only after its hold is committed, and answers the client only after its settlement is committed", async () => {
  const [held, secured] = [Promise.withResolvers<{ kind: string }>(), Promise.withResolvers<void>()];
  const seen: string[] = [];
  const end = served("finished", {
    held: held.promise,
    secured: secured.promise,
    offered: () => seen.push("offered"),
    answered: (body) => seen.push(JSON.parse(body).choices[0].message.content),
  });
  for (let turns = 0; turns < 3; turns++) await waitOneTurn();
  assert.deepEqual(seen, []);
  held.resolve({ kind: "held" });
  for (let turns = 0; turns < 3; turns++) await waitOneTurn();
  assert.deepEqual(seen, ["offered"]);
  secured.resolve();
  await end;
  assert.deepEqual(seen, ["offered", ANSWER]);
});

test("serve offers no job if the hold is refused", async () => {
  const seen: string[] = [];
  const refused = served("finished", {
    held: Promise.resolve({ kind: "ended" }),
    offered: () => seen.push("offered"),
    answered: () => seen.push("answered"),
  });
  await assert.rejects(refused, /was used before/);
  await waitOneTurn();
  assert.deepEqual(seen, []);
});

test("serve refuses a request within 5 s if its key, credit and hold each arrive in less but not together, and gives back hold and limits", async () => {
  const clock = manualClock();
  const limits = openMemoryLimits({ clock });
  const seen: string[] = [];
  const [keyFound, creditKnown] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const held = Promise.withResolvers<{ kind: string }>();
  const refused = served("finished", {
    ...{ clock, limits, keyFound: keyFound.promise, creditKnown: creditKnown.promise, held: held.promise },
    offered: () => seen.push("offered"),
    voided: () => seen.push("voided"),
  });
  refused.catch(() => seen.push("refused"));
  const pass = async (ms: number): Promise<void> => {
    for (let turns = 0; turns < 3; turns++) await waitOneTurn();
    clock.advance(ms);
  };
  await pass(1_800);
  keyFound.resolve();
  await pass(1_800);
  creditKnown.resolve();
  await pass(399);
  await pass(0);
  assert.deepEqual(seen, []);
  await pass(1_001);
  await pass(0);
  assert.deepEqual(seen, ["refused"]);
  await assert.rejects(refused, /took over 4 s together/);
  held.resolve({ kind: "held" });
  await pass(0);
  assert.deepEqual(seen, ["refused", "voided"]);
  const { admitted } = await limits.enter(KEY_ID, "next", { requestsPerMinute: 9, tokensPerMinute: 99, inFlight: 1 });
  assert.equal(admitted, true, "the refused request is no longer in flight");
});

test("serve answers within 5 s if the limits server answers each command just in time, and gives back the limits afterwards", async () => {
  const clock = manualClock();
  const limits = openMemoryLimits({ clock });
  const commandMs = 1_400;
  const late = (): Promise<void> => new Promise((resolve) => clock.after(commandMs, resolve));
  const slow: Limits = {
    ...limits,
    enter: (...asked) => late().then(() => limits.enter(...asked)),
    enterModel: (...asked) => late().then(() => limits.enterModel(...asked)),
    leave: (...left) => late().then(() => limits.leave(...left)),
    leaveModel: (...left) => late().then(() => limits.leaveModel(...left)),
  };
  const began = clock.monotonic();
  let answeredMs: number | undefined;
  const answered = (): void => {
    answeredMs = clock.monotonic() - began;
  };
  const end = served("finished", { clock, limits: slow, answered });
  while (clock.monotonic() < began + 5 * commandMs) {
    for (let turns = 0; turns < 3; turns++) await waitOneTurn();
    clock.advance(100);
  }
  await end;
  assert.ok(answeredMs !== undefined && answeredMs <= 5_000, `answered after ${answeredMs} ms`);
  const only = { requestsPerMinute: 9, tokensPerMinute: 99, inFlight: 1 };
  const next = await limits.enter(KEY_ID, "next", only);
  assert.equal(next.admitted, true, "the answered request is no longer in flight");
  assert.ok(next.standing.remainingTokens < only.tokensPerMinute, "its tokens are counted");
  assert.equal(await limits.enterModel("m", "next", 1), true, "its place on the model is free");
});
