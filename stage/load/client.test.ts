/** Tests that the load client reports correctly every way in which a request can end. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { sendAndObserve } from "./client.ts";
import { describeEnd, type PlannedRequest } from "./observation.ts";

const chunk = (content: string): string => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;
const STALL = `data: ${JSON.stringify({ error: { code: "upstream_stall" } })}\n\n`;
const USAGE = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 9, completion_tokens: 2 } })}\n\n`;
const DONE = "data: [DONE]\n\n";

const ways: Record<string, (response: ServerResponse) => void> = {
  whole: (response) =>
    response.end(
      JSON.stringify({
        choices: [{ message: { content: "time people" } }],
        usage: { prompt_tokens: 9, completion_tokens: 2 },
      }),
    ),
  refusal: (response) => response.writeHead(503).end(JSON.stringify({ error: { code: "no_capacity" } })),
  balancer: (response) =>
    response.writeHead(502, { "x-balancer": "the gateway broke off" }).end("the gateway broke off"),
  stream: (response) => response.end(chunk("time") + chunk(" people") + USAGE + DONE),
  event: (response) => {
    response.write(chunk("time") + STALL, () => response.destroy());
  },
  closed: (response) => response.end(chunk("time")),
  cut: (response) => {
    response.write(chunk("time"), () => response.destroy());
  },
  silent: () => {},
};

const errand = (stream: boolean, hangUpAfterMs: number | null = null): PlannedRequest => ({
  ...{ kind: "chat", endpoint: "chat", account: "a", model: "m", stream, cap: 1, text: "time people" },
  ...{ hangUpAfterMs, isPoor: false },
});

describe("load client", () => {
  const server = createServer((request, response) => {
    response.setHeader("x-request-id", "req_1");
    ways[(request.url ?? "").slice(1)]?.(response);
  });
  before(async () => {
    await once(server.listen(0, "127.0.0.1"), "listening");
  });
  after(() => {
    server.close();
    server.closeAllConnections();
  });
  const ask = (way: string, what: PlannedRequest) => {
    const { port } = server.address() as AddressInfo;
    return sendAndObserve(what, { port, method: "GET", path: `/${way}`, headers: {} }, () => 0);
  };

  for (const [way, stream, answer, received] of [
    ["whole", false, "ok", "time people"],
    ["refusal", false, "503 no_capacity", ""],
    ["refusal", true, "503 no_capacity", ""],
    ["balancer", false, "connection lost", ""],
    ["stream", true, "ok", "time people"],
    ["event", true, "event upstream_stall", "time"],
    ["closed", true, "connection lost", "time"],
    ["cut", true, "connection lost", "time"],
  ] as const) {
    test(`reports ${answer} for the ${stream ? "streamed" : "plain"} response "${way}"`, async () => {
      const sight = await ask(way, errand(stream));
      assert.deepEqual([describeEnd(sight), sight.received, sight.requestId], [answer, received, "req_1"]);
      assert.deepEqual(sight.usage, answer === "ok" ? { prompt: 9, completion: 2 } : null);
    });
  }

  test("reports no error when the plan makes the client disconnect", async () => {
    const sight = await ask("silent", errand(true, 20));
    assert.deepEqual([sight.end, describeEnd(sight), sight.requestId], ["hung up", "ok", null]);
  });
});
