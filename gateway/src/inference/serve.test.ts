/** What one request costs, by how it ended: of an answer that we break off, only what reached the client. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { newIds } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { pico } from "../base/money.ts";
import { systemRandom } from "../base/random.ts";
import { manualClock } from "../base/testing.ts";
import { noTracing } from "../base/tracing.ts";
import type { DispatchResult } from "../dispatch/dispatcher.ts";
import type { DispatchSink } from "../dispatch/order.ts";
import type { Settlement } from "../ledger/settlement.ts";
import { memoryLimits } from "../limits/memory.ts";
import { chat } from "../routes/openai/chat.ts";
import type { Call } from "./call.ts";
import type { Gateway } from "./gateway.ts";
import { serve } from "./serve.ts";
import { openTelling } from "./story.ts";
import { UnderWay } from "./under-way.ts";

const newId = newIds(systemClock, systemRandom());
const PROMPT_TOKENS = 7;
const PRICES = { in: pico(10n), out: pico(1_000n) };
/** Thinking that is kept for the end, and an answer that is streamed: one token a character. */
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

/** Serves one streamed request whose node thinks, begins to answer, and ends so; what is settled, and what the client got. */
async function served(end: DispatchResult["end"] | "stopped"): Promise<{ settled: Settlement; events: string[] }> {
  const clock = manualClock();
  const log = createLog("silent");
  const settled: Settlement[] = [];
  const events: string[] = [];
  const server = { nodeId: newId(), hostAccountId: newId() };
  const gateway = {
    ...{ clock, log, limits: memoryLimits({ clock }), underWay: new UnderWay() },
    telling: openTelling({ log, clock, tracing: noTracing }),
    keys: { authenticate: async () => ({ id: newId(), accountId: newId(), name: "k", models: null, own: {} }) },
    catalogue: () => ({ active: new Map([["m", MODEL]]) }),
    meter: () => METER,
    leases: { keep: () => () => {} },
    watch: { ended() {}, withheld() {} },
    checks: { draws: () => false },
    ledger: {
      hasCredit: () => true,
      hold: async () => ({ kind: "held" }),
      secure: async (settlement: Settlement) => void settled.push(settlement),
    },
    dispatcher: {
      slots: () => 1,
      speedOf: () => ({ ttftMs: null }),
      measured() {},
      async run(_order: object, sink: DispatchSink) {
        sink.begin("node_a");
        sink.delta("reasoning", THINKING);
        sink.delta("answer", ANSWER);
        if (end === "finished") sink.finished();
        // As the dispatcher sees it, a gateway that stops is a client that left.
        if (end === "stopped") gateway.underWay.stop();
        const told = end === "stopped" ? "cancelled" : end;
        return { end: told, finish: null, server, attempts: 1, queueMs: 1, ttftMs: 2, pace: null };
      },
    },
  };
  const body = { model: "m", stream: true, max_tokens: 50, messages: [{ role: "user", content: "?" }] };
  const call = {
    ...{ id: newId(), arrivedAt: 0, headers: {}, client: "test", sdk: null, gone: new AbortController().signal },
    checkDeclaredLength() {},
    readBody: () => ({ isSmall: true, json: () => body }),
    reply: {
      setHeaders() {},
      openStream() {},
      event: (data: string) => void events.push(data),
      endStream() {},
      failStream() {},
    },
  };
  await serve(gateway as unknown as Gateway, chat, call as unknown as Call);
  assert.equal(settled.length, 1);
  return { settled: settled[0] as Settlement, events };
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
  test(`bills ${billed === ALL ? "thinking and answer" : "no thinking that the client did not see"} when a stream ends as ${end}`, async () => {
    const { settled, events } = await served(end);
    const output = billed.thinking + billed.answer;
    assert.deepEqual([settled.reasoningTokens, settled.completionTokens], [billed.thinking, output]);
    assert.equal(settled.charge, BigInt(PROMPT_TOKENS) * PRICES.in + BigInt(output) * PRICES.out);
    assert.equal(events.join("").includes(THINKING), end === "finished", "thinking comes with the end of the stream");
  });
}
