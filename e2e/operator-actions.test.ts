/**
 * Tests the platform as operators run it: console API, receipts, ledger checks, a new catalogue. An operator's changes
 * take effect at once, and requests in flight end normally.
 */
import assert from "node:assert/strict";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { sendUserMessage } from "@tollgate/stage/builder-requests.ts";
import { runTollgate } from "@tollgate/stage/dev-platform.ts";
import { assertBalanced } from "@tollgate/stage/ledger-check.ts";
import { runAdminCommand } from "@tollgate/stage/run-admin-command.ts";
import { type BuilderAccount, type HostAccount, type InProcessStage, openStage } from "@tollgate/stage/stage.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { runWithinOneMinuteOrDay } from "@tollgate/stage/within-one-minute-or-day.ts";
import { publicId, type Uuid } from "../gateway/src/base/ids.ts";
import { reloadCatalogue } from "../gateway/src/commands/admin/catalogue-reload.ts";
import { runLedgerCheck } from "../gateway/src/commands/admin/ledger-check.ts";
import { ConsoleClient } from "./console-client.ts";

const PASSWORD = "a password of these tests";
const OPERATOR = "operator@example.test";
/** One dollar in microdollars. */
const CREDIT_MICRO = "1000000";

describe("operator actions on a platform", () => {
  let directory: string;
  let catalogue: string;
  let stage: InProcessStage;
  let operator: ConsoleClient;
  /** Owns the builder account and the host account below. */
  let owner: ConsoleClient;
  let builder: BuilderAccount;
  let host: HostAccount;
  /** The ID of the platform's first request. */
  let firstId: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "tollgate-operating-"));
    catalogue = join(directory, "models.json");
    await copyFile(new URL("../gateway/catalogue/models.json", import.meta.url), catalogue);
    const env = { CATALOGUE_FILE: catalogue, PAYOUT_HOLD_DAYS: "0" };
    stage = await openStage({ as: "in-process", clock: "running", env });
    builder = await stage.builder();
    host = await stage.host();
    await stage.node({ models: ["tiny-3b"], host });
    const { identities } = stage.gateway;
    const signedIn = async (email: string, accounts: string[], isOperator = false): Promise<ConsoleClient> => {
      const id = await identities.create({ email, password: PASSWORD, name: "Somebody", operator: isOperator });
      for (const account of accounts) await identities.own(id, account as Uuid);
      return await newClient().signIn({ email, password: PASSWORD });
    };
    operator = await signedIn(OPERATOR, [], true);
    owner = await signedIn("owner@example.test", [builder.account, host.account]);
    const response = await chat(builder.key, { text: "hello" });
    assert.equal(response.status, 200);
    firstId = response.headers.get("x-request-id") as string;
  });
  after(async () => {
    await stage?.close();
    await rm(directory, { recursive: true });
  });

  const newClient = (): ConsoleClient => new ConsoleClient({ ready: { gateway_url: stage.baseUrl } });
  const chat = (key: string, orders: object, more: object = {}): Promise<Response> =>
    sendUserMessage(stage, key, { model: "tiny-3b", prompt: `#script ${JSON.stringify(orders)}`, ...more });
  const statusOf = async (key: string): Promise<number> => {
    const response = await chat(key, { text: "x" });
    await response.text();
    return response.status;
  };
  const becomes = (what: string, key: string, status: number) =>
    eventually(what, async () => (await statusOf(key)) === status);
  const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${stage.baseUrl}${path}`, { headers });
  const asHost = (): Record<string, string> => ({ authorization: `Bearer ${host.token}` });
  let people = 0;
  const newBuilder = async () => {
    const client = newClient();
    const account = await client.signUp(`somebody-${people++}@example.test`, { operator, credit: CREDIT_MICRO });
    const { id, secret } = await client.send<{ id: string; secret: string }>("POST", "keys", { name: "a key" });
    return { client, account, keyId: id, key: secret };
  };
  test("the internal port reports readiness and traffic metrics", async () => {
    const at = stage.gateway.internalUrl;
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

  test("the builder and the host get the same receipt for a request, and it can be verified offline", async () => {
    const receipt = await owner.get(`requests/${firstId}/receipt`);
    assert.equal(receipt.request_id, firstId);
    assert.deepEqual(await (await get(`/node/v1/requests/${firstId}/receipt`, asHost())).json(), receipt);
    const write = async (name: string, text: string): Promise<string> => {
      await writeFile(join(directory, name), text);
      return join(directory, name);
    };
    const keys = await write("keys.json", await (await get("/.well-known/tollgate-receipts")).text());
    const file = await write("receipt.json", JSON.stringify(receipt, null, 2));
    const forged = await write("forged.json", JSON.stringify({ ...receipt, charge_pico: "1" }));
    const [good, bad] = [file, forged].map((path) => runTollgate(["receipt", "verify", path, "--keys", keys])) as [
      ReturnType<typeof runTollgate>,
      ReturnType<typeof runTollgate>,
    ];
    assert.equal(await good.ended, 0, good.output());
    assert.equal(await bad.ended, 1);
    assert.match(bad.output(), /NOT VALID/);
  });

  test("only the builder and the host of a request can read its receipt", async () => {
    const unknown = `req_${"0".repeat(26)}`;
    for (const [path, headers, status] of [
      [`/console/api/requests/${firstId}/receipt`, {}, 401],
      [`/console/api/requests/${firstId}/receipt`, { cookie: operator.cookie }, 403],
      [`/console/api/requests/${unknown}/receipt`, { cookie: owner.cookie }, 404],
      ["/console/api/requests/nonsense/receipt", { cookie: owner.cookie }, 404],
      [`/node/v1/requests/${firstId}/receipt`, { authorization: "Bearer tht_live_nothing" }, 401],
      [`/node/v1/requests/${unknown}/receipt`, asHost(), 404],
    ] as [string, Record<string, string>, number][]) {
      assert.equal((await get(path, headers)).status, status, path);
    }
  });

  test("a new key works at once, and its request is in history, totals and statement, exact to the picodollar", async () => {
    const { client, keyId, response, keys } = await runWithinOneMinuteOrDay("day", async () => {
      const { key, ...made } = await newBuilder();
      const response = await chat(key, { text: "one two three" });
      await response.text();
      return { ...made, response, keys: await made.client.get<{ data: { spend_this_month: object }[] }>("keys") };
    }, [stage.clock.now]);
    assert.equal(response.status, 200);
    const id = response.headers.get("x-request-id") as string;
    const record = await client.get<Record<string, unknown>>(`requests/${id}`);
    assert.deepEqual([record.id, record.outcome, record.key], [id, "ok", { id: keyId, name: "a key" }]);
    const [row] = await stage.query<{ charge_pico: string; node_id: string }>(
      "select charge_pico, node_id from request order by id desc limit 1",
    );
    const charge = BigInt(row?.charge_pico ?? 0);
    const micro = `${charge / 1_000_000n}.${String(charge % 1_000_000n).padStart(6, "0")}`;
    assert.ok(charge > 0n);
    assert.equal(record.charge_micro, micro);
    assert.deepEqual(keys.data[0]?.spend_this_month, { requests: 1, charge_micro: micro });
    const usage = await client.get<{ data: { model: string; charge_micro: string }[] }>("usage?by=model");
    assert.deepEqual(
      usage.data.map(({ model, charge_micro }) => [model, charge_micro]),
      [["tiny-3b", micro]],
    );
    const ledger = await client.get<{ data: { amount_micro: string; request_id: string }[] }>("ledger");
    const entries = ledger.data.filter(({ request_id }) => request_id !== null);
    assert.deepEqual(
      entries.map(({ amount_micro, request_id }) => [amount_micro, request_id]),
      [[`-${micro}`, id]],
    );
    const file = await client.ask("GET", "requests.csv");
    assert.match(file.text, new RegExp(`\\r\\n${id},.*,${micro.replace(".", "\\.")},`));
    for (const { text } of [
      file,
      await client.ask("GET", "requests"),
      await client.ask("GET", `requests/${id}/receipt`),
    ]) {
      assert.ok(!text.includes("node_") && !text.includes(row?.node_id as string), "builders do not learn the node");
    }
  });

  test("the keys of a suspended builder get a 401, the running request ends normally, and the keys work again after the account is restored", async () => {
    const { client, account, key } = await newBuilder();
    const running = await chat(key, { tokens: 60, delta_ms: 50 }, { stream: true });
    const id = running.headers.get("x-request-id") as string;
    await operator.send("POST", `operator/accounts/${account}/suspend`, { reason: "unpaid" });
    await becomes("its key is refused", key, 401);
    assert.equal((await client.ask("GET", "balance")).body.error?.code, "account_suspended");
    assert.equal((await client.ask("GET", `requests/${id}`)).body.error?.code, "account_suspended");
    assert.equal(await statusOf(builder.key), 200, "others are served");
    assert.match(await running.text(), /"finish_reason":"stop"[\s\S]*\[DONE\]/);

    await operator.send("POST", `operator/accounts/${account}/restore`, { reason: "paid" });
    await becomes("its key works again", key, 200);
    const record = await client.get<Record<string, unknown>>(`requests/${id}`);
    assert.deepEqual(
      [record.outcome, (record.usage as { completion_tokens: number }).completion_tokens > 0],
      ["ok", true],
    );
    assert.notEqual(record.charge_micro, "0.000000");
  });

  test("the nodes of a suspended host get no new jobs, finish the running ones, and serve again after the account is restored", async () => {
    const running = await chat(builder.key, { tokens: 60, delta_ms: 25 }, { stream: true });
    const account = publicId("acc", host.account as Uuid);
    await operator.send("POST", `operator/accounts/${account}/suspend`, { reason: "complaints" });
    await becomes("no node is left", builder.key, 503);
    assert.equal((await get("/node/v1/nodes", asHost())).status, 401, "nor does its token work");
    assert.match(await running.text(), /\[DONE\]/);
    assert.equal((await owner.ask("GET", "nodes")).body.error?.code, "host_only");
    await operator.send("POST", `operator/accounts/${account}/restore`, { reason: "settled" });
    await becomes("its node serves again", builder.key, 200);
  });

  test("an operator's limits for a key apply from the key's next request, until they are removed", async () => {
    const { keyId, key } = await newBuilder();
    assert.equal(await statusOf(key), 200);
    const limit = (limits: object) => operator.send("PUT", `operator/keys/${keyId}/limits`, limits);
    await limit({ in_flight: 0 });
    await becomes("nothing is let in", key, 429);
    await limit({ requests_per_minute: 1 });
    const refused = await eventually("the new limit holds", async () => {
      const response = await chat(key, { text: "x" });
      const body = (await response.json()) as { error?: { code: string } };
      return body.error?.code === "rate_limit_requests" && response;
    });
    assert.equal(refused.headers.get("x-ratelimit-limit-requests"), "1");
    await limit({});
    await becomes("the defaults hold again", key, 200);
  });

  test("the console's live stream delivers the new balance and the latest request", async () => {
    const { client, key } = await newBuilder();
    const stream = await get("/console/api/live", { cookie: client.cookie });
    assert.equal(stream.headers.get("content-type"), "text/event-stream");
    const reader = (stream.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
    let seen = "";
    const until = async (pattern: RegExp): Promise<void> => {
      while (!pattern.test(seen)) {
        const { value, done } = await reader.read();
        assert.ok(!done, seen);
        seen += value;
      }
    };
    await until(/event: balance\ndata: .*"balance_micro":"1000000\.000000"/);
    const response = await chat(key, { text: "x" });
    await response.text();
    await until(new RegExp(`"latest":"${response.headers.get("x-request-id")}"`));
    await until(/"balance_micro":"99\d{4}\.\d{6}"/);
    await reader.cancel();
  });

  test("an operator creates, exports and pays a payout batch; the host sees the payout, and the ledger balances", async () => {
    const owed = async () =>
      (await owner.get<{ balance: { pending_micro: string; paid_out_micro: string } }>("earnings")).balance;
    const before = await owed();
    assert.notEqual(before.pending_micro, "0.000000");
    const batch = await operator.send<{ id: string; total_micro: string; state: string }>("POST", "operator/payouts", {
      note: "from the test",
    });
    assert.deepEqual([batch.state, batch.total_micro], ["open", before.pending_micro]);
    const file = await operator.ask("GET", `operator/payouts/${batch.id}/csv`);
    const account = publicId("acc", host.account as Uuid);
    const line = `pay_\\w+,${account},strangers,\\S+,${before.pending_micro}(,0\\.000000){5},,,,,`;
    assert.match(file.text, new RegExp(`\\r\\n${line}\\r\\n$`));
    assert.equal((await operator.ask("POST", "operator/payouts", {})).body.error?.code, "nothing_owed");
    await operator.send("POST", `operator/payouts/${batch.id}/paid`);
    const after = await owed();
    assert.deepEqual([after.pending_micro, after.paid_out_micro], ["0.000000", before.pending_micro]);
    const moved = await stage.query<{ amount: string }>("select amount from transfer where kind = 'payout'");
    assert.deepEqual(moved, [{ amount: before.pending_micro.replace(".", "").replace(/^0+/, "") }]);
    await assertBalanced(stage);
    const proof = await operator.get<{ balanced: boolean }>("operator/ledger/check");
    assert.equal(proof.balanced, true);
    const { code, output } = await runAdminCommand(stage, runLedgerCheck);
    assert.equal(code, 0, output);
    assert.match(output, /The ledger balances\./);
  });

  test("a node that an operator quarantines and releases is paused until its host resumes it", async () => {
    const { data } = await owner.get<{ data: { id: string; state: string }[] }>("nodes");
    const node = data[0]?.id as string;
    assert.equal(data[0]?.state, "online");
    await operator.send("POST", `operator/nodes/${node}/quarantine`, { reason: "smells of smoke" });
    await becomes("it gets no work", builder.key, 503);
    const seen = await owner.get<{ state: string; quarantine: { reason: string } }>(`nodes/${node}`);
    assert.deepEqual([seen.state, seen.quarantine.reason], ["quarantined", "smells of smoke"]);
    assert.equal((await owner.ask("POST", `nodes/${node}/resume`)).body.error?.code, "node_quarantined");
    const released = await operator.send<{ state: string }>("POST", `operator/nodes/${node}/release`);
    assert.equal(released.state, "paused");
    assert.equal((await owner.send<{ state: string }>("POST", `nodes/${node}/resume`)).state, "ready");
  });

  test("the audit log lists every action of the operator in order, with its outcome", async () => {
    const { data } = await operator.get<{ data: { operator: string; action: string; outcome: string }[] }>(
      "operator/audit?limit=100",
    );
    const own = data.filter((act) => act.operator === OPERATOR);
    const acts = own.map(({ action, outcome }) => `${action} ${outcome}`).reverse();
    assert.deepEqual(
      acts.filter((act) => act.startsWith("account.grant")),
      Array.from({ length: people }, () => "account.grant done"),
    );
    assert.deepEqual(
      acts.filter((act) => !act.startsWith("account.grant")),
      [
        "account.suspend done",
        "account.restore done",
        "account.suspend done",
        "account.restore done",
        "key.limits done",
        "key.limits done",
        "key.limits done",
        "payout.create done",
        "payout.create nothing_owed",
        "payout.paid done",
        "node.quarantine done",
        "node.release done",
      ],
    );
    assert.deepEqual(
      data.filter((act) => act.operator !== OPERATOR),
      [],
    );
  });

  test("the ledger check passes while requests are served, and fails after a record is changed", async () => {
    const good = await runAdminCommand(stage, runLedgerCheck, { json: true });
    assert.equal(good.code, 0, good.output);
    const proof = JSON.parse(good.output) as { balanced: boolean; checks: { name: string; checked: number }[] };
    assert.equal(proof.balanced, true);
    const [{ requests } = { requests: 0 }] = await stage.query<{ requests: number }>(
      "select count(*)::int as requests from request",
    );
    assert.equal(proof.checks.find(({ name }) => name.includes("counts times"))?.checked, requests);

    const wrong = (by: number) =>
      stage.query("update request set completion_tokens = completion_tokens + $1 where charge_pico > 0", [by]);
    await wrong(1);
    const bad = await runAdminCommand(stage, runLedgerCheck, { json: true });
    assert.equal(bad.code, 1);
    assert.match(bad.output, /"balanced": false/);
    await wrong(-1);
  });

  test("the gateway loads a new catalogue without a restart, and refuses one that changes the price of an existing version", async () => {
    const reload = async (): Promise<void> => assert.equal((await runAdminCommand(stage, reloadCatalogue)).code, 0);
    const price = async (): Promise<number> => {
      const { data } = (await (await get("/v1/catalog/rates")).json()) as { data: { price_in_micro_1m: number }[] };
      return data[0]?.price_in_micro_1m as number;
    };
    const text = await readFile(catalogue, "utf8");
    const dearer = text.replace('"price_in_micro_1m": 20000', '"price_in_micro_1m": 25000');
    await writeFile(catalogue, dearer);
    await reload();
    await eventually("it is refused", () => JSON.stringify(stage.logged).includes("without a new price_version"));
    assert.equal(await price(), 20_000);

    await writeFile(catalogue, dearer.replace('"price_version": 1', '"price_version": 2'));
    await reload();
    await eventually("it is taken", async () => (await price()) === 25_000);
  });
});
