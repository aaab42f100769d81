/**
 * Tests the node API on a whole platform: refused requests, a host's view of its node, jobs and earnings, and
 * quarantine. gateway/src/routes/contract/authorisation.test.ts tests permissions.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { BuilderAccount } from "@tollgate/stage/builder-and-host-accounts.ts";
import { makeScriptPrompt, sendUserMessage, waitForFirstOutput } from "@tollgate/stage/builder-requests.ts";
import { callNodeApi } from "@tollgate/stage/nodes/hand-made-node.ts";
import { type InProcessStage, openStage, type StageNode } from "@tollgate/stage/stage.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { waitPastMidnight } from "@tollgate/stage/within-one-minute-or-day.ts";
import { writeCatalogue } from "@tollgate/stage/write-catalogue.ts";

const MODEL = "tiny-3b";

interface NodeObject {
  id: string;
  name: string;
  state: string;
  models: string[];
  quarantine: { reason: string; evidence: Record<string, unknown> } | null;
}

describe("the node API", () => {
  let stage: InProcessStage;
  let builder: BuilderAccount;
  let node: StageNode;
  before(async () => {
    await waitPastMidnight();
    stage = await openStage({ as: "in-process", clock: "running" });
    builder = await stage.builder();
    node = await stage.node({ models: [MODEL, "embed-m3"] });
  });
  after(() => stage?.close());

  const call = <T>(method: string, path: string, body?: object) =>
    callNodeApi<T>(stage, node.host.token, method, path, body);
  const chat = (orders: object, more: object = {}): Promise<Response> =>
    sendUserMessage(stage, builder.key, { model: MODEL, prompt: makeScriptPrompt(orders), ...more });
  const refused = async (status: number, code: string, ...args: Parameters<typeof call>): Promise<string> => {
    const { status: got, body } = await call<object>(...args);
    assert.deepEqual([got, body.error?.code], [status, code], JSON.stringify(body));
    return body.error?.message ?? "";
  };
  const seen = async (): Promise<NodeObject> => (await call<NodeObject>("GET", `/nodes/${node.id}`)).body;
  const register = async (name: string): Promise<NodeObject> =>
    (await call<NodeObject>("POST", "/nodes", { name, hardware: { gpu: "none" }, agent: "test" })).body;

  test("an invalid field gets a 400 with its name and the rule", async () => {
    const wrong = async (body: object, path = "/nodes", method = "POST") =>
      (await call<object>(method, path, body)).body.error;
    assert.deepEqual((await wrong({}))?.param, "name");
    assert.match((await wrong({ name: "" }))?.message ?? "", /^"name" must not be empty$/);
    const { id } = await register("for-400");
    assert.equal(
      (await wrong({ models: ["tiny-3b", "large-70b"] }, `/nodes/${id}/elections`, "PUT"))?.param,
      "models[1]",
    );
    assert.equal((await wrong({ model: "tiny-3b", max_tokens: 0 }, `/nodes/${id}/try`))?.param, "max_tokens");
    const list = await call<object>("GET", "/earnings?limit=1000");
    assert.deepEqual([list.status, list.body.error?.param], [400, "limit"]);
    await refused(400, "invalid_cursor", "GET", "/earnings?cursor=abc");
  });

  test("fetching credentials before choosing models, and state changes that are not allowed, get a 409", async () => {
    const { id } = await register("for-409");
    await refused(409, "no_elected_builds", "POST", `/nodes/${id}/credentials`);
    assert.match(await refused(409, "node_state_conflict", "POST", `/nodes/${id}/resume`), /registered/);
    assert.match(await refused(409, "node_state_conflict", "POST", `/nodes/${id}/pause`), /registered/);
    assert.match(
      await refused(409, "node_state_conflict", "POST", `/nodes/${id}/try`, { model: "tiny-3b" }),
      /connected/,
    );
    await call("PUT", `/nodes/${id}/elections`, { models: ["tiny-3b"] });
    const granted = await call<{ jwt: string; seed: string; subjects: object; builds: { tokenizer: string }[] }>(
      "POST",
      `/nodes/${id}/credentials`,
    );
    assert.equal(granted.status, 200);
    assert.equal(granted.body.builds[0]?.tokenizer, "llama3");
  });

  test("a paused node finishes its running request, gets no other, and serves again after resume", async () => {
    const { id } = node;
    assert.equal((await seen()).state, "online");
    const rest = await waitForFirstOutput(await chat({ tokens: 30, delta_ms: 50 }, { stream: true }));
    assert.equal((await call<NodeObject>("POST", `/nodes/${id}/pause`)).body.state, "paused");
    assert.equal((await chat({ text: "x" })).status, 503);
    assert.match(await rest(), /\[DONE\]/);
    assert.equal((await call<NodeObject>("POST", `/nodes/${id}/resume`)).status, 200);
    await eventually("it is online again", async () => (await seen()).state === "online");
    await eventually("it serves again", async () => (await chat({ text: "x" })).status === 200);
  });

  test("a node no longer serves a model that its host deselects, and still serves the others", async () => {
    const { id } = node;
    await call("PUT", `/nodes/${id}/elections`, { models: ["embed-m3"] });
    assert.equal((await chat({ text: "x" })).status, 503);
    assert.deepEqual((await seen()).models, ["embed-m3"]);
    await call("PUT", `/nodes/${id}/elections`, { models: ["tiny-3b", "embed-m3"] });
    assert.equal((await chat({ text: "x" })).status, 200);
  });

  test("GET stats returns the node's jobs, and GET earnings returns the requests that the host was paid for", async () => {
    const { id } = node;
    const answer = await chat({ text: "The quick brown fox jumps over the lazy dog." });
    const suffix = ((await answer.json()) as { id: string }).id.slice("chatcmpl-".length);
    const record = await stage.record(answer);
    const micro = (pico: bigint): string => `${pico / 1_000_000n}.${String(pico % 1_000_000n).padStart(6, "0")}`;
    const { body } = await call<{
      data: { request_id: string; earned_micro: string; node: string; completion_tokens: number }[];
      balance: Record<string, string>;
      today_micro: string;
      next_cursor: string | null;
    }>("GET", "/earnings?limit=1");
    assert.deepEqual(
      [body.data[0]?.request_id, body.data[0]?.node, body.data[0]?.earned_micro],
      [`req_${suffix}`, id, micro(BigInt(record?.host_pico ?? 0))],
    );
    const balance = micro(await stage.balance(node.host.account));
    assert.deepEqual(body.balance, {
      earned_micro: balance,
      own_micro: "0.000000",
      paid_out_micro: "0.000000",
      set_off_micro: "0.000000",
      pending_micro: balance,
      held_back_micro: balance,
      withheld_micro: "0.000000",
    });
    const next = await call<{ data: { request_id: string }[] }>("GET", `/earnings?limit=1&cursor=${body.next_cursor}`);
    assert.notEqual(next.body.data[0]?.request_id, `req_${suffix}`);
    const receipt = await call<object>("GET", `/requests/req_${suffix}/receipt`);
    assert.equal(receipt.status, 200);

    const { body: stats } = await call<{
      connected: boolean;
      slots: number;
      models: { model: string; ttft_p50_ms: number }[];
      today: { requests: number; earned_micro: string };
      reliability: object;
    }>("GET", `/nodes/${id}/stats`);
    assert.ok(stats.connected && stats.slots > 0 && stats.today.requests >= 1);
    assert.equal(stats.today.earned_micro, body.today_micro);
    assert.ok((stats.models.find(({ model }) => model === "tiny-3b")?.ttft_p50_ms ?? -1) >= 0);
    assert.deepEqual(Object.keys(stats.reliability), ["jobs", "failures", "jobs_window", "failures_max"]);
  });

  test("a trial sends a request to the host's own node, neither billed nor recorded", async () => {
    const { id } = node;
    const count = async () => (await stage.query("select id from request")).length;
    const before = await count();
    const prompt = `#script ${JSON.stringify({ text: "hello from here" })}`;
    const { body, status } = await call<{ text: string; completion_tokens: number; ttft_ms: number }>(
      "POST",
      `/nodes/${id}/try`,
      { model: "tiny-3b", prompt },
    );
    assert.deepEqual([status, body.text, body.completion_tokens], [200, "hello from here", 3]);
    const vectors = await call<{ vectors: object }>("POST", `/nodes/${id}/try`, { model: "embed-m3" });
    assert.deepEqual(vectors.body.vectors, { count: 1, width: 1024 });
    const failing = `#script ${JSON.stringify({ text: "x", fail_after: 0 })}`;
    await refused(502, "upstream_failed", "POST", `/nodes/${id}/try`, { model: "tiny-3b", prompt: failing });
    assert.equal(await count(), before);
  });

  test("a quarantined node is disconnected immediately, and gets no credentials until its release", async () => {
    const { id } = node;
    await stage.admin("node", "quarantine", id, "--reason", "smells of smoke");
    await eventually("it is cut off", async () => (await chat({ text: "x" })).status === 503);
    const { state, quarantine } = await seen();
    assert.deepEqual([state, quarantine?.reason], ["quarantined", "smells of smoke"]);
    await refused(409, "node_quarantined", "POST", `/nodes/${id}/resume`);
    await refused(409, "node_quarantined", "POST", `/nodes/${id}/credentials`);
    await stage.admin("node", "release", id);
    assert.equal((await seen()).state, "paused");
    assert.equal((await call<NodeObject>("POST", `/nodes/${id}/resume`)).status, 200);
    await eventually("it serves again", async () => (await chat({ text: "x" })).status === 200);
  });
});

describe("automatic quarantine", () => {
  let stage: InProcessStage;
  before(async () => {
    // No canaries, and a maximum speed that the scripted engine cannot exceed, so that only failures count.
    const plain = { [MODEL]: { canaries: [], tps_max: 1e9 } };
    stage = await openStage({
      as: "in-process",
      clock: "running",
      nodes: [{ models: [MODEL] }],
      env: async (folder) => ({ AUTO_QUARANTINE: "true", CATALOGUE_FILE: await writeCatalogue(folder, plain) }),
    });
  });
  after(() => stage?.close());

  test("quarantines a node after five failures in twenty jobs, with the evidence", async () => {
    const { key } = await stage.builder();
    const statusOf = async (orders: object): Promise<number> =>
      (await sendUserMessage(stage, key, { model: MODEL, prompt: makeScriptPrompt(orders) })).status;
    for (let i = 0; i < 5; i++) assert.equal(await statusOf({ text: "x", fail_after: 0 }), 502);
    await eventually("it is barred", async () => (await statusOf({ text: "x" })) === 503);
    const [row] = await stage.query<{ reason: string; evidence: { failures: number; kinds: object }; by: string }>(
      "select reason, evidence, by from node_quarantine",
    );
    assert.deepEqual([row?.reason, row?.by, row?.evidence.failures], ["failures", "platform", 5]);
    assert.deepEqual(row?.evidence.kinds, { engine: 5 });
  });
});
