import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../clock.ts";
import { type StubRequest, sendJson, stubServer, unusedAddress } from "../../testing/stub-http.ts";
import { GatewayRefusal, GatewayUnreachable } from "./call-gateway.ts";
import { gatewayClient } from "./gateway-client.ts";

const token = "tht_live_abc_def";

test("sends the token with every call and parses the answer", async (t) => {
  const seen: [string, string, unknown][] = [];
  const url = await stubServer(t, (request: StubRequest, response) => {
    assert.equal(request.headers.authorization, `Bearer ${token}`);
    seen.push([request.method, request.path, request.body === "" ? undefined : JSON.parse(request.body)]);
    const node = { id: "node_1", object: "node", name: "box", state: "registered", more: 1 };
    if (request.path.endsWith("/credentials"))
      sendJson(response, { plane_url: "nats://h:1", jwt: "j", seed: "S", expires_at: 1000, subjects: {}, builds: [] });
    else if (request.method === "GET" && request.path === "/node/v1/nodes")
      sendJson(response, { object: "list", data: [node], next_cursor: "n/2" });
    else if (request.method === "GET")
      sendJson(response, { object: "list", data: [{ ...node, id: "node_2" }], next_cursor: null });
    else sendJson(response, node, request.method === "POST" ? 201 : 200);
  });
  const gateway = gatewayClient({ gateway: `${url}/v1/`, token });
  assert.equal((await gateway.register({ name: "box", hardware: { cores: 2 }, agent: "a/1" })).id, "node_1");
  assert.deepEqual(
    (await gateway.nodes()).map(({ id }) => id),
    ["node_1", "node_2"],
  );
  await gateway.elect("node_1", ["tiny-3b"]);
  const credentials = await gateway.credentials("node_1");
  assert.deepEqual(credentials, { url: "nats://h:1", jwt: "j", seed: "S", expiresAt: 1_000_000 });
  assert.deepEqual(seen, [
    ["POST", "/node/v1/nodes", { name: "box", hardware: { cores: 2 }, agent: "a/1" }],
    ["GET", "/node/v1/nodes", undefined],
    ["GET", "/node/v1/nodes?cursor=n%2F2", undefined],
    ["PUT", "/node/v1/nodes/node_1/elections", { models: ["tiny-3b"] }],
    ["POST", "/node/v1/nodes/node_1/credentials", {}],
  ]);
});

test("pings without a token and returns the gateway's time", async (t) => {
  const date = "Sun, 15 Nov 2026 06:50:22 GMT";
  const url = await stubServer(t, (request, response) => {
    assert.equal(request.headers.authorization, undefined);
    sendJson(response, { object: "list", payout_share: 0.7, data: [] }, 200, { date });
  });
  const { elapsedMs, serverTimeMs } = await gatewayClient({ gateway: url, token }).ping(systemClock);
  assert.equal(serverTimeMs, Date.parse(date));
  assert.ok(elapsedMs > 0);
});

test("reports a refused call with status, code and message in one line", async (t) => {
  const error = { message: "The node is\n  quarantined.", type: "node_quarantined", code: "node_quarantined" };
  const url = await stubServer(t, (_request, response) => sendJson(response, { error }, 409));
  await assert.rejects(gatewayClient({ gateway: url, token }).credentials("node_1"), (thrown) => {
    assert.ok(thrown instanceof GatewayRefusal);
    const { status, code, message } = thrown;
    assert.deepEqual([status, code, message], [409, "node_quarantined", "The node is quarantined."]);
    return true;
  });
});

test("if the response to a refused call has no error body, reports only its status", async (t) => {
  const url = await stubServer(t, (_request, response) => {
    response.writeHead(502);
    response.end("<html>bad gateway</html>");
  });
  await assert.rejects(gatewayClient({ gateway: url, token }).nodes(), { name: "GatewayRefusal", status: 502 });
});

const unreachable = (gateway: string) => (thrown: unknown) => {
  assert.ok(thrown instanceof GatewayUnreachable && thrown.message.includes(gateway), String(thrown));
  return true;
};

test("reports a closed port, or a server that is not a gateway, as unreachable, with the address", async (t) => {
  const dead = await unusedAddress();
  const web = await stubServer(t, (_request, response) => response.end("<html>"));
  for (const gateway of [dead, web]) {
    await assert.rejects(gatewayClient({ gateway, token }).nodes(), unreachable(gateway));
  }
});

test("reports a gateway that does not answer within the time limit as unreachable", async (t) => {
  const timeouts: number[] = [];
  const limit = new AbortController();
  t.mock.method(AbortSignal, "timeout", (ms: number) => {
    timeouts.push(ms);
    return limit.signal;
  });
  const gateway = await stubServer(t, () => limit.abort(new DOMException("too slow", "TimeoutError")));
  const timeoutMs = 300;
  const asked = gatewayClient({ gateway, token, timeoutMs }).nodes();
  await assert.rejects(asked, unreachable(gateway));
  await assert.rejects(asked, /did not answer in time/);
  assert.deepEqual(timeouts, [timeoutMs]);
});

test("stops reading an answer that does not end", async (t) => {
  const url = await stubServer(t, (_request, response) => {
    response.writeHead(200);
    const more = (): void => {
      if (!response.destroyed) response.write("x".repeat(65536), () => setImmediate(more));
    };
    more();
  });
  await assert.rejects(gatewayClient({ gateway: url, token }).nodes(), GatewayUnreachable);
});

test("accepts an older gateway's answers without newer fields, and refuses fields of a wrong type", async (t) => {
  let answer: object = {};
  const url = await stubServer(t, (_request, response) => sendJson(response, answer));
  const gateway = gatewayClient({ gateway: url, token });
  answer = { id: "node_1", name: "box" };
  assert.deepEqual(await gateway.node("node_1"), { ...answer, state: "unknown", models: [] });
  const today = { requests: 1, prompt_tokens: 2, completion_tokens: 3, earned_micro: "4.000000" };
  const stats = { state: "online", connected: true, models: [], today };
  answer = { ...stats, newer: 1 };
  assert.deepEqual(await gateway.stats("node_1"), answer);
  for (const wrong of [
    { today: undefined },
    { today: { ...today, earned_micro: 4 } },
    { models: [{ model: "tiny-3b", ttft_p50_ms: "fast", tps_p50: null }] },
    { reliability: { jobs: "many" } },
    { quarantine: {} },
    { slots: "all" },
  ]) {
    answer = { ...stats, ...wrong };
    await assert.rejects(gateway.stats("node_1"), /is not a Tollgate gateway/, JSON.stringify(wrong));
  }
});
