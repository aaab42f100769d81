import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { publicId, type Uuid } from "../../base/ids.ts";
import { dollars, PICO_PER_DOLLAR, type Pico } from "../../base/money.ts";
import type { Browser } from "../testing/browser.ts";
import { insertRefusedRequest, insertServedRequest } from "../testing/past-requests.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";
import { signInTestPerson } from "../testing/sign-in-test-person.ts";

let platform: TestPlatform;
before(async () => {
  platform = await openTestPlatform();
});
after(() => platform.close());

const monthOf = (at: Date): string => at.toISOString().slice(0, 7);
const THIS = monthOf(new Date());
const span = (month: string) => {
  const from = new Date(`${month}-01T00:00:00Z`);
  return { from, to: new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1, 1)) };
};

async function shown(browser: Browser, url: string): Promise<string[]> {
  const answer = await browser.send("GET", url);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers["content-type"], "application/pdf");
  return [...answer.text.matchAll(/\(((?:\\.|[^\\)])*)\) Tj/g)].map(([, text = ""]) => text);
}

/** The cells of a table that follow the cell with this name. */
const behind = (texts: string[], name: string, count: number): string[] => {
  const at = texts.indexOf(name);
  assert.notEqual(at, -1, `${name} is not in ${texts.join(" | ")}`);
  return texts.slice(at + 1, at + 1 + count);
};

async function world() {
  const builder = await signInTestPerson(platform, [{ kind: "builder" }]);
  const host = await signInTestPerson(platform, [{ kind: "host" }]);
  const [builderId, hostId] = [builder.accountIds[0] as Uuid, host.accountIds[0] as Uuid];
  const { id: nodeId } = await platform.parts.fleet.register(hostId, { name: "a node", hardware: {}, agent: "" });
  for (const charge of [PICO_PER_DOLLAR, 2n * PICO_PER_DOLLAR + 1n]) {
    await insertServedRequest(platform, { accountId: builderId, charge, host: { accountId: hostId, nodeId } });
  }
  await platform.ledger.transfer({
    id: platform.newId(),
    kind: "purchase",
    accountId: builderId,
    amount: dollars(20),
    reason: "pack (20)",
  });
  await platform.rollUp();
  return { builder, host, builderId, hostId, nodeId };
}

test("a builder's invoice contains the month's transfers, its usage by model, and the balances", async () => {
  const { builder, builderId } = await world();
  const texts = await shown(builder.browser, `/console/api/invoice.pdf?month=${THIS}`);
  assert.equal(texts[0], `Invoice ${THIS}`);
  assert.deepEqual(behind(texts, "Account ID", 1), [publicId("acc", builderId)]);
  assert.deepEqual(behind(texts, "Status", 1), ["Provisional: the month is not over"]);
  assert.deepEqual(behind(texts, "Balance before", 1), ["$0.000000"]);
  assert.deepEqual(behind(texts, "Balance after", 1), ["$22.000000"]);
  assert.deepEqual(behind(texts, "Total", 4).at(0), "2");
  assert.deepEqual(behind(texts, "Total", 4).at(-1), "$3.000000");
  assert.deepEqual(behind(texts, "pack \\(20\\)", 1), ["$20.000000"]);
  const { after, before, models, transfers } = await platform.parts.moves(builderId, span(THIS));
  assert.equal(after, (await platform.ledger.balance(builderId))?.balance);
  const moved = [...models, ...transfers].reduce((sum, { amount }) => sum + amount, 0n);
  assert.equal(before + moved, after);
});

test("a host's monthly statement contains its earnings by model, its payouts and its balance", async () => {
  const { host, hostId, builderId, nodeId } = await world();
  const at = { accountId: hostId, nodeId };
  await insertServedRequest(platform, {
    accountId: builderId,
    charge: PICO_PER_DOLLAR,
    host: at,
    withheld: "node_failed",
  });
  await platform.rollUp();
  const { balance } = (await platform.ledger.balance(hostId)) ?? {};
  const payout = { id: platform.newId(), kind: "payout", accountId: hostId, reason: "wire 1" } as const;
  await platform.ledger.transfer({ ...payout, amount: balance as Pico });
  const texts = await shown(host.browser, `/console/api/earnings.pdf?month=${THIS}`);
  assert.equal(texts[0], `Host statement ${THIS}`);
  assert.deepEqual(behind(texts, "Total", 4).at(-1), "$2.100000");
  assert.ok(texts.includes("payout") && texts.includes("-$2.100000"), texts.join(" | "));
  assert.deepEqual(behind(texts, "Balance after", 1), ["$0.000000"]);
  const { after } = await platform.parts.moves(hostId, span(THIS));
  assert.equal(after, (await platform.parts.hostMoney(hostId)).pending);
});

test("an invoice names requests that a limit refused before their model was known", async () => {
  const { builder, builderId } = await world();
  await insertRefusedRequest(platform, { accountId: builderId });
  await platform.rollUp();
  const texts = await shown(builder.browser, `/console/api/invoice.pdf?month=${THIS}`);
  assert.deepEqual(behind(texts, "Refused by a limit", 4), ["1", "0", "0", "$0.000000"]);
});

test("a host's statement names a payout by the ID that the page of payouts shows", async () => {
  const { host, hostId } = await world();
  const payoutId = platform.newId();
  const transfer = { id: platform.newId(), kind: "payout", accountId: hostId, reason: `payout ${payoutId}` } as const;
  await platform.ledger.transfer({ ...transfer, amount: dollars(1) });
  const texts = await shown(host.browser, `/console/api/earnings.pdf?month=${THIS}`);
  assert.deepEqual(behind(texts, "payout", 3), [publicId("pay", payoutId), "", "-$1.000000"]);
});

test("the invoice of a month without usage has the balance at the month's end, and is final once the month is over", async () => {
  const { builder, builderId } = await world();
  const texts = await shown(builder.browser, "/console/api/invoice.pdf?month=2026-01");
  assert.ok(!texts.includes("Status"));
  assert.deepEqual(behind(texts, "Balance after", 1), ["$0.000000"]);
  assert.ok(texts.includes("No requests in this month.") && texts.includes("No transfers in this month."));
  assert.deepEqual((await platform.parts.moves(builderId, span("2026-01"))).models, []);
});

test("an invoice's file is named after the month, and an invalid month is refused", async () => {
  const { builder } = await world();
  const { headers } = await builder.browser.send("GET", `/console/api/invoice.pdf?month=${THIS}`);
  assert.equal(headers["content-disposition"], `attachment; filename="invoice-${THIS}.pdf"`);
  for (const query of ["", "?month=2026-13", "?month=last", "?month=2099-01"]) {
    const { status, body } = await builder.browser.send("GET", `/console/api/invoice.pdf${query}`);
    assert.deepEqual([status, body.error?.param], [400, "month"], query);
  }
});
