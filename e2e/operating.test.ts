/** Proofs of what a request cost, for builder, host and operator; and what an operator changes on a live platform. */
import assert from "node:assert/strict";
import { copyFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { newDataDir, type Platform, removeDataDir, startPlatform, tollgate } from "@tollgate/stage/dev.ts";
import { eventually } from "@tollgate/stage/wait.ts";

describe("operating a platform", () => {
  let dataDir: string;
  let platform: Platform;
  let requestId: string;
  let catalogue: string;
  before(async () => {
    dataDir = await newDataDir();
    catalogue = join(dataDir, "models.json");
    await copyFile(new URL("../gateway/catalogue/models.json", import.meta.url), catalogue);
    platform = await startPlatform(dataDir, ["--engine", "scripted"], { CATALOGUE_FILE: catalogue });
    const response = await fetch(`${platform.ready.base_url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${platform.ready.api_key}` },
      body: JSON.stringify({ model: "tiny-3b", messages: [{ role: "user", content: "hello" }] }),
    });
    assert.equal(response.status, 200);
    requestId = response.headers.get("x-request-id") as string;
  });
  after(async () => {
    await platform?.stop();
    await removeDataDir(dataDir);
  });

  const signIn = async ({ email, password }: { email: string; password: string }): Promise<string> => {
    const response = await fetch(`${platform.ready.base_url}/console/api/auth/sign-in/email`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: platform.ready.base_url },
      body: JSON.stringify({ email, password }),
    });
    assert.equal(response.status, 200);
    return (response.headers.get("set-cookie") as string).split(";")[0] as string;
  };
  const get = (path: string, headers: Record<string, string>): Promise<Response> =>
    fetch(`${platform.ready.base_url}${path}`, { headers });
  const nobody = { authorization: "Bearer tht_live_nothing" };

  test("the internal port tells of the traffic", async () => {
    const log = await readFile(join(dataDir, "gateway.log"), "utf8");
    const at = `http://127.0.0.1:${/"internalPort":(\d+)/.exec(log)?.[1]}`;
    assert.deepEqual(await (await fetch(`${at}/readyz`)).json(), {
      status: "ready",
      dependencies: { database: "up", limits: "up", plane: "up" },
    });
    const text = await (await fetch(`${at}/metrics`)).text();
    assert.match(text, /^tollgate_requests_total\{endpoint="chat",model="tiny-3b",outcome="ok"\} 1$/m);
    assert.match(text, /^tollgate_first_token_seconds_count\{model="tiny-3b"\} 1$/m);
    assert.match(text, /^tollgate_charged_microdollars_total\{model="tiny-3b"\} [\d.]+$/m);
    assert.match(text, /^tollgate_slots\{model="tiny-3b"\} [1-9]\d*$/m);
    assert.match(text, /^tollgate_nodes_connected 1$/m);
  });

  test("builder and host get the same receipt, and it verifies offline", async () => {
    const cookie = await signIn(platform.ready.builder);
    const mine = await get(`/console/api/requests/${requestId}/receipt`, { cookie });
    assert.equal(mine.status, 200);
    const receipt = (await mine.json()) as Record<string, unknown>;
    assert.equal(receipt.request_id, requestId);
    const hosts = await get(`/node/v1/requests/${requestId}/receipt`, {
      authorization: `Bearer ${platform.ready.host_token}`,
    });
    assert.deepEqual(await hosts.json(), receipt);

    const [file, keys, forged] = ["receipt.json", "keys.json", "forged.json"].map((name) => join(dataDir, name)) as [
      string,
      string,
      string,
    ];
    await writeFile(file, JSON.stringify(receipt, null, 2));
    await writeFile(keys, await (await get("/.well-known/tollgate-receipts", {})).text());
    await writeFile(forged, JSON.stringify({ ...receipt, charge_pico: "1" }));
    const good = tollgate(["receipt", "verify", file, "--keys", keys]);
    assert.equal(await good.ended, 0, good.output());
    const bad = tollgate(["receipt", "verify", forged, "--keys", keys]);
    assert.equal(await bad.ended, 1);
    assert.match(bad.output(), /NOT VALID/);
  });

  test("nobody gets another's receipt", async () => {
    const unknown = `req_${"0".repeat(26)}`;
    const operator = await signIn(platform.ready.operator);
    const builder = await signIn(platform.ready.builder);
    for (const [path, headers, status] of [
      [`/console/api/requests/${requestId}/receipt`, {}, 401],
      [`/console/api/requests/${requestId}/receipt`, { cookie: operator }, 403],
      [`/console/api/requests/${unknown}/receipt`, { cookie: builder }, 404],
      ["/console/api/requests/nonsense/receipt", { cookie: builder }, 404],
      [`/node/v1/requests/${requestId}/receipt`, nobody, 401],
      [`/node/v1/requests/${unknown}/receipt`, { authorization: `Bearer ${platform.ready.host_token}` }, 404],
    ] as [string, Record<string, string>, number][]) {
      assert.equal((await get(path, headers)).status, status, path);
    }
  });

  test("the books are proved on the live system, and a difference is found", async () => {
    const check = (): ReturnType<typeof tollgate> =>
      tollgate(["admin", "ledger", "check", "--json", "--data", dataDir]);
    const good = check();
    assert.equal(await good.ended, 0, good.output());
    const proof = JSON.parse(good.output()) as { balanced: boolean; checks: { name: string; checked: number }[] };
    assert.equal(proof.balanced, true);
    assert.ok(proof.checks.find(({ name }) => name.includes("counts times"))?.checked === 1);

    await platform.query("update request set completion_tokens = completion_tokens + 1");
    const bad = check();
    assert.equal(await bad.ended, 1);
    assert.match(bad.output(), /"balanced": false/);
    await platform.query("update request set completion_tokens = completion_tokens - 1");
  });

  test("a new catalogue is taken without a restart; one that changes a price in place is not", async () => {
    const reload = async (): Promise<void> => {
      const run = tollgate(["admin", "catalogue", "reload", "--data", dataDir]);
      assert.equal(await run.ended, 0, run.output());
    };
    const price = async (): Promise<number> => {
      const { data } = (await (await get("/v1/catalog/rates", {})).json()) as { data: { price_in_micro_1m: number }[] };
      return data[0]?.price_in_micro_1m as number;
    };
    const text = await readFile(catalogue, "utf8");
    const dearer = text.replace('"price_in_micro_1m": 20000', '"price_in_micro_1m": 25000');
    await writeFile(catalogue, dearer);
    await reload();
    const log = () => readFile(join(dataDir, "gateway.log"), "utf8");
    await eventually("it is refused", async () => (await log()).includes("without a new price_version"));
    assert.equal(await price(), 20_000);

    await writeFile(catalogue, dearer.replace('"price_version": 1', '"price_version": 2'));
    await reload();
    await eventually("it is taken", async () => (await price()) === 25_000);
  });
});
