/**
 * Compares the node API with its declaration: calls every operation, checks every response, and requires that every
 * declared error occurs.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { nodeApi } from "@tollgate/api/nodes/api.ts";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import type { UnpaidJobResult } from "../../inference/unpaid-job.ts";
import { Browser } from "../testing/browser.ts";
import { insertServedRequest, insertSpotCheck } from "../testing/past-requests.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";
import { openCoverage, type RequestInput } from "./testing/route-coverage.ts";
import { makeUnknownIds, wrongInputs } from "./testing/wrong-input.ts";

const coverage = openCoverage(nodeApi);
const CREDENTIALS = { url: "nats://plane.test:4222", jwt: "a.jwt", seed: "SU", expiresAt: 1_900_000_000_000 };
const RESULT: UnpaidJobResult = {
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
let browser: Browser;
let authorization: string;
let host: Uuid;
let node: string;
let request: string;
before(async () => {
  platform = await openTestPlatform();
  browser = new Browser(platform);
  const { accountIds } = await platform.person([{ kind: "builder" }, { kind: "host" }]);
  const [builder, own] = accountIds as [Uuid, Uuid];
  host = own;
  authorization = `Bearer ${(await platform.parts.hostTokens.issue(host, "a token")).token}`;
  node = await registered("a node", ["tiny-3b"]);
  const servedBy = { accountId: host, nodeId: idOf(node) };
  request = publicId(
    "req",
    await insertServedRequest(platform, { accountId: builder, charge: 1_000n, host: servedBy }),
  );
});
after(() => platform.close());

const idOf = (name: string): Uuid => parseId("node", name) as Uuid;

async function registered(name: string, models: string[] = []): Promise<string> {
  const { fleet } = platform.parts;
  const { id } = await fleet.register(host, { name, hardware: {}, agent: "" });
  if (models.length > 0) await fleet.elect(host, id, models);
  return publicId("node", id);
}

/** Sends a request with the host's token by default, and asserts the status. */
async function ask(status: number, id: string, sent: RequestInput = {}, by = browser) {
  const headers = { authorization, ...sent.headers };
  return (await coverage.ask(by, status, id, { ...sent, headers })).body;
}

describe("every operation", () => {
  test("refuses an invalid body or query", async () => {
    for (const operation of coverage.operations) {
      for (const { headers, ...sent } of wrongInputs(operation, node)) {
        await coverage.send(browser, operation.id, { ...sent, headers: { authorization, ...headers } });
      }
    }
  });

  test("refuses an unknown ID", async () => {
    for (const operation of coverage.operations) {
      for (const id of makeUnknownIds(operation)) await ask(404, operation.id, { id, body: operation.body?.example });
    }
  });
});

