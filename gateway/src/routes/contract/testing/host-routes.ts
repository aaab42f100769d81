/** For tests: calls all console operations of hosts, and causes their errors. */
import assert from "node:assert/strict";
import { computeAuthenticatorCode } from "../../../accounts/testing/authenticator-codes.ts";
import { parseId, publicId, type Uuid } from "../../../base/ids.ts";
import { Browser, PASSWORD } from "../../testing/browser.ts";
import { insertServedRequest, insertSpotCheck } from "../../testing/past-requests.ts";
import { signInTestPerson } from "../../testing/sign-in-test-person.ts";
import { addSecretsUpToMaximum, deleteActiveSecrets } from "./active-secrets.ts";
import type { ContractFixture } from "./contract-fixture.ts";
import type { Coverage } from "./route-coverage.ts";

export async function callHostTokenRoutes({ platform, people }: ContractFixture, { ask }: Coverage): Promise<void> {
  const { browser, accountIds } = people.host;
  const { id, secret } = (await ask(browser, 201, "createHostToken", { body: { name: "new" } })).body;
  assert.match(String(secret), /^tht_live_[0-9A-Za-z]{12}_[0-9A-Za-z]{43}$/);
  await ask(browser, 200, "revokeHostToken", { id });
  await ask(browser, 200, "listHostTokens");
  await ask(browser, 400, "listHostTokens", { query: "limit=0" });
  await addSecretsUpToMaximum(platform.pool, "host_token", accountIds[0] as Uuid);
  await ask(browser, 409, "createHostToken", { body: { name: "one too many" } });
  await deleteActiveSecrets(platform.pool, "host_token");
}

/** Calls the operations on nodes with nodes in every state, so that every answer occurs. */
export async function callNodeRoutes({ platform, people, make }: ContractFixture, { ask }: Coverage): Promise<void> {
  const { browser, accountIds } = people.host;
  const [hostId] = accountIds as [Uuid];
  const { fleet } = platform.parts;
  const register = async (name: string) =>
    publicId("node", (await fleet.register(hostId, { name, hardware: {}, agent: "" })).id);
  const [node, fresh, barred] = [await make("node"), await register("fresh"), await make("quarantined node")];
  const old = await register("old");
  await fleet.move(hostId, parseId("node", old) as Uuid, "retire");
  platform.outside.connected.add(node);
  for (const id of [node, fresh, barred, old]) await ask(browser, 200, "getNode", { id });
  const { next_cursor } = (await ask(browser, 200, "listNodes", { query: "limit=1" })).body;
  await ask(browser, 200, "listNodes", { query: `cursor=${next_cursor}` });
  await ask(browser, 400, "listNodes", { query: "limit=0" });
  for (const move of ["pauseNode", "resumeNode"]) {
    await ask(browser, 200, move, { id: node });
    await ask(browser, 409, move, { id: fresh });
    await ask(browser, 409, move, { id: barred });
  }
  const elect = (status: number, id: string, models: string[]) =>
    ask(browser, status, "electModels", { id, body: { models } });
  await elect(200, node, ["tiny-3b", "small-8b"]);
  await elect(400, node, ["large-70b"]);
  await elect(409, old, ["tiny-3b"]);
  await ask(browser, 200, "listNodeModels");
  const rename = (status: number, name: string) => ask(browser, status, "renameNode", { id: fresh, body: { name } });
  assert.equal((await rename(200, "fresher")).body.name, "fresher");
  await rename(409, "old");
  await rename(400, "");
  assert.equal((await ask(browser, 200, "retireNode", { id: fresh })).body.state, "retired");
  const again = await ask(browser, 409, "retireNode", { id: fresh });
  assert.match(again.text, /This action is not possible while the node is retired/);
}

