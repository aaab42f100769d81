/** For tests: calls all console operations of signed-in persons and builders, and causes their errors. */
import assert from "node:assert/strict";
import { systemClock } from "../../../base/clock.ts";
import { publicId, type Uuid } from "../../../base/ids.ts";
import { createLog } from "../../../base/log.ts";
import { dollars } from "../../../base/money.ts";
import { fault } from "../../../faults.ts";
import { openRollupWriter } from "../../../history/rollup-writer.ts";
import { PoolBusyError } from "../../../metering/worker-pool.ts";
import { Browser } from "../../testing/browser.ts";
import { insertRefusedRequest, insertServedRequest } from "../../testing/past-requests.ts";
import { signInTestPerson } from "../../testing/sign-in-test-person.ts";
import { addSecretsUpToMaximum, deleteActiveSecrets } from "./active-secrets.ts";
import type { ContractFixture } from "./contract-fixture.ts";
import type { Coverage } from "./route-coverage.ts";

export async function callAccountRoutes({ platform, people }: ContractFixture, { ask }: Coverage): Promise<void> {
  const { browser, identityId } = await signInTestPerson(platform);
  const open = (status: number, name: string) =>
    ask(browser, status, "openAccount", { body: { kind: "builder", name } });
  await ask(browser, 200, "getMe");
  const { id } = (await open(201, "Work")).body;
  await ask(browser, 200, "renameAccount", { id, body: { name: "Play" } });
  await ask(browser, 200, "setPreferences", { body: { locale: "de-DE", time_zone: "Europe/Berlin" } });
  for (let i = 1; i < 20; i++) await open(201, `Work ${i}`);
  await open(409, "One too many");
  await ask(browser, 400, "getBalance");
  await ask(browser, 200, "getBalance", { headers: { "x-tollgate-account": String(id) } });
  for (const other of [new Browser(platform), new Browser(platform)]) await other.enter(platform, identityId);
  const { data } = (await ask(browser, 200, "listSessions")).body;
  const session = (data as { id: string; current: boolean }[]).find(({ current }) => !current);
  await ask(browser, 200, "endSession", { id: session?.id });
  assert.deepEqual((await ask(browser, 200, "endOtherSessions")).body, { ended: 1 });

  const suspended = people["suspended builder"];
  const own = publicId("acc", suspended.accountIds[0] as Uuid);
  const body = { kind: "builder", name: "Another" };
  await ask(suspended.browser, 403, "openAccount", { body });
  await ask(suspended.browser, 403, "renameAccount", { id: own, body });
}

export async function callKeyRoutes({ platform, people, make }: ContractFixture, { ask }: Coverage): Promise<void> {
  const { browser, accountIds } = people.builder;
  await make("request");
  const { id, secret } = (await ask(browser, 201, "createKey", { body: { name: "new" } })).body;
  assert.match(String(secret), /^tsk_live_[0-9A-Za-z]{12}_[0-9A-Za-z]{43}$/);
  const settings = {
    name: "newer",
    budget_day_micro: "1500000.5",
    budget_month_micro: null,
    models: ["tiny-3b"],
    expires_at: 4_000_000_000,
    limits: { requests_per_minute: 5 },
  };
  const changed = (await ask(browser, 200, "changeKey", { id, body: settings })).body;
  assert.deepEqual(changed.limits_set, { requests_per_minute: 5, tokens_per_minute: null, in_flight: null });
  assert.equal(changed.budget_day_micro, "1500000.500000");
  await ask(browser, 200, "changeKey", { id, body: { limits: { in_flight: 3 } } });
  const freed = (await ask(browser, 200, "changeKey", { id, body: { limits: { in_flight: null } } })).body;
  assert.deepEqual(freed, changed, "a limit that is not named stays");
  await ask(browser, 400, "changeKey", { id, body: {} });
  for (const wrong of [
    { models: ["none"] },
    { expires_at: 1 },
    { limits: { in_flight: 65 } },
    { budget_day_micro: "-1" },
  ]) {
    const { body } = await ask(browser, 400, "changeKey", { id, body: wrong });
    const { param, message } = body.error as { param: string; message: string };
    assert.ok(param.startsWith(Object.keys(wrong)[0] as string) && message.startsWith(`"${param}" `), message);
  }
  await ask(browser, 400, "createKey", { body: { name: "new", models: [] } });
  const { as_of: _, ...read } = (await ask(browser, 200, "getKey", { id })).body;
  assert.deepEqual(read, changed);
  const rotated = (await ask(browser, 200, "rotateKey", { id, body: { keep_old_s: 60 } })).body;
  assert.notEqual(rotated.secret, secret);
  await ask(browser, 400, "rotateKey", { id, body: { keep_old_s: -1 } });
  await platform.parts.apiKeys.authenticate(`Bearer ${secret}`);
  await ask(browser, 200, "revokeKey", { id });
  await ask(browser, 404, "changeKey", { id, body: { name: "gone" } });
  await ask(browser, 404, "rotateKey", { id, body: {} });
  await ask(browser, 404, "getKey", { id: publicId("key", platform.newId()) });
  const used = await platform.parts.apiKeys.issue(accountIds[0] as Uuid, "used");
  await insertServedRequest(platform, { accountId: accountIds[0] as Uuid, keyId: used.id, charge: 1_000n });
  const { data } = (await ask(browser, 200, "listKeys")).body;
  const spent = (data as { spend_this_month: { requests: number } }[]).map((key) => key.spend_this_month.requests);
  assert.ok(spent.includes(0) && spent.some((requests) => requests > 0), `${spent}`);
  await ask(browser, 400, "listKeys", { query: "limit=0" });
  await addSecretsUpToMaximum(platform.pool, "api_key", accountIds[0] as Uuid);
  await ask(browser, 409, "createKey", { body: { name: "one too many" } });
  await platform.pool.query("update api_key set expires_at = now() - interval '1 hour' where id = $1", [used.id]);
  await ask(browser, 409, "changeKey", { id: publicId("key", used.id), body: { expires_at: null } });
  await deleteActiveSecrets(platform.pool, "api_key");
}

