/** For tests: calls all console operations of operators, and causes their errors. */
import assert from "node:assert/strict";
import { parseId, publicId, type Uuid } from "../../../base/ids.ts";
import { insertServedRequest, insertSpotCheck } from "../../testing/past-requests.ts";
import type { ContractFixture } from "./contract-fixture.ts";
import type { Coverage } from "./route-coverage.ts";

export async function callPlatformRoutes(
  { platform, people, make }: ContractFixture,
  { ask }: Coverage,
): Promise<void> {
  const { browser } = people.operator;
  const [hostId] = people.host.accountIds as [Uuid];
  await make("request");
  const { traffic } = (await ask(browser, 200, "getOverview")).body;
  assert.ok((traffic as object[]).length > 0);
  await ask(browser, 400, "getOverview", { query: "from=2026-01-01&to=2026-03-01" });
  for (const range of ["1h", "24h", "90d"]) {
    await ask(browser, 200, "getPlatformPerformance", { query: `range=${range}` });
  }
  assert.equal((await ask(browser, 200, "getTriage")).body.state, "serving");
  const incident = await make("incident");
  const posted = await ask(browser, 201, "postIncidentUpdate", { id: incident, body: { text: "We are on it." } });
  const { data: incidents } = (await ask(browser, 200, "listIncidents")).body;
  assert.deepEqual(posted.body, (incidents as object[])[0]);
  const told = (await ask(browser, 200, "listOperatorActions", { query: `subject=${incident}` })).body.data;
  assert.deepEqual(
    (told as { action: string; details: object }[]).map(({ action, details }) => [action, details]),
    [["incident.update", { text: "We are on it." }]],
  );
  for (const text of ["", " ", "x".repeat(501), 7]) {
    await ask(browser, 400, "postIncidentUpdate", { id: incident, body: { text } });
  }
  await ask(browser, 400, "tickSetup", { body: { ticked: ["tls"] } });
  await ask(browser, 200, "tickSetup", { body: { ticked: ["alerts", "backups"] } });
  await ask(browser, 200, "tickSetup", { body: { ticked: ["alerts"] } });
  assert.deepEqual((await ask(browser, 200, "getSetup")).body.ticked, ["alerts"]);
  const { steps } = (await ask(browser, 200, "getSetup")).body as { steps: { step: string; done: boolean }[] };
  assert.deepEqual(
    steps.filter(({ done }) => done).map(({ step }) => step),
    ["payments"],
  );
  const request = await make("request");
  const looked = (await ask(browser, 200, "getPlatformRequest", { id: request })).body;
  assert.equal(looked.id, request);
  const acts = (await ask(browser, 200, "listOperatorActions", { query: `action=request.read&subject=${request}` }))
    .body;
  assert.equal((acts.data as object[]).length, 1);
  const { asked_by } = (await ask(browser, 200, "checkLedger")).body;
  assert.equal(asked_by, people.operator.email);
  await platform.pool.query("update ledger_account set balance = balance + 1 where id = $1", [hostId]);
  assert.equal((await ask(browser, 200, "checkLedger")).body.balanced, false);
  await platform.pool.query("update ledger_account set balance = balance - 1 where id = $1", [hostId]);
  const { books } = (await ask(browser, 200, "getPlatformPerformance")).body;
  assert.equal((books as { balanced: boolean }).balanced, false);
}

export async function callOperatorNodeRoutes(
  { platform, people, make }: ContractFixture,
  { ask }: Coverage,
): Promise<void> {
  const { browser } = people.operator;
  const [node, old] = [await make("node"), await make("node")];
  const reason = { reason: "a test" };
  await ask(browser, 200, "quarantineNode", { id: node, body: reason });
  const after = await make("node");
  const { withheld } = (await ask(browser, 200, "getPlatformNode", { id: after })).body;
  assert.equal(withheld, "host_quarantine");
  for (const status of [200, 409]) await ask(browser, status, "clearNode", { id: after });
  for (const status of [200, 409]) await ask(browser, status, "releaseNode", { id: node });
  await platform.parts.fleet.move(people.host.accountIds[0] as Uuid, parseId("node", old) as Uuid, "retire");
  await ask(browser, 409, "quarantineNode", { id: old, body: reason });
  await ask(browser, 200, "listPlatformNodes", { query: "limit=1" });
  for (const query of ["state=away", "host=nobody"]) await ask(browser, 400, "listPlatformNodes", { query });
  const { data } = (await ask(browser, 200, "listOperatorActions", { query: "limit=100" })).body;
  assert.ok((data as { outcome: string }[]).some(({ outcome }) => outcome !== "done"));
  const host = publicId("acc", people.host.accountIds[0] as Uuid);
  const query = `account=${host}&outcome=refused&action=node.quarantine&from=2026-01-01`;
  const refused = (await ask(browser, 200, "listOperatorActions", { query })).body.data as { subject: string }[];
  assert.deepEqual(
    refused.map(({ subject }) => subject),
    [old],
  );
  assert.match((await ask(browser, 200, "exportOperatorActions", { query })).text, /^at,operator,.*\r\n.*node_/);
}