/** The activity of a node with two requests, one of which failed and is unpaid. */
export async function callNodeActivityRoutes(
  { platform, people, make }: ContractFixture,
  { ask }: Coverage,
): Promise<void> {
  const { browser, accountIds } = people.host;
  const node = await make("node");
  const nodeId = parseId("node", node) as Uuid;
  platform.outside.connected.add(node);
  const hostId = accountIds[0] as Uuid;
  const accountId = people.builder.accountIds[0] as Uuid;
  const good = await insertServedRequest(platform, { accountId, charge: 1_000n, host: { accountId: hostId, nodeId } });
  const bad = await insertServedRequest(platform, { accountId, outcome: "upstream_failed", failedAt: nodeId });
  await platform.rollUp();
  await platform.pool.query("select node_sample(null, 1, array[$1]::uuid[], '{4}', '{1}')", [nodeId]);

  const { total, series, earnings } = (await ask(browser, 200, "getNodeInsight", { id: node }))
    .body as unknown as InsightBody;
  const expected = { requests: 2, ok: 1, failed: 1, failed_share: 0.5, connected: 1, earned_micro: "0.000700" };
  assert.partialDeepStrictEqual(total, expected);
  assert.ok(Number(total.utilisation) > 0);
  assert.deepEqual([series.length, series.at(-1)?.requests, earnings.length], [24, 2, 24]);
  for (const range of ["1h", "6h", "7d", "30d", "90d"]) {
    const all = (await ask(browser, 200, "getInsight", { query: `range=${range}` })).body as unknown as InsightBody;
    // The host's other nodes have requests too.
    const own = all.nodes.find((each) => each.node === node)?.total;
    assert.partialDeepStrictEqual(own, { requests: 2, earned_micro: "0.000700" });
    assert.equal(
      all.series.reduce((sum, { requests }) => sum + requests, 0),
      all.total.requests,
    );
  }

  const ids = async (query?: string) => {
    const { data } = (await ask(browser, 200, "listJobs", { id: node, ...(query !== undefined && { query }) })).body;
    return (data as { request_id: string }[]).map(({ request_id }) => request_id);
  };
  const [ok, failed] = [publicId("req", good), publicId("req", bad)];
  assert.deepEqual(new Set(await ids()), new Set([ok, failed]));
  assert.deepEqual(await ids("outcome=upstream_failed"), [failed]);
  assert.deepEqual(await ids("outcome=ok&model=tiny-3b&from=2026-01-01"), [ok]);
  assert.deepEqual(await ids("model=small-8b"), []);
  assert.deepEqual(await ids("to=2026-01-01"), []);
  const first = (await ask(browser, 200, "listJobs", { id: node, query: "limit=1" })).body;
  assert.equal((await ids(`limit=1&cursor=${first.next_cursor}`)).length, 1);
  await ask(browser, 400, "listJobs", { id: node, query: "cursor=none" });
  const { text } = await ask(browser, 200, "listJobs", { id: node });
  for (const secret of [accountId, publicId("acc", accountId), "a key", "openai-js"]) assert.ok(!text.includes(secret));

  await ask(browser, 200, "getMarket");
  const market = (await ask(browser, 200, "getMarket", { query: `node=${node}` })).body;
  const row = (market.data as Record<string, unknown>[]).find(({ model }) => model === "tiny-3b");
  assert.partialDeepStrictEqual(row, { waiting: 2, nodes: 1, slots: 4, busy: 1, elected: true });
  assert.partialDeepStrictEqual(row?.speed, { of: "node" });
  assert.equal(market.slots, 4);
  assert.match(String(row?.node_hour_micro), /^[1-9]/);
  await ask(browser, 404, "getMarket", { query: `node=${publicId("node", accountId)}` });
}

interface InsightBody {
  total: Record<string, unknown>;
  series: { requests: number }[];
  earnings: object[];
  nodes: { node: string; total: object }[];
}

/** A sum has the grouping fields that the query names in `by` and `split`, and no other grouping field. */
export async function callEarningsRoutes(
  { platform, people, make }: ContractFixture,
  { ask }: Coverage,
): Promise<void> {
  const { browser, accountIds } = people.host;
  const node = await make("node");
  const host = { accountId: accountIds[0] as Uuid, nodeId: parseId("node", node) as Uuid };
  const builderId = people.builder.accountIds[0] as Uuid;
  const request = publicId("req", await insertServedRequest(platform, { accountId: builderId, charge: 1_000n, host }));
  const { data } = (await ask(browser, 200, "listEarnings", { query: `node=${node}` })).body;
  assert.equal((data as object[]).length, 1);
  for (const by of ["day", "hour", "node", "model"]) {
    for (const split of [undefined, "node", "model"].filter((split) => split !== by)) {
      const query = `by=${by}${split === undefined ? "" : `&split=${split}`}`;
      const { data } = (await ask(browser, 200, "sumEarnings", { query })).body;
      for (const row of data as object[]) {
        const fields = ["day", "hour", "node", "model"].filter((field) => field in row);
        assert.deepEqual(new Set(fields), new Set(split === undefined ? [by] : [by, split]));
      }
    }
  }
  await ask(browser, 200, "sumEarnings", { query: `node=${node}` });
  for (const query of [
    "node=none",
    "from=2026-02-01&to=2026-01-01",
    "by=hour&from=2026-01-01&to=2026-03-01",
    "by=model&split=model",
  ]) {
    await ask(browser, 400, "sumEarnings", { query });
  }
  for (const list of ["listEarnings", "exportEarnings"]) await ask(browser, 400, list, { query: "node=none" });
  const file = await ask(browser, 200, "exportEarnings", { query: `node=${node}` });
  assert.match(file.text, /^request_id,finished_at,.*\r\nreq_/);
  await ask(browser, 200, "getEarningReceipt", { id: request });

  const lost = {
    accountId: builderId,
    charge: 1_000n,
    host,
    outcome: "upstream_failed",
    withheld: "node_failed",
  } as const;
  const withheld = publicId("req", await insertServedRequest(platform, lost));
  const shares = (await ask(browser, 200, "listWithheld", { query: `node=${node}` })).body.data as object[];
  assert.equal(shares.length, 1);
  assert.partialDeepStrictEqual(shares[0], {
    request_id: withheld,
    node,
    outcome: "upstream_failed",
    amount_micro: "0.000700",
    reason: "node_failed",
    explanation: "The node reported a failure.",
    taken_back: false,
    released_at: null,
    note: null,
  });
  for (const query of ["node=none", "cursor=none", "limit=0"]) await ask(browser, 400, "listWithheld", { query });
  const { balance } = (await ask(browser, 200, "listEarnings", { query: `node=${node}` })).body;
  assert.notEqual((balance as { withheld_micro: string }).withheld_micro, "0.000000");
  const receipt = (await ask(browser, 200, "getEarningReceipt", { id: withheld })).body;
  assert.deepEqual([receipt.charge_pico, receipt.host_share_pico], ["1000", "0"]);
}

