/** For tests: everything a signed-in person and a builder can ask of the console, and what is refused for its own reasons. */
import assert from "node:assert/strict";
import { publicId, type Uuid } from "../../../base/ids.ts";
import { dollars } from "../../../base/money.ts";
import { fault } from "../../../faults.ts";
import { PoolBusyError } from "../../../metering/pool.ts";
import type { Cast } from "./cast.ts";
import { readEvents } from "./events.ts";
import { emptySecrets, fillSecrets } from "./filled.ts";
import { serveRequest } from "./platform.ts";
import { WatchedBrowser } from "./watched.ts";

const API = "/console/api";

export async function visitAccounts({ join, stranger }: Cast): Promise<void> {
  const { browser, email } = await join();
  const open = (status: number, name: string) =>
    browser.ask(status, "POST", `${API}/accounts`, { body: { kind: "builder", name } });
  await browser.ask(200, "GET", `${API}/me`);
  const { id } = await open(201, "Work");
  await browser.ask(200, "PATCH", `${API}/accounts/${id}`, { body: { name: "Play" } });
  for (let i = 1; i < 20; i++) await open(201, `Work ${i}`);
  await open(409, "One too many");
  await browser.ask(400, "GET", `${API}/balance`);
  await browser.ask(200, "GET", `${API}/balance`, { headers: { "x-tollgate-account": String(id) } });
  const others = [stranger(), stranger()];
  for (const other of others) await other.signIn(email);
  const { data } = await browser.ask(200, "GET", `${API}/sessions`);
  const session = (data as { id: string; current: boolean }[]).find(({ current }) => !current);
  await browser.ask(200, "DELETE", `${API}/sessions/${session?.id}`);
  assert.deepEqual(await browser.ask(200, "DELETE", `${API}/sessions`), { ended: 1 });

  const suspended = await join(["builder"], { suspended: true });
  const own = publicId("acc", suspended.accountIds[0] as Uuid);
  const body = { kind: "builder", name: "Another" };
  await suspended.browser.ask(403, "POST", `${API}/accounts`, { body });
  await suspended.browser.ask(403, "PATCH", `${API}/accounts/${own}`, { body });
}

export async function visitKeys({ all: { browser }, platform, builder }: Cast): Promise<void> {
  const { id, secret } = await browser.ask(201, "POST", `${API}/keys`, { body: { name: "new" } });
  assert.match(String(secret), /^tsk_live_[0-9A-Za-z]{12}_[0-9A-Za-z]{43}$/);
  await browser.ask(200, "PATCH", `${API}/keys/${id}`, { body: { name: "newer" } });
  await platform.apiKeys.authenticate(`Bearer ${secret}`);
  await browser.ask(200, "DELETE", `${API}/keys/${id}`);
  await browser.ask(404, "PATCH", `${API}/keys/${id}`, { body: { name: "gone" } });
  const { data } = await browser.ask(200, "GET", `${API}/keys`);
  const spent = (data as { spend_this_month: { requests: number } }[]).map((key) => key.spend_this_month.requests);
  assert.ok(spent.includes(0) && spent.some((requests) => requests > 0), `${spent}`);
  await browser.ask(400, "GET", `${API}/keys?limit=0`);
  await browser.ask(400, "GET", `${API}/keys?cursor=none`);
  await fillSecrets(platform.pool, "api_key", builder);
  await browser.ask(409, "POST", `${API}/keys`, { body: { name: "one too many" } });
  await emptySecrets(platform.pool, "api_key");
}

export async function visitRequests(cast: Cast): Promise<void> {
  const { all, platform, builder, host, key, node, request } = cast;
  const { browser } = all;
  const parties = { builder, keyId: key.id, host, nodeId: node.id };
  for (let i = 0; i < 2; i++) await serveRequest(platform, parties);
  const refused = { id: platform.newId(), accountId: builder, keyId: key.id, keyName: "a key", client: "" };
  const limit = { outcome: "rate_limit_requests", httpStatus: 429, model: null, stream: null } as const;
  await platform.refusals.record({ ...refused, ...limit, endpoint: "models" });
  const { data, next_cursor } = await browser.ask(200, "GET", `${API}/requests?limit=2`);
  assert.equal((data as unknown[]).length, 2);
  const second = await browser.ask(200, "GET", `${API}/requests?cursor=${next_cursor}`);
  assert.equal(second.next_cursor, null);
  const filter = `model=tiny-3b&key=${key.name}&outcome=ok&from=2026-01-01&to=2999-01-01T00:00:00Z`;
  await browser.ask(200, "GET", `${API}/requests?${filter}`);
  const file = await browser.send("GET", `${API}/requests.csv?${filter}`);
  assert.deepEqual([file.status, file.text.trimEnd().split("\r\n").length], [200, 4]);
  for (const path of ["requests", "requests.csv"]) {
    await browser.ask(422, "GET", `${API}/${path}?model=none`);
    await browser.ask(422, "GET", `${API}/${path}?outcome=none`);
    await browser.ask(400, "GET", `${API}/${path}?key=none`);
  }
  await browser.ask(200, "GET", `${API}/requests/${request}`);
  await browser.ask(200, "GET", `${API}/requests/${request}/receipt`);
}