export async function callOperatorAccountRoutes({ people, make }: ContractFixture, { ask }: Coverage): Promise<void> {
  const { browser } = people.operator;
  const [ofBuilder, ofHost] = [people.builder, people.host].map(({ accountIds: [id] }) => publicId("acc", id as Uuid));
  await ask(browser, 200, "listAccounts", { query: "q=builder&kind=builder&limit=1" });
  await ask(browser, 200, "getAccount", { id: ofBuilder });
  await ask(browser, 200, "listAccountKeys", { id: ofBuilder });
  for (const id of [ofBuilder, ofHost]) {
    await ask(browser, 200, "getAccountActivity", { id, query: "range=7d" });
    await ask(browser, 200, "listAccountPayouts", { id });
  }
  await ask(browser, 200, "listAccountStatement", { id: ofBuilder, query: "limit=1" });
  await ask(browser, 403, "listAccountStatement", { id: ofHost });
  const grant = (status: number, id: unknown, amount_micro: unknown) =>
    ask(browser, status, "grantCredit", { id, body: { amount_micro, reason: "a test" } });
  for (const amount of ["5000000", 7]) await grant(200, ofBuilder, amount);
  for (const amount of ["1.5", "1000000000001"]) await grant(400, ofBuilder, amount);
  await grant(403, ofHost, 1);
  for (const act of ["suspendAccount", "restoreAccount"]) {
    await ask(browser, 200, act, { id: ofHost, body: { reason: "a test" } });
  }
  const key = await make("key");
  for (const limits of [{ requests_per_minute: 10, in_flight: 0 }, {}]) {
    await ask(browser, 200, "setKeyLimits", { id: key, body: limits });
  }
}

export async function callOperatorPayoutRoutes(
  { platform, people, make }: ContractFixture,
  { ask }: Coverage,
): Promise<void> {
  const { browser } = people.operator;
  const [hostId] = people.host.accountIds as [Uuid];
  await make("request");
  const create = (status: number, body: object) => ask(browser, status, "createPayout", { body });
  await create(409, { minimum_micro: 1_000_000_000 });
  await create(400, { minimum_micro: "none" });
  const { id } = (await create(201, { note: "a test" })).body;
  const { lines } = (await ask(browser, 200, "getPayout", { id })).body;
  assert.deepEqual(
    (lines as { account: string }[]).map(({ account }) => account),
    [publicId("acc", hostId)],
  );
  assert.match((await ask(browser, 200, "exportPayout", { id })).text, /^payout,account,.*\r\npay_/);
  for (const query of ["limit=0", "cursor=none"]) await ask(browser, 400, "getPayout", { id, query });
  await platform.pool.query("update payout set amount = amount + 1000000000 where account_id = $1", [hostId]);
  await ask(browser, 409, "markPayoutPaid", { id });
  await platform.pool.query("update payout set amount = amount - 1000000000 where account_id = $1", [hostId]);
  await ask(browser, 200, "markPayoutPaid", { id });
  await ask(browser, 200, "listPayouts");
  assert.ok((await platform.parts.hostMoney(hostId)).paidOut > 0n);
}

