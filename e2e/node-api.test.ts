/** The node API on a whole platform: every error of its own, what one host sees of another (nothing), work and earnings. */

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { newDataDir, type Platform, removeDataDir, startPlatform, tollgate } from "@tollgate/stage/dev.ts";
import { untilSettled } from "@tollgate/stage/ledger-check.ts";
import { clearOfMidnight } from "@tollgate/stage/periods.ts";
import { chat } from "@tollgate/stage/requests.ts";
import { eventually } from "@tollgate/stage/wait.ts";

interface NodeObject {
  id: string;
  name: string;
  state: string;
  models: string[];
  quarantine: { reason: string; evidence: Record<string, unknown> } | null;
}

describe("the node API", () => {
  let dataDir: string;
  let platform: Platform;
  before(async () => {
    await clearOfMidnight();
    dataDir = await newDataDir();
    const flags = ["--engine", "scripted", "--models", "tiny-3b,embed-m3"];
    platform = await startPlatform(dataDir, flags);
  });
  after(async () => {
    assert.equal(await platform?.stop(), 0);
    await removeDataDir(dataDir);
  });

  const call = async <T>(method: string, path: string, body?: object, token = platform.ready.host_token) => {
    const response = await fetch(`${platform.ready.base_url}/node/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return {
      status: response.status,
      body: (await response.json()) as T & { error?: { code: string; message: string; param?: string } },
    };
  };
  const refused = async (status: number, code: string, ...args: Parameters<typeof call>): Promise<string> => {
    const { status: got, body } = await call<object>(...args);
    assert.deepEqual([got, body.error?.code], [status, code], JSON.stringify(body));
    return body.error?.message ?? "";
  };
  const local = async (): Promise<NodeObject> => {
    const { body } = await call<{ data: NodeObject[] }>("GET", "/nodes");
    const node = body.data.find(({ name }) => name === "local-1");
    assert.ok(node);
    return node;
  };
  const register = async (name: string, token?: string): Promise<NodeObject> =>
    (await call<NodeObject>("POST", "/nodes", { name, hardware: { gpu: "none" }, agent: "test" }, token)).body;
  test("401: a missing, malformed, unknown and revoked token look the same", async () => {
    for (const token of ["", "nonsense", `tht_live_${"a".repeat(12)}_${"b".repeat(43)}`, platform.ready.api_key]) {
      await refused(401, "invalid_host_token", "GET", "/nodes", undefined, token);
    }
  });

  test("400: a field that is wrong is named with its rule", async () => {
    const wrong = async (body: object, path = "/nodes", method = "POST") =>
      (await call<object>(method, path, body)).body.error;
    assert.deepEqual((await wrong({}))?.param, "name");
    assert.match((await wrong({ name: "" }))?.message ?? "", /name must not be empty/);
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

  test("404: a node that does not exist, or is another account's", async () => {
    for (const path of [
      "/nodes/nonsense",
      "/nodes/node_0000000000000000000000000a",
      `/nodes/${platform.ready.api_key}`,
    ]) {
      await refused(404, "node_not_found", "GET", path);
    }
    const { id } = await local();
    const mine = await register("for-404");
    // Given to another account, it is gone for this one.
    await platform.query(
      "with a as (insert into account (id, kind, name) values (gen_random_uuid(), 'host', 'other') returning id) update node set account_id = a.id from a where node.name = 'for-404'",
    );
    for (const [method, path, body] of [
      ["GET", ""],
      ["GET", "/stats"],
      ["PUT", "/elections", { models: [] }],
      ["POST", "/credentials"],
      ["POST", "/pause"],
      ["POST", "/resume"],
      ["POST", "/try", { model: "tiny-3b" }],
    ] as const) {
      await refused(404, "node_not_found", method, `/nodes/${mine.id}${path}`, body);
    }
    assert.ok(!(await call<{ data: NodeObject[] }>("GET", "/nodes")).body.data.some((node) => node.id === mine.id));
    assert.equal((await call<NodeObject>("GET", `/nodes/${id}`)).status, 200);
  });

  test("409: no elected builds, moves that the state does not allow", async () => {
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

  test("registered → ready → online ⇄ paused, and a pause lets a running request finish", async () => {
    const { id } = await local();
    assert.equal((await local()).state, "online");
    const running = await chat(platform, { tokens: 60, delta_ms: 50 }, { stream: true });
    // The opening chunk comes before a node has it.
    const busy = async () => (await call<{ busy: number }>("GET", `/nodes/${id}/stats`)).body.busy;
    await eventually("the node runs it", async () => (await busy()) > 0);
    assert.equal((await call<NodeObject>("POST", `/nodes/${id}/pause`)).body.state, "paused");
    const refusedNow = await chat(platform, { text: "x" });
    assert.equal(refusedNow.status, 503);
    assert.match(await running.text(), /\[DONE\]/);
    assert.equal((await call<NodeObject>("POST", `/nodes/${id}/resume`)).status, 200);
    await eventually("it is online again", async () => (await local()).state === "online");
    await eventually("it serves again", async () => (await chat(platform, { text: "x" })).status === 200);
  });

  test("a model that is not elected any more is not served, the others are, without a gap", async () => {
    const { id } = await local();
    await call("PUT", `/nodes/${id}/elections`, { models: ["embed-m3"] });
    assert.equal((await chat(platform, { text: "x" })).status, 503);
    assert.deepEqual((await local()).models, ["embed-m3"]);
    await call("PUT", `/nodes/${id}/elections`, { models: ["tiny-3b", "embed-m3"] });
    assert.equal((await chat(platform, { text: "x" })).status, 200);
  });

  test("stats and earnings: what the node did, with the requests that earned it", async () => {
    const { id } = await local();
    const answer = await chat(platform, { text: "The quick brown fox jumps over the lazy dog." });
    const suffix = ((await answer.json()) as { id: string }).id.slice("chatcmpl-".length);
    await untilSettled(platform);
    const [row] = await platform.query<{ host_pico: string; completion_tokens: number }>(
      "select host_pico, completion_tokens from request order by id desc limit 1",
    );
    const micro = (pico: bigint): string => `${pico / 1_000_000n}.${String(pico % 1_000_000n).padStart(6, "0")}`;
    const { body } = await call<{
      data: { request_id: string; earned_micro: string; node: string; completion_tokens: number }[];
      balance: Record<string, string>;
      today_micro: string;
      next_cursor: string | null;
    }>("GET", "/earnings?limit=1");
    assert.deepEqual(
      [body.data[0]?.request_id, body.data[0]?.node, body.data[0]?.earned_micro],
      [`req_${suffix}`, id, micro(BigInt(row?.host_pico ?? 0))],
    );
    const [{ balance }] = (await platform.query<{ balance: string }>(
      "select balance from ledger_account where kind = 'host' and balance > 0",
    )) as [{ balance: string }];
    assert.deepEqual(body.balance, {
      earned_micro: micro(BigInt(balance)),
      // On a development platform one person is builder and host.
      own_micro: micro(BigInt(balance)),
      paid_out_micro: "0.000000",
      set_off_micro: "0.000000",
      pending_micro: micro(BigInt(balance)),
      held_back_micro: "0.000000",
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

  test("try: a private request to one's own node, neither billed nor recorded", async () => {
    const { id } = await local();
    const count = async () => (await platform.query("select id from request")).length;
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

  test("quarantine by an operator: cut off at once, no credentials, no resume, until it is released", async () => {
    const { id } = await local();
    const admin = async (...args: string[]): Promise<string> => {
      const run = tollgate(["admin", "node", ...args, "--data", dataDir]);
      assert.equal(await run.ended, 0, run.output());
      return run.output();
    };
    await admin("quarantine", id, "--reason", "smells of smoke");
    await eventually("it is cut off", async () => (await chat(platform, { text: "x" })).status === 503);
    const seen = await local();
    assert.deepEqual([seen.state, seen.quarantine?.reason], ["quarantined", "smells of smoke"]);
    await refused(409, "node_quarantined", "POST", `/nodes/${id}/resume`);
    await refused(409, "node_quarantined", "POST", `/nodes/${id}/credentials`);
    assert.match(await admin("list"), /quarantined.*smells of smoke/);
    await admin("release", id);
    assert.equal((await local()).state, "paused");
    assert.equal((await call<NodeObject>("POST", `/nodes/${id}/resume`)).status, 200);
    await eventually("it serves again", async () => (await chat(platform, { text: "x" })).status === 200);
  });
});

describe("automatic quarantine", () => {
  test("five failures in twenty jobs: barred with its evidence, and the requests before it billed as ever", async () => {
    const dataDir = await newDataDir();
    const flags = ["--engine", "scripted", "--models", "tiny-3b"];
    const env = { AUTO_QUARANTINE: "true", CATALOGUE_FILE: await plainCatalogue(dataDir) };
    const platform = await startPlatform(dataDir, flags, env);
    try {
      for (let i = 0; i < 5; i++) assert.equal((await chat(platform, { text: "x", fail_after: 0 })).status, 502);
      await eventually("it is barred", async () => (await chat(platform, { text: "x" })).status === 503);
      const [row] = await platform.query<{ reason: string; evidence: { failures: number; kinds: object }; by: string }>(
        "select reason, evidence, by from node_quarantine",
      );
      assert.deepEqual([row?.reason, row?.by, row?.evidence.failures], ["failures", "platform", 5]);
      assert.deepEqual(row?.evidence.kinds, { engine: 5 });
    } finally {
      await platform.stop();
      await removeDataDir(dataDir);
    }
  });
});

/** The catalogue without canaries, and with ceilings that the scripted engine keeps. */
async function plainCatalogue(dataDir: string): Promise<string> {
  const catalogue = JSON.parse(await readFile(new URL("../gateway/catalogue/models.json", import.meta.url), "utf8"));
  for (const model of catalogue.models) Object.assign(model, { canaries: [], tps_max: 1e9 });
  const file = `${dataDir}/catalogue.json`;
  await writeFile(file, JSON.stringify(catalogue));
  return file;
}
