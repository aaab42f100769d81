/** For tests: everything an operator can ask of the console, and what is refused for its own reasons. */
import assert from "node:assert/strict";
import { publicId } from "../../../base/ids.ts";
import { openHostMoney } from "../../../ledger/host-money.ts";
import type { Cast } from "./cast.ts";

const API = "/console/api";

export async function visitPlatform(cast: Cast): Promise<void> {
  const { all, platform, node, host } = cast;
  const { browser } = all;
  const overview = await browser.ask(200, "GET", `${API}/operator/overview`);
  assert.ok((overview.traffic as object[]).length > 0);
  await browser.ask(400, "GET", `${API}/operator/overview?from=2026-01-01&to=2026-03-01`);
  await browser.ask(200, "GET", `${API}/operator/ledger/check`);
  await platform.pool.query("update ledger_account set balance = balance + 1 where id = $1", [host]);
  const { balanced } = await browser.ask(200, "GET", `${API}/operator/ledger/check`);
  assert.equal(balanced, false);
  await platform.pool.query("update ledger_account set balance = balance - 1 where id = $1", [host]);

  const act = (status: number, verb: string, name = node.name) =>
    browser.ask(status, "POST", `${API}/operator/nodes/${name}/${verb}`, { body: { reason: "a test" } });
  await act(200, "quarantine");
  const after = await platform.fleet.register(host, { name: "after it", hardware: {}, agent: "" });
  const { withheld } = await browser.ask(200, "GET", `${API}/operator/nodes/${publicId("node", after.id)}`);
  assert.equal(withheld, "host_quarantine");
  await act(200, "clear", publicId("node", after.id));
  await act(409, "clear", publicId("node", after.id));
  await act(200, "release");
  await act(409, "release");
  await browser.ask(200, "GET", `${API}/operator/nodes?limit=1`);
  for (const wrong of ["state=away", "host=nobody"]) await browser.ask(400, "GET", `${API}/operator/nodes?${wrong}`);
  await browser.ask(200, "GET", `${API}/operator/nodes/${node.name}`);
  const old = await platform.fleet.register(host, { name: "retired", hardware: {}, agent: "" });
  await platform.fleet.move(host, old.id, "retire");
  await act(409, "quarantine", publicId("node", old.id));
  const { data } = await browser.ask(200, "GET", `${API}/operator/audit?limit=100`);
  assert.ok((data as { outcome: string }[]).some(({ outcome }) => outcome !== "done"));
}

export async function visitOperatorAccounts({ all: { browser }, builder, host, key }: Cast): Promise<void> {
  const at = `${API}/operator/accounts`;
  const [ofBuilder, ofHost] = [publicId("acc", builder), publicId("acc", host)];
  await browser.ask(200, "GET", `${at}?q=builder&kind=builder&limit=1`);
  await browser.ask(200, "GET", `${at}/${ofBuilder}`);
  await browser.ask(200, "GET", `${at}/${ofBuilder}/keys`);
  const grant = (status: number, id: string, amount_micro: unknown) =>
    browser.ask(status, "POST", `${at}/${id}/grant`, { body: { amount_micro, reason: "a test" } });
  for (const amount of ["5000000", 7]) await grant(200, ofBuilder, amount);
  await grant(400, ofBuilder, "1.5");
  await grant(400, ofBuilder, "1000000000001");
  await grant(403, ofHost, 1);
  for (const verb of ["suspend", "restore"]) {
    await browser.ask(200, "POST", `${at}/${ofHost}/${verb}`, { body: { reason: "a test" } });
  }
  const limits = { requests_per_minute: 10, in_flight: 0 };
  await browser.ask(200, "PUT", `${API}/operator/keys/${key.name}/limits`, { body: limits });
  await browser.ask(200, "PUT", `${API}/operator/keys/${key.name}/limits`, { body: {} });
}

export async function visitPayouts({ all: { browser }, host, platform }: Cast): Promise<void> {
  const at = `${API}/operator/payouts`;
  const create = (status: number, body: object) => browser.ask(status, "POST", at, { body });
  await create(409, { minimum_micro: 1_000_000_000 });
  await create(400, { minimum_micro: "none" });
  const { id } = await create(201, { note: "a test" });
  const { lines } = await browser.ask(200, "GET", `${at}/${id}`);
  assert.deepEqual(
    (lines as { account: string }[]).map(({ account }) => account),
    [publicId("acc", host)],
  );
  assert.match((await browser.send("GET", `${at}/${id}/csv`)).text, /^payout,account,.*\r\npay_/);
  await browser.ask(400, "GET", `${at}/${id}?limit=0`);
  await browser.ask(400, "GET", `${at}/${id}?cursor=none`);
  await platform.pool.query("update payout set amount = amount + 1 where account_id = $1", [host]);
  await browser.ask(409, "POST", `${at}/${id}/paid`);
  await platform.pool.query("update payout set amount = amount - 1 where account_id = $1", [host]);
  await browser.ask(200, "POST", `${at}/${id}/paid`);
  await browser.ask(200, "GET", at);
  assert.ok((await openHostMoney({ pool: platform.pool, holdDays: 0 })(host)).paidOut > 0n);
}