/** The key's limits and its expiry are tested in keys/playground-keys.test.ts. */
export async function callPlaygroundRoutes({ platform, people }: ContractFixture, { ask }: Coverage): Promise<void> {
  const { browser } = people.builder;
  const { secret } = (await ask(browser, 201, "issuePlaygroundKey")).body;
  assert.equal((await platform.parts.apiKeys.authenticate(`Bearer ${secret}`))?.name, "Playground");
  const { sessionKeys } = platform.parts;
  const { issue } = sessionKeys;
  // Simulates a session that ends after the guard has checked it.
  sessionKeys.issue = async () => undefined;
  await ask(browser, 401, "issuePlaygroundKey");
  sessionKeys.issue = issue;
}

export async function callRequestRoutes({ platform, people }: ContractFixture, { ask }: Coverage): Promise<void> {
  const { browser, accountIds } = await signInTestPerson(platform, [{ kind: "builder" }]);
  const [accountId] = accountIds as [Uuid];
  const [hostId] = people.host.accountIds as [Uuid];
  const { id: keyId } = await platform.parts.apiKeys.issue(accountId, "a key");
  const node = await platform.parts.fleet.register(hostId, { name: "serves", hardware: {}, agent: "" });
  const request = { accountId, keyId, charge: 1_000n, host: { accountId: hostId, nodeId: node.id }, label: "a job" };
  const ids = [
    await insertServedRequest(platform, request),
    await insertServedRequest(platform, request),
    await insertServedRequest(platform, request),
  ];
  await insertRefusedRequest(platform, { accountId, keyId });
  const { data, next_cursor } = (await ask(browser, 200, "listRequests", { query: "limit=2" })).body;
  assert.equal((data as unknown[]).length, 2);
  const second = await ask(browser, 200, "listRequests", { query: `cursor=${next_cursor}` });
  assert.equal(second.body.next_cursor, null);
  const query = `model=tiny-3b&key=${publicId("key", keyId)}&outcome=ok&from=2026-01-01&to=2999-01-01T00:00:00Z`;
  await ask(browser, 200, "listRequests", { query });
  const file = await ask(browser, 200, "exportRequests", { query });
  assert.equal(file.text.trimEnd().split("\r\n").length, 1 + ids.length);
  for (const sort of ["oldest", "cost", "duration"]) {
    const from = `sort=${sort}&from=${Math.floor(Date.now() / 1000) - 3600}`;
    const { data, next_cursor } = (await ask(browser, 200, "listRequests", { query: `${from}&limit=3` })).body;
    assert.equal((data as unknown[]).length, 3, sort);
    const rest = (await ask(browser, 200, "listRequests", { query: `${from}&cursor=${next_cursor}` })).body;
    assert.equal((rest.data as unknown[]).length, 1, sort);
    await ask(browser, sort === "duration" ? 400 : 200, "listRequests", { query: `sort=${sort}` });
  }
  const labelled = (await ask(browser, 200, "listRequests", { query: "label=a+job" })).body.data as { label: string }[];
  assert.deepEqual(
    labelled.map(({ label }) => label),
    ids.map(() => "a job"),
  );
  const { requests, charge_micro } = (await ask(browser, 200, "getRequestTotals", { query: "label=a+job" })).body;
  assert.deepEqual([requests, charge_micro], [ids.length, "0.003000"]);
  assert.equal((await ask(browser, 200, "getRequestTotals")).body.requests, ids.length + 1);
  await ask(browser, 200, "getRequestHistogram");
  const now = Math.floor(Date.now() / 1000);
  const day = { query: `from=${now - 86_400}&to=${now}` };
  assert.equal((await ask(browser, 200, "getRequestHistogram", day)).body.bucket_s, 900);
  for (const list of ["listRequests", "exportRequests", "getRequestTotals", "getRequestHistogram"]) {
    await ask(browser, 400, list, { query: `label=${"x".repeat(65)}` });
    await ask(browser, 422, list, { query: "model=none" });
    await ask(browser, 422, list, { query: "outcome=none" });
    await ask(browser, 400, list, { query: "key=none" });
  }
  const id = publicId("req", ids[0] as Uuid);
  await ask(browser, 200, "getRequest", { id });
  const ofAnswer = id.replace("req_", "chatcmpl-");
  assert.equal((await ask(browser, 200, "getRequest", { id: ofAnswer })).body.id, id);
  await ask(browser, 200, "getReceipt", { id });

  platform.parts.unfunded.count({ id: keyId, accountId }, { kind: "no_credit" });
  platform.parts.unfunded.count({ id: keyId, accountId }, { kind: "exceeds_budget", of: "day" });
  await platform.parts.unfunded.flush();
  const lost = (await ask(browser, 200, "listUnfunded")).body.data;
  const key = publicId("key", keyId);
  assert.deepEqual(lost, [
    { key, reason: "budget_day", requests: 1 },
    { key, reason: "no_credit", requests: 1 },
  ]);
  await ask(browser, 400, "listUnfunded", { query: "from=2026-01-02&to=2026-01-01" });
  await ask(browser, 400, "listUnfunded", { query: "from=2024-01-01" });
}