/** Each sum has the field that `by` names and the one that `split` names, and none of the other three. */
export async function visitUsage({ all: { browser } }: Cast): Promise<void> {
  const fields = ["key", "model", "day", "hour", "outcome"];
  for (const by of fields) {
    for (const split of [undefined, "key", "model"]) {
      const address = `${API}/usage?by=${by}${split === undefined ? "" : `&split=${split}`}`;
      const { data } = await browser.ask(200, "GET", address);
      assert.ok((data as object[]).length > 0, address);
      for (const row of data as object[]) {
        const named = fields.filter((field) => field in row);
        assert.deepEqual(new Set(named), new Set([by, split ?? by]), address);
      }
    }
  }
  await browser.ask(400, "GET", `${API}/usage?from=2026-01-02&to=2026-01-01`);
  await browser.ask(400, "GET", `${API}/usage?by=hour&from=2026-01-01&to=2026-03-01`);
  await browser.ask(400, "GET", `${API}/usage?by=day&from=2025-01-01&to=2026-03-01`);
}

export async function visitMoney({ all: { browser }, platform, witness, join }: Cast): Promise<void> {
  await browser.ask(200, "GET", `${API}/balance`);
  const { next_cursor } = await browser.ask(200, "GET", `${API}/ledger?limit=1`);
  await browser.ask(200, "GET", `${API}/ledger?limit=100&cursor=${next_cursor}`);
  await browser.ask(200, "GET", `${API}/packs`);
  const buy = (status: number, pack_id: string) =>
    browser.ask(status, "POST", `${API}/credits/checkout`, { body: { pack_id } });
  await buy(200, "pack_5");
  await buy(422, "pack_6");
  platform.world.payments = () => Promise.reject(fault("payment_provider_unavailable"));
  await buy(502, "pack_5");
  platform.world.payments = undefined;
  for (let open = 1; open < 10; open++) await buy(200, "pack_5");
  await buy(429, "pack_5");
  const nothing = new WatchedBrowser(witness, { app: platform.withoutSales });
  await nothing.ask(404, "GET", `${API}/packs`);
  await nothing.ask(404, "POST", `${API}/credits/checkout`, { body: {} });

  // Below zero, and every kind of transfer in the statement.
  const poor = await join(["builder"]);
  const accountId = poor.accountIds[0] as Uuid;
  for (const kind of ["purchase", "refund", "dispute"] as const) {
    const transfer = { id: platform.newId(), kind, accountId, amount: dollars(6), reason: "a test" };
    assert.equal(await platform.ledger.transfer(transfer), "moved");
  }
  const { data } = await poor.browser.ask(200, "GET", `${API}/ledger`);
  assert.equal((data as object[]).length, 4);
  assert.equal((await poor.browser.ask(200, "GET", `${API}/balance`)).balance_micro, "-1000000.000000");
}

export async function visitLive({ all, platform, witness }: Cast): Promise<void> {
  for (const [id, path, names] of [
    ["watchAccount", `${API}/live`, ["balance", "requests"]],
    ["watchPlatform", `${API}/operator/live`, ["load"]],
  ] as const) {
    const streams = await Promise.all(Array.from({ length: 50 }, () => readEvents(platform.app, all.browser, path)));
    for (const { answer } of streams) witness.take("GET", path, answer);
    await all.browser.ask(429, "GET", path);
    const [first] = streams;
    for (const name of names) witness.takeEvent(id, name, await first?.event(name));
    for (const { close } of streams) close();
  }
}

export async function visitModels({ all: { browser }, platform: { world } }: Cast): Promise<void> {
  const { data } = await browser.ask(200, "GET", `${API}/models`);
  const tiny = (data as { id: string; tps_p50: number; nodes: number }[]).find(({ id }) => id === "tiny-3b");
  assert.deepEqual([tiny?.tps_p50, tiny?.nodes], [41.5, 1]);
  const chat = { model: "tiny-3b", messages: [{ role: "user", content: "one two three" }], max_tokens: 100 };
  const { prompt_tokens, output_tokens_max } = await browser.ask(200, "POST", `${API}/quote`, { body: chat });
  assert.deepEqual([prompt_tokens, output_tokens_max], [3, 100]);
  await browser.ask(400, "POST", `${API}/quote`, { body: { ...chat, messages: [] } });
  await browser.ask(404, "POST", `${API}/quote`, { body: { ...chat, model: "none" } });
  world.counting = { countPrompt: () => Promise.reject(new PoolBusyError()) };
  await browser.ask(503, "POST", `${API}/quote`, { body: chat });
  world.counting = {};
}
