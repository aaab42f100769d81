/** The platform's and one account's performance, and the filters of the audit log. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { publicId, type Uuid } from "../../../base/ids.ts";
import { HOUR_MS } from "../../../base/time.ts";
import { insertRefusedRequest, insertServedRequest } from "../../testing/past-requests.ts";
import { openTestPlatform, type TestPlatform } from "../../testing/platform.ts";
import { assertRefused, type Person, signInTestPerson } from "../../testing/sign-in-test-person.ts";

const API = "/console/api/operator";

let platform: TestPlatform;
let operator: Person;
let [builder, quiet, host] = [] as unknown as [Uuid, Uuid, Uuid];
let [good, bad, away] = [] as unknown as [Uuid, Uuid, Uuid];
const slot = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 2 * HOUR_MS);

const get = async (path: string) => {
  const { status, body, text } = await operator.browser.send("GET", `${API}/${path}`);
  assert.equal(status, 200, text);
  // biome-ignore lint/suspicious/noExplicitAny: what it is, the platform of tests has checked
  return body as any;
};

before(async () => {
  platform = await openTestPlatform();
  const { pool, parts } = platform;
  operator = await signInTestPerson(platform, [], { operator: true });
  const kinds = [{ kind: "builder" }, { kind: "builder" }, { kind: "host" }] as const;
  [builder, quiet, host] = (await platform.person([...kinds])).accountIds as [Uuid, Uuid, Uuid];
  await pool.query(
    "insert into price values (1, 'tiny-3b', 20000, 40000), (1, 'small-8b', 20000, 40000) on conflict do nothing",
  );
  const register = async (name: string, agent: string): Promise<Uuid> => {
    const { id } = await parts.fleet.register(host, { name, hardware: {}, agent });
    await parts.fleet.elect(host, id, ["tiny-3b"]);
    return id;
  };
  good = await register("good", "tollgate-host/1.2.0");
  bad = await register("bad", "tollgate-host/1.2.0");
  away = await register("away", "1.0.9");
  // All nodes but `good` have enough honest answers to be trusted, so only `good` is on probation.
  await pool.query("update node set honest_answers = 1000 where id <> $1", [good]);
  for (const id of [good, bad]) platform.outside.connected.add(publicId("node", id));
  // Makes all credit bought credit, because a host is not paid when its own owner spends granted credit on it.
  await pool.query("update ledger_account set granted = 0 where id = any ($1)", [[builder, quiet]]);
  const at = new Date(slot.getTime() + 60_000);
  const on = (nodeId: Uuid) => ({ accountId: host, nodeId });
  const tokens = { promptTokens: 3, completionTokens: 5, charge: 260_000n };
  for (let i = 0; i < 6; i++)
    await insertServedRequest(platform, { accountId: builder, at, ...tokens, host: on(good) });
  await insertServedRequest(platform, { accountId: quiet, at, model: "small-8b", ...tokens, host: on(good) });
  const fails = { at, outcome: "upstream_failed", charge: 0n, completionTokens: 1 };
  for (let i = 0; i < 3; i++) await insertServedRequest(platform, { accountId: builder, ...fails, host: on(bad) });
  await insertServedRequest(platform, { accountId: builder, at, outcome: "client_closed", charge: 0n, host: on(good) });
  await insertRefusedRequest(platform, { accountId: builder, at });
  await pool.query("select history_roll_up(1000)");
  const seen = (busy: number) => [
    { id: good, slots: 4, busy },
    { id: bad, slots: 2, busy: 0 },
  ];
  await parts.presence.sample(seen(3), new Date(slot.getTime() + 60_000));
  await parts.presence.sample(seen(0), new Date(slot.getTime() + 120_000));
});
after(() => platform.close());

describe("the platform's performance", () => {
  test("lists a database failover with lost data as one entry, with the losses that all gateways found", async () => {
    assert.equal((await get("performance?range=24h")).history_losses, undefined);
    const found = [new Date(slot.getTime()), new Date(slot.getTime() + 5_000)];
    await platform.pool.query(
      `with epoch as (insert into ledger_history (epoch, system, timeline, position, reason)
                      values (gen_random_uuid(), 'test', 2, 0, 'failover') returning epoch)
       insert into history_loss (epoch, gateway, found_at, positions, entered, not_entered)
       select epoch, 'one', $1::timestamptz, 6, '{"requests": 246, "api_key": 1}'::jsonb, '[]'::jsonb from epoch
       union all
       select epoch, 'other', $2, 5, '{"requests": 10}', '[{"kind": "request", "id": "req_x", "reason": "why"}]' from epoch`,
      found,
    );
    const { history_losses } = await get("performance?range=24h");
    assert.deepEqual(history_losses, [{ at: slot.getTime() / 1000, lost_s: 6, entered: 257, missing: 1 }]);
  });

  test("counts no client disconnect as an error, no refusal as a request, and a node that is sampled twice only once", async () => {
    const { total, series, slot_s } = await get("performance?range=24h");
    assert.deepEqual([slot_s, series.length], [3600, 24]);
    const at = series.find((one: { at: number }) => one.at === slot.getTime() / 1000);
    for (const one of [total, at]) {
      assert.deepEqual([one.requests, one.failed, one.error_share], [11, 3, 0.3]);
      assert.deepEqual([one.nodes, one.slots, one.busy_share], [2, 6, 0.25]);
      assert.ok(one.ttft_p95_ms >= 29 && one.ttft_p95_ms <= 31);
    }
    assert.equal(at.rate_per_s, 11 / 3600);
    assert.equal(total.charge_micro, "1.820000");
    const idle = series[0];
    assert.deepEqual(
      [idle.requests, idle.rate_per_s, idle.error_share, idle.ttft_p95_ms, idle.nodes, idle.busy_share],
      [0, 0, null, null, null, null],
    );
    const { total: none, series: minutes } = await get("performance?range=1h");
    assert.deepEqual([none.requests, none.error_share, minutes.length], [0, null, 12]);
  });

  test("lists models and accounts by spend, highest first", async () => {
    const { models, top_accounts } = await get("performance");
    const [tiny, small] = models;
    assert.deepEqual([tiny.model, tiny.requests, tiny.failed, tiny.charge_micro], ["tiny-3b", 10, 3, "1.560000"]);
    assert.deepEqual([small.model, small.requests, small.charge_micro], ["small-8b", 1, "0.260000"]);
    assert.ok(tiny.tokens_per_second > 0 && tiny.duration_ms.p50 > 390);
    assert.deepEqual(top_accounts, [
      { account: publicId("acc", builder), name: "A builder", requests: 10, failed: 3, charge_micro: "1.560000" },
      { account: publicId("acc", quiet), name: "A builder", requests: 1, failed: 0, charge_micro: "0.260000" },
    ]);
  });

  test("lists only nodes with problems, and each with its reason", async () => {
    type Found = { name: string; account_name: string; reasons: { code: string; text: string }[] };
    const { total, data } = (await get("performance")).nodes_to_look_at as { total: number; data: Found[] };
    assert.deepEqual(
      data.map(({ name, reasons }) => [name, ...reasons.map(({ code }) => code)]),
      [
        ["bad", "failing"],
        ["away", "offline", "old_agent"],
        ["good", "probation"],
      ].toSorted((a, b) => data.findIndex(({ name }) => name === a[0]) - data.findIndex(({ name }) => name === b[0])),
    );
    assert.equal(data[0]?.name, "bad");
    assert.equal(total, 3);
    const texts = data.flatMap(({ reasons }) => reasons.map(({ text }) => text));
    assert.ok(texts.includes("Failed 3 of 3 requests."), texts.join("; "));
    const text = "The node's agent has version 1.0.9, which is older than the platform's version 1.2.0.";
    assert.ok(texts.includes(text), texts.join("; "));
    await platform.parts.fleet.quarantine(away, { reason: "odd answers", evidence: {}, by: "a test" });
    const again = (await get("performance")).nodes_to_look_at.data as Found[];
    assert.match(JSON.stringify(again.find(({ name }) => name === "away")), /In quarantine: odd answers/);
  });
});

describe("one account", () => {
  test("a builder account's requests, errors and spend by model are shown, and its statement is available", async () => {
    const id = publicId("acc", builder);
    const { total, series, models, kind } = await get(`accounts/${id}/activity?range=24h`);
    assert.deepEqual([kind, series.length, models.length], ["builder", 24, 1]);
    assert.deepEqual(total, { requests: 10, failed: 3, error_share: 1 / 3, amount_micro: "1.560000" });
    const at = series.find((one: { at: number }) => one.at === slot.getTime() / 1000);
    assert.deepEqual([at.requests, at.amount_micro], [10, "1.560000"]);
    const statement = await get(`accounts/${id}/statement`);
    const rows = statement.data as { kind: string; amount_micro: string; balance_micro: string }[];
    assert.deepEqual(rows.map((row) => [row.kind, row.amount_micro]).toSorted(), [
      ["grant", "5000000.000000"],
      ["usage", "-1.560000"],
    ]);
    // The order of the rows depends on the time of day of the test, because two hours ago may be yesterday.
    const [newest, oldest] = rows;
    assert.equal(newest?.balance_micro, "4999998.440000");
    assert.equal(oldest?.balance_micro, oldest?.amount_micro);
  });

  test("a host account's requests, earnings, payouts and amount owed are shown, and a statement is refused", async () => {
    const id = publicId("acc", host);
    const { total, kind } = await get(`accounts/${id}/activity?range=24h`);
    assert.deepEqual([kind, total.requests, total.failed, total.amount_micro], ["host", 11, 3, "1.274000"]);
    const made = await operator.browser.send("POST", `${API}/payouts`, { body: { note: "November" } });
    const { data, balance } = await get(`accounts/${id}/payouts`);
    assert.deepEqual(
      data.map((line: Record<string, unknown>) => [line.payout, line.note, line.state, line.amount_micro]),
      [[made.body.id, "November", "open", "1.274000"]],
    );
    assert.deepEqual([balance.pending_micro, balance.paid_out_micro], ["1.274000", "0.000000"]);
    assertRefused(await operator.browser.send("GET", `${API}/accounts/${id}/statement`), 403, "not_a_builder");
  });
});

describe("the audit log", () => {
  const send = (method: "POST" | "PUT", path: string, body: object) =>
    operator.browser.send(method, `${API}/${path}`, { body });

  test("names its subjects, filters by operator, action, subject, account, outcome and time, and exports CSV", async () => {
    const [acc, node] = [publicId("acc", builder), publicId("node", good)];
    const key = await platform.parts.apiKeys.issue(builder, "production");
    const keyId = publicId("key", key.id);
    await send("POST", `accounts/${acc}/grant`, { amount_micro: "5000000", reason: "a welcome, =1+1" });
    await send("PUT", `keys/${keyId}/limits`, { in_flight: 3 });
    await send("POST", `nodes/${node}/release`, {});
    const subjects = async (query: string): Promise<string[]> =>
      ((await get(`audit?${query}`)).data as { action: string; subject: string }[]).map(({ action }) => action);
    assert.deepEqual(await subjects(`account=${acc}`), ["key.limits", "account.grant"]);
    assert.deepEqual(await subjects(`subject=${acc}`), ["account.grant"]);
    assert.deepEqual(await subjects(`account=${acc}&subject=${node}`), []);
    assert.deepEqual(await subjects("outcome=refused"), ["node.release"]);
    assert.deepEqual(await subjects("action=key.limits"), ["key.limits"]);
    assert.deepEqual(await subjects(`operator=${operator.email.toUpperCase()}&outcome=done&action=account.grant`), [
      "account.grant",
    ]);
    assert.equal((await subjects(`operator=${operator.email.slice(0, 4)}`)).includes("key.limits"), true);
    assert.deepEqual(await subjects("operator=command%20line"), []);
    assert.deepEqual(await subjects("to=2026-01-01"), []);
    const { data } = await get(`audit?action=key.limits`);
    assert.equal(data[0].subject_name, "production");
    assert.deepEqual(data[0].subject_account, { id: acc, name: "A builder" });
    const file = await operator.browser.send("GET", `${API}/audit.csv?subject=${acc}`);
    const [head, line, end] = file.text.split("\r\n");
    assert.equal(head, "at,operator,action,subject,subject_name,outcome,details");
    assert.match(String(line), new RegExp(`,${operator.email},account.grant,${acc},A builder,done,"`));
    assert.equal(end, "");
  });
});
