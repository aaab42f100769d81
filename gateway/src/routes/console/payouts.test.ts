/**
 * A host's payout method and payouts: set, shown masked, shown whole to operators for a payment, recorded with each
 * payout, exported, and deleted.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Email } from "../../accounts/mail-sender.ts";
import { publicId, type Uuid } from "../../base/ids.ts";
import { readLatestAuditEntries } from "../testing/audit-log.ts";
import { insertServedRequest } from "../testing/past-requests.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";
import { assertRefused, type Person, signInTestPerson } from "../testing/sign-in-test-person.ts";

const METHOD = "/console/api/payout-method";
const PAYOUTS = "/console/api/payouts";
const BATCHES = "/console/api/operator/payouts";
const IBAN = { kind: "iban", holder: " Henry Host ", number: "DE89 3704 0044 0532 0130 00", bank_code: "cobadeffxxx" };
const US_BANK = { kind: "us_bank", holder: "Henry Host", number: "000123456789", bank_code: "021000021" };

let platform: TestPlatform;
let operator: Person;
let builder: Uuid;
const sent: Email[] = [];
before(async () => {
  platform = await openTestPlatform({
    mail: { delivers: true, send: async (email) => void sent.push(email) },
  });
  operator = await signInTestPerson(platform, [], { operator: true });
  builder = (await platform.person([{ kind: "builder" }])).accountIds[0] as Uuid;
  await platform.pool.query("insert into price values (1, 'tiny-3b', 20000, 40000) on conflict do nothing");
});
after(() => platform.close());

const accountOf = (who: Person): Uuid => who.accountIds[0] as Uuid;

async function hostWithEarnings(name = "A host"): Promise<Person> {
  const host = await signInTestPerson(platform, [{ kind: "host" }]);
  await platform.pool.query("update account set name = $2 where id = $1", [accountOf(host), name]);
  await earn(host);
  return host;
}

async function earn(host: Person): Promise<void> {
  await insertServedRequest(platform, {
    accountId: builder,
    charge: 10_000_000n,
    completionTokens: 50,
    host: { accountId: accountOf(host), nodeId: platform.newId() },
  });
}

const set = (host: Person, body: object) => host.browser.send("PUT", METHOD, { body });

async function batch(): Promise<string> {
  const made = await operator.browser.send("POST", BATCHES, { body: { note: "for operators only" } });
  assert.equal(made.status, 201, made.text);
  return String(made.body.id);
}
const pay = (id: string) => operator.browser.send("POST", `${BATCHES}/${id}/paid`);
const lineOf = async (id: string, host: Person) => {
  const { lines } = (await operator.browser.send("GET", `${BATCHES}/${id}`)).body as { lines: { account: string }[] };
  return lines.find(({ account }) => account === publicId("acc", accountOf(host))) as unknown as Record<
    string,
    unknown
  >;
};

describe("a payout method", () => {
  test("is shown masked to the host, and whole to operators beside the payout line that they pay", async () => {
    const host = await hostWithEarnings("=A host");
    const id = await batch();
    assert.equal((await lineOf(id, host))["method"], null);
    const answer = await set(host, IBAN);
    assert.equal(answer.status, 200, answer.text);
    const { method } = answer.body as { method: Record<string, unknown> };
    const { changed_at, ...shown } = method;
    assert.equal(typeof changed_at, "number");
    assert.deepEqual(shown, { kind: "iban", label: "IBAN DE… 3000", holder: "Henry Host", changed_by: host.email });
    assert.doesNotMatch((await host.browser.send("GET", METHOD)).text, /37040044|3704 0044/);
    const whole = { kind: "iban", holder: "Henry Host", number: "DE89370400440532013000", bank_code: "COBADEFFXXX" };
    assert.deepEqual((await lineOf(id, host))["method"], { ...whole, changed_at });
    const file = (await operator.browser.send("GET", `${BATCHES}/${id}/csv`)).text;
    assert.match(file, /,iban,Henry Host,DE89370400440532013000,COBADEFFXXX,20\d\d-.*Z\r\n/);
    await pay(id);
  });

  test("can be replaced and removed, while paid payouts still show the method that they were sent to", async () => {
    const host = await hostWithEarnings();
    await set(host, IBAN);
    await pay(await batch());
    await set(host, US_BANK);
    await earn(host);
    await pay(await batch());
    for (let i = 0; i < 2; i++) assert.equal((await host.browser.send("DELETE", METHOD)).status, 200);
    assert.equal((await host.browser.send("GET", METHOD)).body.method, null);
    await earn(host);
    await batch();
    const { data } = (await host.browser.send("GET", PAYOUTS)).body as { data: Record<string, unknown>[] };
    assert.deepEqual(
      data.map(({ state, amount_micro, paid_to }) => [state, amount_micro, paid_to]),
      [
        ["open", "7.000000", null],
        ["paid", "7.000000", "US bank … 6789"],
        ["paid", "7.000000", "IBAN DE… 3000"],
      ],
    );
    assert.doesNotMatch(JSON.stringify(data), /for operators only/);
    const theirs = await operator.browser.send(
      "GET",
      `/console/api/operator/accounts/${publicId("acc", accountOf(host))}/payouts`,
    );
    assert.deepEqual(
      (theirs.body.data as { paid_to: string }[]).map(({ paid_to }) => paid_to),
      [null, "US bank … 6789", "IBAN DE… 3000"],
    );
  });

  test("is refused with the field and its rule if it is invalid, and the previous method stays", async () => {
    const host = await signInTestPerson(platform, [{ kind: "host" }]);
    await set(host, US_BANK);
    for (const [field, wrong] of [
      ["kind", { ...IBAN, kind: "cash" }],
      ["holder", { ...IBAN, holder: " " }],
      ["number", { ...IBAN, number: "DE89 3704 0044 0532 0130 01" }],
      ["bank_code", { ...IBAN, bank_code: "COBA" }],
      ["bank_code", { ...US_BANK, bank_code: undefined }],
      ["number", { kind: "paypal", holder: "Henry Host", number: "nobody" }],
    ] as const) {
      assertRefused(await set(host, wrong), 400, field);
    }
    const { method } = (await host.browser.send("GET", METHOD)).body as { method: { label: string } };
    assert.equal(method.label, "US bank … 6789");
  });

  test("is changed only by owners and billing contacts, who all get an email without the full account number", async () => {
    const host = await signInTestPerson(platform, [{ kind: "host" }]);
    const roles = { billing: 200, member: 403, viewer: 403 };
    for (const [role, status] of Object.entries(roles)) {
      const other = await signInTestPerson(platform);
      const values = [accountOf(host), other.identityId, role];
      await platform.pool.query(
        "insert into account_member (account_id, identity_id, role) values ($1, $2, $3)",
        values,
      );
      sent.length = 0;
      assert.equal((await set(other, { ...IBAN, kind: "iban" })).status, status, role);
      await platform.identities.idle();
      const addresses = sent.map(({ to }) => to).toSorted();
      assert.deepEqual(addresses, role === "billing" ? [host.email, other.email].toSorted() : []);
      for (const { subject, text } of sent) {
        assert.match(subject, /payout method/);
        assert.match(text, /IBAN DE… 3000/);
        assert.doesNotMatch(text, /37040044|3704 0044/);
      }
    }
  });

  test("is recorded in the audit log by its kind only", async () => {
    const host = await signInTestPerson(platform, [{ kind: "host" }]);
    await set(host, IBAN);
    await host.browser.send("DELETE", METHOD);
    const by = `person ${publicId("usr", host.identityId)}`;
    const acts = await readLatestAuditEntries(operator, 2);
    assert.deepEqual(
      acts.map(({ operator: who, action, subject, details, outcome }) => ({ who, action, subject, details, outcome })),
      ["payout_method.remove", "payout_method.set"].map((action) => ({
        ...{ who: by, action, subject: publicId("acc", accountOf(host)), details: { kind: "iban" }, outcome: "done" },
      })),
    );
  });

  test("stays valid after the person who set it deletes their user; changed_by is then null", async () => {
    const host = await signInTestPerson(platform, [{ kind: "host" }]);
    const other = await signInTestPerson(platform);
    await platform.identities.own(other.identityId, accountOf(host));
    await set(other, IBAN);
    assert.equal(
      (await other.browser.send("POST", "/console/api/me/delete", { body: { email: other.email } })).status,
      200,
    );
    const { method } = (await host.browser.send("GET", METHOD)).body as { method: Record<string, unknown> };
    assert.deepEqual([method["label"], method["changed_by"]], ["IBAN DE… 3000", null]);
  });
});

describe("deleting the account", () => {
  test("deletes its payout method, also from paid payouts", async () => {
    const host = await hostWithEarnings();
    await set(host, IBAN);
    await pay(await batch());
    const path = `/console/api/accounts/${publicId("acc", accountOf(host))}/delete`;
    const answer = await host.browser.send("POST", path, { body: { name: "A host" } });
    assert.equal(answer.status, 200, answer.text);
    const left = async (text: string) => (await platform.pool.query(text, [accountOf(host)])).rows;
    assert.deepEqual(await left("select from payout_method where account_id = $1"), []);
    assert.deepEqual(await left("select amount, paid_to from payout where account_id = $1"), [
      { amount: 7_000_000n, paid_to: null },
    ]);
  });
});
