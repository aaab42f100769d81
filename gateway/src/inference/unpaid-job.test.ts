/** The platform's own jobs look like requests of users, and their output ends where that of users would. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { pico } from "../base/money.ts";
import type { DispatchRequest } from "../dispatch/dispatch-request.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { ActiveModel } from "../metering/catalogue.ts";
import type { TokenMeter } from "../metering/token-meter.ts";
import { runUnpaidJob, type UnpaidJob } from "./unpaid-job.ts";

const MODEL = {
  ...{ id: "m", kind: "generation", class: "tiny", contextLimit: 4096, priceVersion: 1, speedMax: 1000 },
  ...{ prices: { in: pico(1n), out: pico(1n) }, build: { id: "b", tokenizer: "words" }, canaries: [] },
} as unknown as ActiveModel;
const meter: TokenMeter = {
  tokenizer: "words",
  tokenizerSha256: "",
  countPrompt: async () => ({ tokens: 5, over: null }),
  openOutput: () => ({
    full: false,
    push: (_channel, text) => text,
    end: () => ({ answerTokens: 1, reasoningTokens: 0 }),
  }),
};

describe("a job of the platform's own", () => {
  const run = async (job: Partial<UnpaidJob>, model: ActiveModel = MODEL) => {
    const orders: DispatchRequest[] = [];
    const dispatcher = {
      measured() {},
      async runOn(nodeId: string, order: DispatchRequest, sink: Parameters<Dispatcher["runOn"]>[2]) {
        orders.push(order);
        sink.begin(nodeId);
        const end = sink.delta("answer", "12 ENDS HERE and goes on") === "enough" ? "enough" : "finished";
        return { end, finish: "stop", server: null, attempts: 1, queueMs: 0, ttftMs: 0, pace: null };
      },
    } as unknown as Dispatcher;
    const asked = { id: "0".repeat(32) as UnpaidJob["id"], nodeId: "node", model, texts: [], outputTokensMax: 9 };
    const messages = [{ role: "user", content: "7 + 5?" }];
    const result = await runUnpaidJob({ dispatcher, meter: () => meter }, { ...asked, messages, ...job }, {
      aborted: false,
    } as AbortSignal);
    const [order] = orders;
    if (order === undefined) assert.fail("the job was not dispatched");
    return { result, order };
  };

  test("sends its stop strings to the node, and its output ends before them", async () => {
    const { result, order } = await run({ sampling: { stop: ["END"] } });
    assert.deepEqual([result?.text, result?.finish], ["12 ", "stop"]);
    assert.deepEqual(order.header.sampling, { stop: ["END"] });
  });

  test("sends no stop strings to a model that thinks, as for requests", async () => {
    const build = { ...MODEL.build, reasoning: { open: "<think>", close: "</think>" } };
    const { result, order } = await run({ sampling: { stop: ["END"] } }, { ...MODEL, build } as ActiveModel);
    assert.deepEqual([result?.text, order.header.sampling], ["12 ", {}]);
  });

  test("sends its output format in the body, and is dispatched as a request with a format", async () => {
    const format = { type: "json_object" } as const;
    for (const endpoint of ["chat", "completion"] as const) {
      const { order } = await run({ endpoint, format });
      assert.deepEqual([order.formatted, (order.body as { format?: object }).format], [true, format]);
    }
    const { order } = await run({});
    assert.deepEqual([order.formatted, order.body], [false, { messages: [{ role: "user", content: "7 + 5?" }] }]);
  });
});