export async function callRefusalRoutes({ platform }: ContractFixture, { ask }: Coverage): Promise<void> {
  const { browser, accountIds } = await signInTestPerson(platform, [{ kind: "builder" }]);
  const [accountId] = accountIds as [Uuid];
  const { id } = await platform.parts.apiKeys.issue(accountId, "a key");
  const { refusedCalls } = platform.parts;
  refusedCalls.note({ id, accountId }, { code: "model_not_found", status: 404, model: "no-model", message: "no" });
  await refusedCalls.flush();
  const { data } = (await ask(browser, 200, "listRefusals")).body as { data: Record<string, unknown>[] };
  assert.deepEqual(
    data.map(({ code, requests }) => [code, requests]),
    [["model_not_found", 1]],
  );
  await ask(browser, 400, "listRefusals", { query: "from=2026-01-02&to=2026-01-01" });
}

export async function callHealthRoutes({ platform, people }: ContractFixture, { ask }: Coverage): Promise<void> {
  assert.deepEqual((await ask(people.builder.browser, 200, "getHealth")).body.unreachable, []);
  const { now } = platform.parts.outages;
  platform.parts.outages.now = () => [{ part: "database", since: Date.now(), isNeeded: true }];
  const { unreachable } = (await ask(people.builder.browser, 200, "getHealth")).body;
  assert.equal((unreachable as { part: string }[])[0]?.part, "database");
  platform.parts.outages.now = now;
  assert.equal((await ask(people.builder.browser, 200, "getStatus")).body.object, "status");
}