/** Withheld shares of one node: one is released alone, then all others; a repetition releases nothing. */
export async function callWithheldShareRoutes(
  { platform, people, make }: ContractFixture,
  { ask }: Coverage,
): Promise<void> {
  const { browser, email } = people.operator;
  const [hostId, builderId] = [people.host.accountIds[0] as Uuid, people.builder.accountIds[0] as Uuid];
  const node = await make("node");
  const host = { accountId: hostId, nodeId: parseId("node", node) as Uuid };
  const lost = {
    accountId: builderId,
    charge: 1_000n,
    host,
    outcome: "upstream_stall",
    withheld: "node_silent",
  } as const;
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) ids.push(publicId("req", await insertServedRequest(platform, lost)));
  const list = async (query: string) =>
    (await ask(browser, 200, "listPlatformWithheld", { query })).body as unknown as {
      data: Record<string, unknown>[];
      next_cursor: string | null;
    };
  const account = publicId("acc", hostId);
  const first = await list(`node=${node}&open=true&limit=1`);
  assert.partialDeepStrictEqual(first.data[0], { account, node, reason: "node_silent", released_by: null });
  assert.equal((await list(`node=${node}&open=true&cursor=${first.next_cursor}`)).data.length, 2);
  for (const query of ["node=none", "host=none", "open=maybe", "cursor=none"])
    await ask(browser, 400, "listPlatformWithheld", { query });
  const release = async (body: object) => (await ask(browser, 200, "releaseWithheld", { body })).body;
  const note = "the failure was ours";
  assert.deepEqual(await release({ requests: [ids[0]], note }), { shares: 1, amount_micro: "0.000700" });
  assert.deepEqual(await release({ requests: [ids[0]], note }), { shares: 0, amount_micro: "0.000000" });
  for (const body of [{ note }, { node, requests: [ids[1]], note }, { requests: [], note }, { node, note: "" }])
    await ask(browser, 400, "releaseWithheld", { body });
  assert.deepEqual(await release({ node, note }), { shares: 2, amount_micro: "0.001400" });
  assert.deepEqual((await list(`node=${node}&open=true`)).data, []);
  const released = (await list(`host=${account}&node=${node}`)).data;
  assert.deepEqual(
    released.map((share) => [share.released_by, share.note]),
    Array(3).fill([email, note]),
  );
  const acts = (await ask(browser, 200, "listOperatorActions", { query: "action=withheld.release" })).body;
  assert.deepEqual((acts.data as { subject: string }[]).map(({ subject }) => subject).slice(0, 3), [
    node,
    ids[0],
    ids[0],
  ]);
}

export async function callOperatorSpotCheckRoutes(
  { platform, people, make }: ContractFixture,
  { ask }: Coverage,
): Promise<void> {
  const { browser } = people.operator;
  await make("request");
  await platform.rollUp();
  const node = await make("node");
  const nodeId = parseId("node", node) as Uuid;
  await insertSpotCheck(platform, { nodeId, verdict: "bad", score: -6.204 });
  await insertSpotCheck(platform, { nodeId, verdict: "ok", score: -0.4 });
  await insertSpotCheck(platform, { nodeId, verdict: "trap_seen", score: -9 });
  const { data, models } = (await ask(browser, 200, "listPlatformChecks", { query: `node=${node}` })).body;
  assert.equal((data as object[]).length, 1);
  const account = publicId("acc", people.host.accountIds[0] as Uuid);
  const expected = { node, account, model: "tiny-3b", checks: 2, bad: 1, score: -3.3, cost_micro: "3.000000" };
  assert.partialDeepStrictEqual((data as object[])[0], expected);
  const ofModel = (models as Record<string, string>[]).find(({ model }) => model === "tiny-3b");
  assert.ok(Number(ofModel?.cost_micro) >= 4.5, "with the trap");
  assert.ok(Number(ofModel?.charged_micro) >= 0.001, "beside what was charged");
  const single = (await ask(browser, 200, "listPlatformNodeChecks", { id: node, query: "limit=1" })).body;
  assert.partialDeepStrictEqual(single.data, [{ verdict: "ok", score: -0.4 }]);
  const rest = { id: node, query: `cursor=${single.next_cursor}` };
  const { data: others } = (await ask(browser, 200, "listPlatformNodeChecks", rest)).body;
  assert.partialDeepStrictEqual(others, [{ verdict: "bad", score: -6.2 }]);
  assert.equal((others as object[]).length, 1, "tests of verifiers are no checks of the node");
  for (const query of ["limit=0", "cursor=none"])
    await ask(browser, 400, "listPlatformNodeChecks", { id: node, query });
  await ask(browser, 200, "listPlatformChecks");
  await ask(browser, 400, "listPlatformChecks", { query: "node=none" });
}