/** Spot checks, in which other nodes verify a node's answers. Traps, which test the verifying node, are not listed. */
export async function callSpotCheckRoutes(
  { platform, people, make }: ContractFixture,
  { ask }: Coverage,
): Promise<void> {
  const { browser } = people.host;
  const node = await make("node");
  const nodeId = parseId("node", node) as Uuid;
  const bad = await insertSpotCheck(platform, { nodeId, verdict: "bad", score: -6.204 });
  await insertSpotCheck(platform, { nodeId, verdict: "unjudged", score: null });
  await insertSpotCheck(platform, { nodeId, verdict: "trap_seen", score: -9 });
  const { data, next_cursor } = (await ask(browser, 200, "listChecks", { id: node, query: "limit=1" })).body;
  assert.deepEqual(
    (data as { score: null; verdict: string }[]).map(({ score, verdict }) => [score, verdict]),
    [[null, "unjudged"]],
  );
  const rest = (await ask(browser, 200, "listChecks", { id: node, query: `cursor=${next_cursor}` })).body;
  const [shown, ...others] = rest.data as Record<string, unknown>[];
  assert.deepEqual(others, []);
  assert.partialDeepStrictEqual(shown, {
    request_id: publicId("req", bad),
    model: "tiny-3b",
    method: "text",
    score: -6.2,
    verdict: "bad",
    explanation: "The answer is not consistent with this model. The check counts against the node.",
  });
  await ask(browser, 400, "listChecks", { id: node, query: "cursor=none" });
}

/** The payout method and the payouts of a new host. */
export async function callHostPayoutRoutes({ platform, people }: ContractFixture, { ask }: Coverage): Promise<void> {
  const who = await signInTestPerson(platform, [{ kind: "host" }]);
  const { browser } = who;
  const [accountId] = who.accountIds as [Uuid];
  const body = { kind: "iban", holder: "Henry Host", number: "DE89 3704 0044 0532 0130 00" };
  assert.deepEqual((await ask(browser, 200, "getPayoutMethod")).body.method, null);
  await ask(browser, 400, "setPayoutMethod", { body: { ...body, number: "DE00 3704 0044 0532 0130 00" } });
  await ask(browser, 200, "setPayoutMethod", { body });
  await ask(browser, 200, "getPayoutMethod");
  const viewer = await signInTestPerson(platform);
  await platform.pool.query("insert into account_member (account_id, identity_id, role) values ($1, $2, 'viewer')", [
    accountId,
    viewer.identityId,
  ]);
  await ask(viewer.browser, 200, "getPayoutMethod");
  for (const [change, sent] of [
    ["setPayoutMethod", { body }],
    ["removePayoutMethod", {}],
  ] as const) {
    await ask(viewer.browser, 403, change, sent);
  }
  const { scripts } = platform.identities;
  const { token, code } = await scripts.begin({ name: "a script", access: "write", address: "192.0.2.1" });
  assert.ok(await scripts.answer(code, who.identityId, true));
  const headers = { authorization: `Bearer ${token}` };
  for (const [change, sent] of [
    ["setPayoutMethod", { body, headers }],
    ["removePayoutMethod", { headers }],
  ] as const) {
    await ask(new Browser(platform), 403, change, sent);
  }
  const { secret } = (await ask(browser, 200, "enableTwoFactor", { body: { password: PASSWORD } })).body;
  await ask(browser, 200, "confirmTwoFactor", { body: { code: computeAuthenticatorCode(String(secret)) } });
  await ask(browser, 400, "setPayoutMethod", { body });
  await ask(browser, 400, "setPayoutMethod", { body: { ...body, code: "000000" } });
  await ask(browser, 200, "setPayoutMethod", { body: { ...body, code: computeAuthenticatorCode(String(secret), 1) } });
  for (let i = 0; i < 10; i++) {
    await browser.send("PUT", "/console/api/payout-method", { body: { ...body, code: "000000" } });
  }
  await ask(browser, 429, "setPayoutMethod", { body: { ...body, code: "000000" } });
  await ask(browser, 200, "removePayoutMethod");
  await ask(browser, 200, "listHostPayouts");
  for (const query of ["limit=0", "cursor=none"]) await ask(browser, 400, "listHostPayouts", { query });
  await ask(people.builder.browser, 403, "listHostPayouts");
}