export async function callPerformanceRoutes({ platform }: ContractFixture, { ask }: Coverage): Promise<void> {
  const { browser, accountIds } = await signInTestPerson(platform, [{ kind: "builder" }]);
  const [accountId] = accountIds as [Uuid];
  const nothing = (await ask(browser, 200, "getPerformance")).body;
  assert.deepEqual([nothing.data, nothing.series], [[], []]);
  const keys = [platform.newId(), platform.newId()];
  for (const outcome of ["ok", "ok", "client_closed", "upstream_failed"]) {
    for (const [place, keyId] of keys.entries()) {
      await insertServedRequest(platform, {
        accountId,
        keyId,
        outcome,
        model: place === 0 ? "tiny-3b" : "small-8b",
        charge: 1n,
      });
    }
  }
  await openRollupWriter({ pool: platform.pool, clock: systemClock, log: createLog("silent") }).run();
  for (const range of ["1h", "6h", "24h", "7d", "30d", "90d"]) {
    for (const by of ["model", "key"]) {
      const { total, data, series } = (await ask(browser, 200, "getPerformance", { query: `range=${range}&by=${by}` }))
        .body as { total: object; data: Record<string, unknown>[]; series: object[] };
      assert.deepEqual(total, {
        requests: 8,
        ok: 4,
        closed: 2,
        failed: 2,
        error_share: 2 / 6,
        ttft_ms: { p50: 30, p95: 30, p99: 30 },
        duration_ms: { p50: 401, p95: 401, p99: 401 },
        tokens_per_second: (4 * 4 * 1000) / (4 * 370),
      });
      assert.deepEqual(
        data.map((row) => [row[by], row.requests]).sort(),
        (by === "model" ? ["small-8b", "tiny-3b"] : keys.map((id) => publicId("key", id)))
          .map((one) => [one, 4])
          .sort(),
      );
      assert.ok(series.length > 0);
    }
  }
  const one = `key=${publicId("key", keys[0] as Uuid)}`;
  for (const query of [one, "model=tiny-3b", `${one}&model=tiny-3b&by=key`]) {
    const { total } = (await ask(browser, 200, "getPerformance", { query })).body as { total: { requests: number } };
    assert.equal(total.requests, 4, query);
  }
  await ask(browser, 422, "getPerformance", { query: "model=none" });
  for (const query of ["range=2h", "by=day", "key=none"]) await ask(browser, 400, "getPerformance", { query });
}

/** A sum has the grouping fields that the query names in `by` and `split`, and no other grouping field. */
export async function callUsageRoutes({ people, make }: ContractFixture, { ask }: Coverage): Promise<void> {
  const { browser } = people.builder;
  await make("request");
  const fields = ["key", "model", "day", "hour", "outcome"];
  const { data: labels } = (await ask(browser, 200, "getUsage", { query: "by=label" })).body;
  assert.equal((labels as { label: null }[]).at(-1)?.label, null);
  await ask(browser, 400, "getUsage", { query: "by=label&split=key" });
  for (const by of fields) {
    for (const split of [undefined, "key", "model"]) {
      const query = `by=${by}${split === undefined ? "" : `&split=${split}`}`;
      const { data } = (await ask(browser, 200, "getUsage", { query })).body;
      assert.ok((data as object[]).length > 0, query);
      for (const row of data as object[]) {
        const named = fields.filter((field) => field in row);
        assert.deepEqual(new Set(named), new Set([by, split ?? by]), query);
      }
    }
  }
  for (const span of ["from=2026-01-02&to=2026-01-01", "by=hour&from=2026-01-01&to=2026-03-01"]) {
    await ask(browser, 400, "getUsage", { query: span });
  }
  await ask(browser, 400, "getUsage", { query: "key=none" });
  await ask(browser, 400, "getUsage", { query: "by=day&from=2025-01-01&to=2026-03-01" });
}

export async function callInvoiceRoutes({ people }: ContractFixture, { ask }: Coverage): Promise<void> {
  const thisMonth = `month=${new Date().toISOString().slice(0, 7)}`;
  for (const [who, id] of [
    ["builder", "getInvoice"],
    ["host", "getHostStatement"],
  ] as const) {
    await ask(people[who].browser, 200, id, { query: thisMonth });
    for (const query of ["month=2026-13", "month=2099-01", ""]) await ask(people[who].browser, 400, id, { query });
  }
}

