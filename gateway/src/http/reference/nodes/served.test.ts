/**
 * The node API as it is served, held against its document: every operation is called, every answer is what the document
 * says, and every refusal that the document lists is met.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { publicId, type Uuid } from "../../../base/ids.ts";
import type { PrivateResult } from "../../../inference/private-job.ts";
import { type Endpoint, operationsOf } from "../openapi.ts";
import { openPlatform, serveRequest, type TestPlatform } from "../testing/platform.ts";
import { Witness } from "../testing/witness.ts";
import { nodeApi } from "./api.ts";

const document = nodeApi();
const endpoints = operationsOf(document);
const witness = new Witness(document);
const CREDENTIALS = { url: "nats://plane.test:4222", jwt: "a.jwt", seed: "SU", expiresAt: 1_900_000_000_000 };
const RESULT: PrivateResult = {
  end: "finished",
  finish: "stop",
  text: "Hello.",
  reasoning: "So.",
  vectors: [],
  promptTokens: 9,
  completionTokens: 2,
  ttftMs: 181.25,
  tokensPerSecond: null,
};

let platform: TestPlatform;
let token: string;
let host: Uuid;
let node: string;
let request: string;
before(async () => {
  platform = await openPlatform();
  const { accountIds } = await platform.person([{ kind: "builder" }, { kind: "host" }]);
  const [builder, own] = accountIds as [Uuid, Uuid];
  host = own;
  token = (await platform.hostTokens.issue(host, "a token")).token;
  node = await registered("a node", ["tiny-3b"]);
  const { id: nodeId } = (await platform.fleet.list(host, { limit: 1 }))[0] as { id: Uuid };
  const { id: keyId } = await platform.apiKeys.issue(builder, "a key");
  request = await serveRequest(platform, { builder, keyId, host, nodeId });
});
after(() => platform.close());

async function registered(name: string, models: string[] = []): Promise<string> {
  const { id } = await platform.fleet.register(host, { name, hardware: {}, agent: "" });
  if (models.length > 0) await platform.fleet.elect(host, id, models);
  return publicId("node", id);
}

interface Call {
  body?: unknown;
  headers?: Record<string, string>;
}

async function send(status: number, method: string, path: string, { body, headers }: Call = {}) {
  const url = `/node/v1${path}`;
  const {
    statusCode,
    headers: given,
    payload,
  } = await platform.app.inject({
    method: method as "GET",
    url,
    headers: { authorization: `Bearer ${token}`, ...headers },
    ...(body !== undefined && { payload: JSON.stringify(body) }),
  });
  witness.take(method, url, { status: statusCode, headers: given, text: payload });
  assert.equal(statusCode, status, payload);
  return JSON.parse(payload) as Record<string, unknown>;
}

const pathOf = ({ path }: Endpoint, id: string): string => path.replace("/node/v1", "").replace("{id}", id);
const isOfNode = ({ path }: Endpoint): boolean => path.includes("/nodes/{id}");
const exampleOf = ({ operation }: Endpoint) =>
  operation.requestBody?.content["application/json"]?.examples?.example?.value;

describe("what everybody is refused for", () => {
  test("without a good token", async () => {
    for (const endpoint of endpoints) {
      const headers = { authorization: "Bearer tht_live_none" };
      await send(401, endpoint.method.toUpperCase(), pathOf(endpoint, node), { headers });
    }
  });

  test("for naming what is not there", async () => {
    const other = publicId("node", platform.newId());
    for (const endpoint of endpoints.filter(isOfNode)) {
      await send(404, endpoint.method.toUpperCase(), pathOf(endpoint, other), { body: exampleOf(endpoint) });
    }
    await send(404, "GET", `/requests/${publicId("req", platform.newId())}/receipt`);
  });

  test("for a body that is wrong", async () => {
    for (const endpoint of endpoints.filter(({ operation }) => operation.requestBody !== undefined)) {
      const [method, path] = [endpoint.method.toUpperCase(), pathOf(endpoint, node)];
      await send(400, method, path, { body: [] });
      await send(413, method, path, { body: {}, headers: { "content-length": "11000000" } });
      await send(415, method, path, { body: {}, headers: { "content-encoding": "gzip" } });
    }
  });
});

describe("what they are answered", () => {
  test("nodes, from registration to retirement", async () => {
    const { id } = await send(200, "POST", "/nodes", {
      body: { name: "new", hardware: { gpu: "none" }, agent: "a/1" },
    });
    await send(200, "PUT", `/nodes/${id}/elections`, { body: { models: ["tiny-3b", "reason-32b", "embed-m3"] } });
    await send(400, "PUT", `/nodes/${id}/elections`, { body: { models: ["large-70b"] } });
    platform.world.connected.add(String(id));
    assert.equal((await send(200, "GET", `/nodes/${id}`)).state, "online");
    for (const move of ["pause", "resume"]) await send(200, "POST", `/nodes/${id}/${move}`);
    await send(200, "GET", `/nodes/${id}/stats`);
    await send(200, "GET", `/nodes/${node}/stats`);
    await send(200, "GET", "/nodes");
  });

  test("nodes whose state does not allow it", async () => {
    const [fresh, barred, old] = [await registered("fresh"), await registered("barred"), await registered("old")];
    const nodes = await platform.fleet.list(host, { limit: 100 });
    const idOf = (name: string) => nodes.find((one) => one.name === name)?.id as Uuid;
    await platform.fleet.quarantine(idOf("barred"), { reason: "a test", evidence: { tps: 1 }, by: "platform" });
    await platform.fleet.move(host, idOf("old"), "retire");
    for (const move of ["pause", "resume"]) {
      for (const one of [fresh, barred, old]) await send(409, "POST", `/nodes/${one}/${move}`);
    }
    await send(409, "PUT", `/nodes/${old}/elections`, { body: { models: ["tiny-3b"] } });
    platform.world.mint = async () => CREDENTIALS;
    for (const one of [fresh, barred, old]) await send(409, "POST", `/nodes/${one}/credentials`);
    await send(200, "GET", `/nodes/${barred}/stats`);
    const { withheld } = await send(200, "GET", `/nodes/${await registered("after it")}`);
    assert.equal(withheld, "host_quarantine");
  });

  test("the list in pages, and an account with as many nodes as it may have", async () => {
    const { next_cursor } = await send(200, "GET", "/nodes?limit=1");
    await send(200, "GET", `/nodes?limit=100&cursor=${next_cursor}`);
    for (const query of ["limit=0", "limit=101", "cursor=none"]) await send(400, "GET", `/nodes?${query}`);
    await platform.pool.query(
      `insert into node (id, account_id, name) select gen_random_uuid(), $1, 'one of many ' || i
         from generate_series(1, 100) i`,
      [host],
    );
    await send(409, "POST", "/nodes", { body: { name: "one too many" } });
    await send(200, "POST", "/nodes", { body: { name: "new" } });
  });

  test("credentials", async () => {
    platform.world.mint = async () => CREDENTIALS;
    await send(200, "POST", `/nodes/${node}/credentials`);
    platform.world.mint = () => Promise.reject(new Error("away"));
    await send(502, "POST", `/nodes/${node}/credentials`);
    platform.world.mint = undefined;
    await send(501, "POST", `/nodes/${node}/credentials`);
  });

  test("a try, of every kind of model and with every end", async () => {
    const attempt = (status: number, result: Partial<PrivateResult> | undefined, model = "tiny-3b") => {
      platform.world.tried = result && { ...RESULT, ...result };
      return send(status, "POST", `/nodes/${node}/try`, { body: { model } });
    };
    await attempt(200, {});
    await attempt(200, { finish: "length" }, "reason-32b");
    await attempt(200, { vectors: [Float32Array.of(1, 0)], text: "", completionTokens: 0 }, "embed-m3");
    await attempt(400, {}, "large-70b");
    await attempt(409, undefined);
    await attempt(409, { end: "no_capacity" });
    await attempt(502, { end: "failed" });
    await attempt(502, { end: "quiet" });
  });

  test("models, earnings and receipts", async () => {
    await send(200, "GET", "/models");
    const { data } = await send(200, "GET", `/earnings?limit=1&node=${node}&from=2026-01-01`);
    assert.equal((data as object[]).length, 1);
    for (const query of ["limit=0", "from=never", "node=none", "cursor=none"]) {
      await send(400, "GET", `/earnings?${query}`);
    }
    await send(200, "GET", `/requests/${request}/receipt`);
  });
});

test("nothing is documented that was not answered above, but for faults of ours and want of room", () => {
  const unseen = witness.unseen().filter((sight) => !/ (500 internal_error|503 no_capacity)$/.test(sight));
  assert.deepEqual(unseen, []);
});
