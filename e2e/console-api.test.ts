/** The console's API on a whole platform: what an operator does takes hold at once, on work that is running and on the books. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { newDataDir, type Platform, removeDataDir, startPlatform, tollgate } from "@tollgate/stage/dev.ts";
import { assertBalanced } from "@tollgate/stage/ledger-check.ts";
import { inOne } from "@tollgate/stage/periods.ts";
import { chat } from "@tollgate/stage/requests.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { ConsoleClient } from "./console-client.ts";

interface Account {
  id: string;
  kind: string;
  balance_micro: string;
}

describe("the console's API", () => {
  let dataDir: string;
  let platform: Platform;
  let operator: ConsoleClient;
  /** Owns the platform's builder account and its host account. */
  let local: ConsoleClient;
  let host: Account;
  before(async () => {
    dataDir = await newDataDir();
    platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", "tiny-3b"]);
    operator = await new ConsoleClient(platform).signIn(platform.ready.operator);
    local = await new ConsoleClient(platform).signIn(platform.ready.builder);
    const { data } = await operator.get<{ data: Account[] }>("operator/accounts?kind=host");
    host = data[0] as Account;
  });
  after(async () => {
    assert.equal(await platform?.stop(), 0);
    await removeDataDir(dataDir);
  });

  /** The platform as somebody else's key sees it. */
  const withKey = (token: string): Platform => ({ ...platform, ready: { ...platform.ready, api_key: token } });
  const statusOf = async (who: Platform): Promise<number> => {
    const response = await chat(who, { text: "x" });
    await response.text();
    return response.status;
  };
  const becomes = (what: string, who: Platform, status: number) =>
    eventually(what, async () => (await statusOf(who)) === status);
  let people = 0;
  const newBuilder = async () => {
    const client = new ConsoleClient(platform);
    const account = await client.signUp(`somebody-${people++}@example.test`, { operator, credit: "1000000" });
    const key = await client.send<{ id: string; secret: string }>("POST", "keys", { name: "a key" });
    return { client, account, key, platform: withKey(key.secret) };
  };

  test("a key that was just made works; its request is in the history, the sums and the statement, to the picodollar", async () => {
    const { client, key, response, keys } = await inOne("day", async () => {
      const { client, key, platform: theirs } = await newBuilder();
      const response = await chat(theirs, { text: "one two three" });
      await response.text();
      return { client, key, response, keys: await client.get<{ data: { spend_this_month: object }[] }>("keys") };
    });
    assert.equal(response.status, 200);
    const id = response.headers.get("x-request-id") as string;
    const record = await client.get<Record<string, unknown>>(`requests/${id}`);
    assert.deepEqual([record.id, record.outcome, record.key], [id, "ok", { id: key.id, name: "a key" }]);
    const [row] = await platform.query<{ charge_pico: string; node_id: string }>(
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
    assert.deepEqual([ledger.data[0]?.amount_micro, ledger.data[0]?.request_id], [`-${micro}`, id]);
    const file = await client.ask("GET", "requests.csv");
    assert.match(file.text, new RegExp(`\\r\\n${id},.*,${micro.replace(".", "\\.")},`));
    for (const { text } of [
      file,
      await client.ask("GET", "requests"),
      await client.ask("GET", `requests/${id}/receipt`),
    ]) {
      assert.ok(!text.includes("node_") && !text.includes(row?.node_id as string), "which node it was is not told");
    }
  });

  test("a suspended builder: its keys say 401, what runs ends as ever; restored, they work again", async () => {
    const { client, account, platform: theirs } = await newBuilder();
    const running = await chat(theirs, { tokens: 60, delta_ms: 50 }, { stream: true });
    const id = running.headers.get("x-request-id") as string;
    await operator.send("POST", `operator/accounts/${account}/suspend`, { reason: "unpaid" });
    await becomes("its key is refused", theirs, 401);
    assert.equal((await client.ask("GET", "balance")).body.error?.code, "account_suspended");
    assert.equal((await client.ask("GET", `requests/${id}`)).body.error?.code, "account_suspended");
    assert.equal(await statusOf(platform), 200, "others are served");
    assert.match(await running.text(), /"finish_reason":"stop"[\s\S]*\[DONE\]/);

    await operator.send("POST", `operator/accounts/${account}/restore`, { reason: "paid" });
    await becomes("its key works again", theirs, 200);
    const record = await client.get<Record<string, unknown>>(`requests/${id}`);
    assert.deepEqual(
      [record.outcome, (record.usage as { completion_tokens: number }).completion_tokens > 0],
      ["ok", true],
    );
    assert.notEqual(record.charge_micro, "0.000000");
  });

  test("a suspended host: its nodes get no new work, what they run ends as ever; restored, they serve again", async () => {
    const running = await chat(platform, { tokens: 60, delta_ms: 25 }, { stream: true });
    await operator.send("POST", `operator/accounts/${host.id}/suspend`, { reason: "complaints" });
    await becomes("no node is left", platform, 503);
    const token = await fetch(`${platform.ready.base_url}/node/v1/nodes`, {
      headers: { authorization: `Bearer ${platform.ready.host_token}` },
    });
    assert.equal(token.status, 401, "nor does its token work");
    assert.match(await running.text(), /\[DONE\]/);
    assert.equal((await local.ask("GET", "nodes")).body.error?.code, "host_only");
    await operator.send("POST", `operator/accounts/${host.id}/restore`, { reason: "settled" });
    await becomes("its node serves again", platform, 200);
  });

  test("a key's own limits hold from its next request on, and no longer than they stand", async () => {
    const { key, platform: theirs } = await newBuilder();
    assert.equal(await statusOf(theirs), 200);
    const limit = (limits: object) => operator.send("PUT", `operator/keys/${key.id}/limits`, limits);
    await limit({ in_flight: 0 });
    await becomes("nothing is let in", theirs, 429);
    await limit({ requests_per_minute: 1 });
    const refused = await eventually("the new limit holds", async () => {
      const response = await chat(theirs, { text: "x" });
      const body = (await response.json()) as { error?: { code: string } };
      return body.error?.code === "rate_limit_requests" && response;
    });
    assert.equal(refused.headers.get("x-ratelimit-limit-requests"), "1");
    await limit({});
    await becomes("the defaults hold again", theirs, 200);
  });

  test("live numbers: the balance and the last request change while a page looks", async () => {
    const { client, platform: theirs } = await newBuilder();
    const stream = await fetch(`${platform.ready.base_url}/console/api/live`, { headers: { cookie: client.cookie } });
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
    const response = await chat(theirs, { text: "x" });
    await response.text();
    await until(new RegExp(`"latest":"${response.headers.get("x-request-id")}"`));
    await until(/"balance_micro":"99\d{4}\.\d{6}"/);
    await reader.cancel();
  });

  test("a payout batch: made, exported, paid; the host sees it, the books are proved from the shell", async () => {
    const owed = async () =>
      (await local.get<{ balance: { pending_micro: string; paid_out_micro: string } }>("earnings")).balance;
    const before = await owed();
    assert.notEqual(before.pending_micro, "0.000000");
    const batch = await operator.send<{ id: string; total_micro: string; state: string }>("POST", "operator/payouts", {
      note: "from the test",
    });
    assert.deepEqual([batch.state, batch.total_micro], ["open", before.pending_micro]);
    const file = await operator.ask("GET", `operator/payouts/${batch.id}/csv`);
    assert.match(
      file.text,
      new RegExp(`\\r\\npay_\\w+,${host.id},Local host,\\S+,${before.pending_micro},0\\.000000,0\\.000000\\r\\n$`),
    );
    assert.equal((await operator.ask("POST", "operator/payouts", {})).body.error?.code, "nothing_owed");
    await operator.send("POST", `operator/payouts/${batch.id}/paid`);
    const after = await owed();
    assert.deepEqual([after.pending_micro, after.paid_out_micro], ["0.000000", before.pending_micro]);
    const moved = await platform.query<{ amount: string }>("select amount from transfer where kind = 'payout'");
    assert.deepEqual(moved, [{ amount: before.pending_micro.replace(".", "").replace(/^0+/, "") }]);
    await assertBalanced(platform);
    const proof = await operator.get<{ balanced: boolean }>("operator/ledger/check");
    assert.equal(proof.balanced, true);
    const check = tollgate(["admin", "ledger", "check", "--data", dataDir]);
    assert.equal(await check.ended, 0, check.output());
    assert.match(check.output(), /The books balance\./);
  });

  test("quarantine and release by the operator, resume by the host", async () => {
    const { data } = await local.get<{ data: { id: string; state: string }[] }>("nodes");
    const node = data[0]?.id as string;
    assert.equal(data[0]?.state, "online");
    await operator.send("POST", `operator/nodes/${node}/quarantine`, { reason: "smells of smoke" });
    await becomes("it gets no work", platform, 503);
    const seen = await local.get<{ state: string; quarantine: { reason: string } }>(`nodes/${node}`);
    assert.deepEqual([seen.state, seen.quarantine.reason], ["quarantined", "smells of smoke"]);
    assert.equal((await local.ask("POST", `nodes/${node}/resume`)).body.error?.code, "node_quarantined");
    const released = await operator.send<{ state: string }>("POST", `operator/nodes/${node}/release`);
    assert.equal(released.state, "paused");
    assert.equal((await local.send<{ state: string }>("POST", `nodes/${node}/resume`)).state, "ready");
  });

  test("the record has every act of these tests, in order, with its end", async () => {
    const { data } = await operator.get<{ data: { operator: string; action: string; outcome: string }[] }>(
      "operator/audit?limit=100",
    );
    const grants = Array.from({ length: people }, () => "account.grant done");
    const acts = data.map(({ action, outcome }) => `${action} ${outcome}`).reverse();
    assert.deepEqual(
      acts.filter((act) => act.startsWith("account.grant")),
      grants,
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
    assert.ok(data.every((act) => act.operator === platform.ready.operator.email));
  });
});