export async function callStatementRoutes(
  { platform, people, make }: ContractFixture,
  { ask }: Coverage,
): Promise<void> {
  const { browser } = people.builder;
  await make("request");
  assert.equal((await ask(browser, 200, "getCredits")).body.can_buy, true);
  await ask(browser, 200, "setAlert", { body: { mark_micro: "2500000.5" } });
  const { alert } = (await ask(browser, 200, "setAlert", { body: { mark_micro: null } })).body;
  assert.deepEqual(alert, { mark_micro: null, is_below: false });
  for (const mark_micro of ["-1", "0.000001", 5, "1e3", "1000000000001"]) {
    await ask(browser, 400, "setAlert", { body: { mark_micro } });
  }
  const { next_cursor } = (await ask(browser, 200, "listStatement", { query: "limit=1" })).body;
  const rest = (await ask(browser, 200, "listStatement", { query: `limit=100&cursor=${next_cursor}` })).body;
  assert.equal(rest.next_cursor, null);
  const file = await ask(browser, 200, "exportStatement");
  assert.equal(file.text.trimEnd().split("\r\n").length, 1 + 1 + (rest.data as unknown[]).length);
  const nothing = platform.serve({ payments: undefined });
  const poor = new Browser({ app: nothing });
  for (const [name, value] of browser.cookies) poor.cookies.set(name, value);
  assert.equal((await ask(poor, 200, "getCredits")).body.can_buy, false);
}

export async function callPaymentRoutes(
  { platform, people, make, demo }: ContractFixture,
  { ask }: Coverage,
): Promise<void> {
  const { browser } = people.builder;
  const topUp = { enabled: true, amount_micro: "20000000", mark_micro: "5000000", month_max_micro: "100000000" };
  await ask(browser, 409, "setTopUp", { body: topUp });
  await ask(browser, 409, "removeMethod");
  for (const wrong of [
    { enabled: "yes" },
    { amount_micro: "20000000.5" },
    { amount_micro: "4990000" },
    { month_max_micro: "19990000" },
    { mark_micro: "0" },
  ]) {
    await ask(browser, 400, "setTopUp", { body: { ...topUp, ...wrong } });
  }
  await ask(browser, 200, "openSetup");
  demo.deliveries.to("http://nobody.invalid/");
  const page = demo.shop.sales.at(-1) ?? assert.fail("no page was opened");
  demo.shop.save(page, "4242");
  const event = JSON.stringify(demo.deliveries.all.at(-1)?.event);
  await platform.parts.payments?.receive(Buffer.from(event), demo.deliveries.sign(event));
  const { top_up, method } = (await ask(browser, 200, "setTopUp", { body: topUp })).body;
  assert.deepEqual(method, { object: "payment_method", brand: "visa", last4: "4242" });
  assert.equal((top_up as { month_spent_micro: string }).month_spent_micro, "0.000000");
  const away = platform.outside;
  away.provider = "away";
  await ask(browser, 502, "openSetup");
  await ask(browser, 502, "removeMethod");
  const id = await make("payment");
  away.provider = "there";
  assert.equal((await ask(browser, 200, "getPaymentReceipt", { id })).body.receipt_url, null);
  const sale = demo.shop.sales.at(-1) ?? assert.fail("nothing was sold");
  demo.shop.pay(sale);
  const paid = JSON.stringify(demo.deliveries.all.at(-1)?.event);
  await platform.parts.payments?.receive(Buffer.from(paid), demo.deliveries.sign(paid));
  assert.match(String((await ask(browser, 200, "getPaymentReceipt", { id })).body.receipt_url), /^http/);
  away.provider = "away";
  await ask(browser, 502, "getPaymentReceipt", { id });
  away.provider = "there";
  await ask(browser, 200, "removeMethod");
  const { data } = (await ask(browser, 200, "listPayments", { query: "limit=1" })).body;
  assert.deepEqual(
    (data as { state: string }[]).map(({ state }) => state),
    ["paid"],
  );
  for (let open = 2; open < 10; open++) await ask(browser, 200, "openSetup");
  await ask(browser, 429, "openSetup");
  const nothing = new Browser({ app: platform.serve({ payments: undefined }) });
  for (const route of ["setTopUp", "openSetup", "removeMethod", "listPayments", "getPaymentReceipt"]) {
    await ask(nothing, 404, route);
  }
}