describe("tests of every response of the node API", () => {
  test("cover the registration of a node, its models, state, name and statistics", async () => {
    const { id } = await ask(200, "registerNode", { body: { name: "new", hardware: { gpu: "none" }, agent: "a/1" } });
    const elect = (status: number, models: string[]) => ask(status, "electModels", { id, body: { models } });
    await elect(200, ["tiny-3b", "reason-32b", "embed-m3"]);
    await elect(400, ["large-70b"]);
    platform.outside.connected.add(String(id));
    assert.equal((await ask(200, "getNode", { id })).state, "online");
    for (const move of ["pauseNode", "resumeNode"]) await ask(200, move, { id });
    for (const one of [id, node]) await ask(200, "getNodeStats", { id: one });
    assert.equal((await ask(200, "renameNode", { id, body: { name: "newer" } })).name, "newer");
    await ask(409, "renameNode", { id, body: { name: "a node" } });
    await ask(400, "renameNode", { id, body: { name: "a\nb" } });
    await ask(200, "renameNode", { id, body: { name: "new" } });
    await ask(200, "listNodes");
  });

  test("cover nodes in a state that does not allow the operation", async () => {
    const { fleet } = platform.parts;
    const [fresh, barred, old] = [await registered("fresh"), await registered("barred"), await registered("old")];
    await fleet.quarantine(idOf(barred), { reason: "a test", evidence: { tps: 1 }, by: "platform" });
    await fleet.move(host, idOf(old), "retire");
    platform.outside.mint = async () => CREDENTIALS;
    for (const id of [fresh, barred, old]) {
      for (const operation of ["pauseNode", "resumeNode", "issueCredentials"]) await ask(409, operation, { id });
    }
    await ask(409, "electModels", { id: old, body: { models: ["tiny-3b"] } });
    await ask(409, "retireNode", { id: old });
    assert.equal((await ask(200, "retireNode", { id: fresh })).state, "retired");
    await ask(200, "getNodeStats", { id: barred });
    const { withheld } = await ask(200, "getNode", { id: await registered("after it") });
    assert.equal(withheld, "host_quarantine");
  });

  test("cover the list in pages, and an account at its maximum number of nodes", async () => {
    const { next_cursor } = await ask(200, "listNodes", { query: "limit=1" });
    await ask(200, "listNodes", { query: `limit=100&cursor=${next_cursor}` });
    for (const query of ["limit=0", "limit=101", "cursor=none"]) await ask(400, "listNodes", { query });
    await platform.pool.query(
      `insert into node (id, account_id, name) select gen_random_uuid(), $1, 'one of many ' || i
         from generate_series(1, 100) i`,
      [host],
    );
    await ask(409, "registerNode", { body: { name: "one too many" } });
    await ask(200, "registerNode", { body: { name: "new" } });
  });

  test("cover credentials", async () => {
    platform.outside.mint = async () => CREDENTIALS;
    await ask(200, "issueCredentials", { id: node });
    platform.outside.mint = () => Promise.reject(new Error("away"));
    await ask(502, "issueCredentials", { id: node });
    const without = new Browser({ app: platform.serve({ mint: undefined }) });
    await ask(501, "issueCredentials", { id: node }, without);
  });

  test("cover a host's trial request to its own node, for every kind of model and every outcome", async () => {
    const attempt = (status: number, result: Partial<UnpaidJobResult> | undefined, model = "tiny-3b") => {
      platform.outside.tried = result && { ...RESULT, ...result };
      return ask(status, "tryNode", { id: node, body: { model } });
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

  test("cover the activity of nodes, and the market (demand and supply per model)", async () => {
    await platform.rollUp();
    for (const range of ["1h", "6h", "24h", "7d", "30d", "90d"]) {
      const { total } = await ask(200, "getNodeInsight", { id: node, query: `range=${range}` });
      assert.partialDeepStrictEqual(total, { requests: 1, failed: 0, utilisation: null });
    }
    await ask(200, "getInsight");
    const { data } = await ask(200, "listJobs", { id: node });
    assert.equal((data as object[]).length, 1);
    await ask(400, "listJobs", { id: node, query: "cursor=none" });
    await insertSpotCheck(platform, { nodeId: idOf(node), verdict: "ok", score: -0.4 });
    const checks = (await ask(200, "listChecks", { id: node })).data as { verdict: string }[];
    assert.deepEqual(
      checks.map(({ verdict }) => verdict),
      ["ok"],
    );
    await ask(400, "listChecks", { id: node, query: "cursor=none" });
    await ask(200, "getMarket", { query: `node=${node}` });
    await ask(404, "getMarket", { query: `node=${publicId("node", host)}` });
  });

  test("cover models, earnings and receipts", async () => {
    await ask(200, "listModels");
    const { data } = await ask(200, "listEarnings", { query: `limit=1&node=${node}&from=2026-01-01` });
    assert.equal((data as object[]).length, 1);
    for (const query of ["limit=0", "from=never", "node=none", "cursor=none"])
      await ask(400, "listEarnings", { query });
    await ask(200, "listWithheld");
    await ask(200, "getReceipt", { id: request });
  });
});

test("the tests of this file receive every declared error, except those for internal errors and a full memory", () => {
  assert.deepEqual(coverage.unmet(), []);
});