export async function callMoneyRoutes({ platform, people, make }: ContractFixture, { ask }: Coverage): Promise<void> {
  const { browser } = people.builder;
  await make("request");
  await ask(browser, 200, "getBalance");
  const { next_cursor } = (await ask(browser, 200, "listLedger", { query: "limit=1" })).body;
  await ask(browser, 200, "listLedger", { query: `limit=100&cursor=${next_cursor}` });
  await ask(browser, 200, "listPacks");
  const buy = (status: number, pack_id: string) => ask(browser, status, "createCheckout", { body: { pack_id } });
  await buy(200, "pack_5");
  await buy(422, "pack_6");
  for (const body of [{}, { pack_id: "pack_5", amount_micro: "5000000" }, { amount_micro: "5000001" }]) {
    await ask(browser, 400, "createCheckout", { body });
  }
  platform.outside.checkout = () => Promise.reject(fault("payment_provider_unavailable"));
  await buy(502, "pack_5");
  platform.outside.checkout = undefined;
  for (let open = 1; open < 10; open++) await buy(200, "pack_5");
  await buy(429, "pack_5");
  const nothing = new Browser({ app: platform.serve({ payments: undefined }) });
  await ask(nothing, 404, "listPacks");
  await ask(nothing, 404, "createCheckout", { body: {} });

  // An account with a negative balance, and with transfers of every kind in its statement.
  const poor = await signInTestPerson(platform, [{ kind: "builder" }]);
  const accountId = poor.accountIds[0] as Uuid;
  for (const kind of ["purchase", "refund", "dispute"] as const) {
    const transfer = { id: platform.newId(), kind, accountId, amount: dollars(6), reason: "a test" };
    assert.equal(await platform.ledger.transfer(transfer), "moved");
  }
  const { data } = (await ask(poor.browser, 200, "listLedger")).body;
  assert.equal((data as object[]).length, 4);
  assert.equal((await ask(poor.browser, 200, "getBalance")).body.balance_micro, "-1000000.000000");
}

const VIEWERS_MAX = 50;

export async function callEventStreamRoutes(
  { platform, people }: ContractFixture,
  { ask, watch }: Coverage,
): Promise<void> {
  for (const [id, { browser }, names] of [
    ["watchAccount", people.builder, ["balance", "requests"]],
    ["watchPlatform", people.operator, ["load"]],
  ] as const) {
    const streams = await Promise.all(Array.from({ length: VIEWERS_MAX }, () => watch(platform.app, browser, id)));
    await ask(browser, 429, id);
    for (const name of names) await streams[0]?.event(name);
    for (const { close } of streams) close();
  }
}

export async function callModelRoutes({ platform, people, make }: ContractFixture, { ask }: Coverage): Promise<void> {
  const { browser } = people.builder;
  const { outside } = platform;
  outside.connected.add(await make("node"));
  const { data } = (await ask(browser, 200, "listLiveModels")).body;
  const tiny = (data as { id: string; tps_p50: number; nodes: number }[]).find(({ id }) => id === "tiny-3b");
  assert.deepEqual([tiny?.tps_p50, tiny?.nodes], [41.5, 1]);
  const detail = (await ask(browser, 200, "readModel", { id: "tiny-3b" })).body;
  assert.deepEqual([detail.build, detail.licence, detail.structured_output], ["tiny-3b-q4-1", null, true]);
  await ask(browser, 404, "readModel", { id: "none" });
  await ask(browser, 404, "readModelPerformance", { id: "none" });
  const coming = (await ask(browser, 200, "readModel", { id: "large-70b" })).body;
  assert.deepEqual([coming.build, coming.tokenizer, coming.structured_output], [null, null, false]);
  await ask(browser, 400, "readModelPerformance", { id: "tiny-3b", query: "range=1y" });
  await platform.parts.availability.sample([{ model: "tiny-3b", nodes: 1, slots: 4, busy: 1 }]);
  for (const [range, points] of Object.entries({ "24h": 24, "30d": 30, "90d": 90 })) {
    const { body } = await ask(browser, 200, "readModelPerformance", { id: "tiny-3b", query: `range=${range}` });
    const did = body as unknown as { points: { availability: number }[]; total: { availability: number } };
    assert.deepEqual([did.points.length, did.points.at(-1)?.availability, did.total.availability], [points, 1, 1]);
  }
  const chat = { model: "tiny-3b", messages: [{ role: "user", content: "one two three" }], max_tokens: 100 };
  const { prompt_tokens, output_tokens_max } = (await ask(browser, 200, "quoteChat", { body: chat })).body;
  assert.deepEqual([prompt_tokens, output_tokens_max], [3, 100]);
  const formed = { ...chat, response_format: { type: "json_schema", json_schema: { name: "a", schema: {} } } };
  assert.equal((await ask(browser, 200, "quoteChat", { body: formed })).body.prompt_tokens, prompt_tokens);
  await ask(browser, 400, "quoteChat", { body: { ...chat, messages: [] } });
  await ask(browser, 404, "quoteChat", { body: { ...chat, model: "none" } });
  outside.counting = { countPrompt: () => Promise.reject(new PoolBusyError()) };
  await ask(browser, 503, "quoteChat", { body: chat });
  outside.counting = {};
}
