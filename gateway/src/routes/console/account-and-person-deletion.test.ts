/**
 * Exporting and deleting accounts and persons: which data is removed or kept, which conditions prevent a deletion, and
 * that the ledger balances afterwards.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { computeAuthenticatorCode } from "../../accounts/testing/authenticator-codes.ts";
import { publicId, type Uuid } from "../../base/ids.ts";
import { dollars } from "../../base/money.ts";
import { readZip } from "../../base/testing/read-zip.ts";
import { checkLedger } from "../../ledger/check.ts";
import { Browser, PASSWORD } from "../testing/browser.ts";
import { insertServedRequest } from "../testing/past-requests.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";
import { assertRefused, type Person, signInTestPerson } from "../testing/sign-in-test-person.ts";

const MARK = "Zebulon";

let platform: TestPlatform;
before(async () => {
  platform = await openTestPlatform();
  // At this price, the five output tokens that `insertServedRequest` uses by default cost 1,000,000, and fifty cost
  // 10,000,000. The tests below use these charges.
  await rows("insert into price (version, model, price_in_pico, price_out_pico) values (1, 'tiny-3b', 0, 200000)");
});
after(() => platform.close());

const person = (kind?: "builder" | "host", more?: { operator: boolean }): Promise<Person> =>
  signInTestPerson(platform, kind === undefined ? [] : [{ kind }], more);
const accountOf = ({ accountIds }: Person): Uuid => accountIds[0] as Uuid;
const path = (who: Person, what: string): string => `/console/api/accounts/${publicId("acc", accountOf(who))}/${what}`;
const remove = (who: Person, body: object, browser = who.browser) =>
  browser.send("POST", path(who, "delete"), { body });
const rows = async (text: string, ...values: unknown[]) => (await platform.pool.query(text, values)).rows;
const named = (who: Person, name: string) => rows("update account set name = $2 where id = $1", accountOf(who), name);

async function assertBalanced(): Promise<void> {
  await platform.rollUp();
  const found = (await checkLedger(platform.pool)).filter(({ differences }) => differences.length > 0);
  assert.deepEqual(found, []);
}

async function exportOf({ browser }: Person, url: string): Promise<Record<string, string>> {
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const headers = { cookie, "sec-fetch-site": "same-origin" };
  const response = await platform.app.inject({ method: "GET", url, headers });
  assert.equal(response.statusCode, 200, response.payload);
  assert.match(String(response.headers["content-disposition"]), /^attachment; filename="acc_\w+\.zip"$/);
  return readZip(response.rawPayload);
}

describe("exporting an account", () => {
  test("returns a builder's records as files, without secrets", async () => {
    const who = await person("builder");
    const key = await who.browser.send("POST", "/console/api/keys", { body: { name: "web" } });
    const request = await insertServedRequest(platform, {
      accountId: accountOf(who),
      charge: 1_000_000n,
      label: "orders",
    });
    await platform.rollUp();
    const files = await exportOf(who, path(who, "export.zip"));
    const month = new Date().toISOString().slice(0, 7);
    assert.deepEqual(Object.keys(files), [
      "account.json",
      "notifications.json",
      "credit.json",
      "keys.json",
      "requests.csv",
      "statement.csv",
      "usage-by-day-and-model.json",
      "refused-calls.json",
      `invoices/invoice-${month}.pdf`,
    ]);
    const lines = (files["requests.csv"] ?? "").trim().split("\r\n");
    assert.equal(lines.length, 2);
    assert.ok(lines[1]?.includes(publicId("req", request)) && lines[1].includes("orders"));
    assert.match(files["statement.csv"] ?? "", /grant/);
    assert.equal(JSON.parse(files["account.json"] ?? "").team.members[0].email, who.email);
    assert.equal(JSON.parse(files["keys.json"] ?? "")[0].name, "web");
    assert.equal(JSON.parse(files["usage-by-day-and-model.json"] ?? "")[0].charge_micro, "1.000000");
    assert.match(files[`invoices/invoice-${month}.pdf`] ?? "", /^%PDF-/);
    assert.ok(!Object.values(files).join().includes(String(key.body.secret)));
  });

  test("returns a host's nodes, earnings, payout method and statements as files", async () => {
    const files = await exportOf(await person("host"), path(await person("host"), "export.zip")).catch(() => ({}));
    assert.deepEqual(files, {}, "another person's account is not found");
    const who = await person("host");
    const method = { kind: "paypal", holder: "Henry", number: "henry@example.test" };
    await who.browser.send("PUT", "/console/api/payout-method", { body: method });
    const all = await exportOf(who, path(who, "export.zip"));
    const names = Object.keys(all);
    for (const name of ["host-tokens.json", "nodes.json", "earnings.csv", "withheld-shares.json", "payouts.json"]) {
      assert.ok(names.includes(name), name);
    }
    assert.partialDeepStrictEqual(JSON.parse(all["payout-method.json"] ?? ""), method);
    assert.ok(names.some((name) => name.startsWith("statements/statement-")));
  });

  test("is only allowed to owners", async () => {
    const [who, other] = [await person("builder"), await person()];
    assertRefused(await other.browser.send("GET", path(who, "export.zip")), 404, "not_found");
    await rows(
      "insert into account_member (account_id, identity_id, role) values ($1, $2, 'member')",
      accountOf(who),
      other.identityId,
    );
    for (const what of ["export.zip", "deletion"]) {
      assertRefused(await other.browser.send("GET", path(who, what)), 403, "role_required");
    }
    assertRefused(await remove(who, { name: "A builder" }, other.browser), 403, "role_required");
  });
});

describe("deleting an account", () => {
  test("revokes its keys, removes its members, names and labels, and keeps the ledger balanced", async () => {
    const [who, other] = [await person("builder"), await person()];
    const id = accountOf(who);
    await named(who, MARK);
    await rows(
      "insert into account_member (account_id, identity_id, role) values ($1, $2, 'viewer')",
      id,
      other.identityId,
    );
    const key = await who.browser.send("POST", "/console/api/keys", { body: { name: MARK } });
    const secret = `Bearer ${String(key.body.secret)}`;
    assert.ok((await platform.parts.apiKeys.authenticate(secret)) !== undefined);
    for (const label of [MARK, `${MARK} 2`]) {
      await insertServedRequest(platform, { accountId: id, charge: 1_000_000n, label, keyName: MARK, client: MARK });
    }
    await platform.rollUp();
    await who.browser.send("PUT", "/console/api/credits/alert", { body: { mark_micro: "1000000" } });
    await who.browser.send("POST", "/console/api/team/invitations", {
      body: { email: "b@example.test", role: "viewer" },
    });

    const plan = (await who.browser.send("GET", path(who, "deletion"))).body;
    const { given_up_micro, keys, nodes, people, blockers } = plan;
    assert.deepEqual([given_up_micro, keys, nodes, people, blockers], ["4999998.000000", 1, 0, 2, []]);
    assert.equal((await remove(who, { name: MARK })).status, 200);

    assert.equal(await platform.parts.apiKeys.authenticate(secret), undefined);
    assert.deepEqual((await who.browser.send("GET", "/console/api/me")).body.accounts, []);
    assert.deepEqual((await other.browser.send("GET", "/console/api/me")).body.accounts, []);
    assertRefused(await who.browser.send("GET", "/console/api/balance"), 403, "no_account");
    await assertBalanced();
    await platform.identities.sweep();
    await assertBalanced();
    const kept = await rows("select charge_pico, label, key_name, client from request where account_id = $1", id);
    assert.deepEqual(
      kept.map(({ charge_pico, ...rest }) => [BigInt(charge_pico), ...Object.values(rest)]),
      [1, 2].map(() => [1_000_000n, null, "deleted", ""]),
    );
    const [money] = await rows("select balance from ledger_account where id = $1", id);
    assert.equal(BigInt(money.balance), dollars(5) - 2_000_000n, "what is given up stays in the ledger");
    await assertNowhere(MARK);
  });

  test("is recorded in the audit log, and cannot be undone by operators", async () => {
    const [who, operator] = [await person("builder"), await person(undefined, { operator: true })];
    const id = publicId("acc", accountOf(who));
    assert.equal((await remove(who, { name: "A builder" })).status, 200);
    const { data } = (await operator.browser.send("GET", `/console/api/operator/audit?subject=${id}`)).body;
    const [act] = data as { action: string; operator: string; details: object }[];
    assert.equal(act?.action, "account.delete");
    assert.equal(act?.operator, `owner ${publicId("usr", who.identityId)}`);
    assert.deepEqual(act?.details, { kind: "builder", given_up_micro: "5000000.000000", keys: 0, nodes: 0, people: 1 });
    const shown = (await operator.browser.send("GET", `/console/api/operator/accounts/${id}`)).body;
    assert.deepEqual([shown.name, shown.owners, typeof shown.deleted_at], ["Deleted account", [], "number"]);
    for (const act of ["restore", "suspend", "grant"]) {
      const body = { reason: "a test", amount_micro: "1000000" };
      const answer = await operator.browser.send("POST", `/console/api/operator/accounts/${id}/${act}`, { body });
      assertRefused(answer, 409, "account_deleted");
    }
    assert.equal(await platform.parts.directory.setSuspended(accountOf(who), false), false);
  });

  test("retires a host's nodes, revokes its tokens and excludes it from payouts", async () => {
    const [who, builder, operator] = [
      await person("host"),
      await person("builder"),
      await person(undefined, { operator: true }),
    ];
    const node = await platform.parts.fleet.register(accountOf(who), {
      name: MARK,
      hardware: { gpu: MARK },
      agent: "",
    });
    await insertServedRequest(platform, {
      accountId: accountOf(builder),
      charge: 10_000_000n,
      completionTokens: 50,
      host: { accountId: accountOf(who), nodeId: node.id },
    });
    const token = await who.browser.send("POST", "/console/api/host-tokens", { body: { name: MARK } });
    assert.equal((await who.browser.send("GET", path(who, "deletion"))).body.given_up_micro, "7.000000");
    assert.equal((await remove(who, { name: "A host" })).status, 200);
    assert.equal((await platform.parts.fleet.find(null, node.id))?.standing, "retired");
    const bearer = `Bearer ${String(token.body.secret)}`;
    assert.equal(await platform.parts.hostTokens.authenticate(bearer), undefined);
    const batch = await operator.browser.send("POST", "/console/api/operator/payouts", { body: { note: "a test" } });
    assert.equal(batch.status, 409, batch.text);
    await assertBalanced();
    await assertNowhere(MARK);
  });

  test("requires the exact name of the account as confirmation", async () => {
    const who = await person("builder");
    for (const body of [{ name: "a builder" }, { name: "" }, {}]) assertRefused(await remove(who, body), 400, "name");
    assert.equal((await who.browser.send("GET", path(who, "deletion"))).status, 200);
  });

  test("requires an unused second-factor code if the owner has enabled a second factor", async () => {
    const who = await person("builder");
    const enable = { body: { password: PASSWORD } };
    const setup = (await who.browser.send("POST", "/console/api/auth/two-factor/enable", enable)).body;
    const secret = String(setup.secret);
    const [backup] = setup.backup_codes as unknown as string[];
    await who.browser.send("POST", "/console/api/auth/two-factor/confirm", {
      body: { code: computeAuthenticatorCode(secret) },
    });
    assertRefused(await remove(who, { name: "A builder" }), 400, "code");
    assertRefused(await remove(who, { name: "A builder", code: "000000" }), 400, "code");
    assertRefused(await remove(who, { name: "A builder", code: computeAuthenticatorCode(secret) }), 400, "code");
    assert.equal((await remove(who, { name: "A builder", code: backup })).status, 200);
    const again = { email: who.email, code: backup };
    assertRefused(await who.browser.send("POST", "/console/api/me/delete", { body: again }), 400, "code");
    const right = { email: who.email, code: computeAuthenticatorCode(secret, 1) };
    assert.equal((await who.browser.send("POST", "/console/api/me/delete", { body: right })).status, 200);
  });

  test("is refused while something is unfinished, and the message names it", async () => {
    const who = await person("builder");
    const id = accountOf(who);
    const blocked = async (code: string, words: RegExp) => {
      const answer = await remove(who, { name: "A builder" });
      assertRefused(answer, 409, code);
      assert.match(answer.body.error?.message ?? "", words);
      assert.match(String((await who.browser.send("GET", path(who, "deletion"))).body.blockers), words);
    };
    const hold = await holdOf(id);
    await blocked("deletion_blocked", /1 request in flight/);
    await platform.ledger.void(hold);
    await rows(
      `insert into payment_checkout (id, account_id, pack, amount, live, provider_session)
       values ($1, $2, 'small', 1, false, $3)`,
      platform.newId(),
      id,
      `cs_${id}`,
    );
    await blocked("deletion_blocked", /A payment .* is not finished/);
    await rows("update payment_checkout set state = 'expired' where account_id = $1", id);
    const debt = {
      id: platform.newId(),
      kind: "dispute",
      accountId: id,
      amount: dollars(6),
      reason: "a test",
    } as const;
    assert.equal(await platform.ledger.transfer(debt), "moved");
    await blocked("account_owes", /balance is negative/);
    const paid = { ...debt, id: platform.newId(), kind: "grant", amount: dollars(1) } as const;
    assert.equal(await platform.ledger.transfer(paid), "moved");
    assert.equal((await remove(who, { name: "A builder" })).status, 200);
    await assertBalanced();
  });

  test("is refused while a payout is open or a quarantined node awaits a decision", async () => {
    const [who, builder, operator] = [
      await person("host"),
      await person("builder"),
      await person(undefined, { operator: true }),
    ];
    const { fleet, payouts } = platform.parts;
    const node = await fleet.register(accountOf(who), { name: "one", hardware: {}, agent: "" });
    await fleet.quarantine(node.id, { reason: "operator", evidence: {}, by: "a test" } as never);
    const refused = await remove(who, { name: "A host" });
    assertRefused(refused, 409, "deletion_blocked");
    assert.match(refused.body.error?.message ?? "", /quarantine/);
    await fleet.release(node.id, "a test");
    await insertServedRequest(platform, {
      accountId: accountOf(builder),
      charge: 10_000_000n,
      completionTokens: 50,
      host: { accountId: accountOf(who), nodeId: node.id },
    });
    const created = await operator.browser.send("POST", "/console/api/operator/payouts", { body: { note: "a test" } });
    assert.equal(created.status, 201, created.text);
    const waiting = await remove(who, { name: "A host" });
    assertRefused(waiting, 409, "deletion_blocked");
    assert.match(waiting.body.error?.message ?? "", /payout/);
    const [batch] = await rows("select id from payout_batch order by id desc limit 1");
    assert.equal(await payouts.markPaid(batch.id, "a test"), "paid");
    assert.equal((await remove(who, { name: "A host" })).status, 200);
    await assertBalanced();
  });

  test("succeeds for one of two concurrent requests, and the other gets 403", async () => {
    const who = await person("builder");
    const answers = await Promise.all([1, 2].map(() => remove(who, { name: "A builder" })));
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 403]);
  });

  test("returns 403 to a script that the person authorized, because deletion requires a browser", async () => {
    const who = await person("builder");
    const script = new Browser(platform);
    const { token, code } = (
      await script.send("POST", "/console/api/auth/scripts", { body: { name: "a script", access: "write" } })
    ).body;
    await who.browser.send("POST", `/console/api/script-logins/${code}`, { body: { confirm: true } });
    const headers = { authorization: `Bearer ${token}` };
    for (const [url, body] of [
      [path(who, "delete"), { name: "A builder" }],
      ["/console/api/me/delete", { email: who.email }],
    ] as const) {
      assertRefused(await script.send("POST", url, { headers, body }), 403, "browser_required");
    }
  });
});

describe("deleting oneself", () => {
  const leave = (who: Person, body: object = { email: who.email }) =>
    who.browser.send("POST", "/console/api/me/delete", { body });

  test("ends the person's sessions, removes them from all teams and erases their email address", async () => {
    const [who, owner] = [await person(), await person("builder")];
    await rows(
      "insert into account_member (account_id, identity_id, role) values ($1, $2, 'viewer')",
      accountOf(owner),
      who.identityId,
    );
    await rows(
      "insert into account_event (id, account_id, actor_id, action, email, role) values ($1, $2, $3, 'joined', $4, 'viewer')",
      platform.newId(),
      accountOf(owner),
      who.identityId,
      who.email,
    );
    const elsewhere = new Browser(platform);
    assert.equal((await elsewhere.signIn(who.email)).status, 200);
    const mine = await who.browser.send("GET", "/console/api/me/export.json");
    assert.equal(JSON.parse(mine.text).identity.email, who.email);
    assert.equal(JSON.parse(mine.text).sessions.length, 2);
    assertRefused(await leave(who, { email: "other@example.test" }), 400, "email");
    assert.equal((await leave(who)).status, 200);
    for (const browser of [who.browser, elsewhere]) {
      assert.equal((await browser.send("GET", "/console/api/me")).status, 401);
    }
    assert.equal((await new Browser(platform).signIn(who.email)).status, 401);
    const { members, events } = (await owner.browser.send("GET", "/console/api/team")).body as never as {
      members: unknown[];
      events: { email: string; by: string | null }[];
    };
    assert.equal(members.length, 1);
    assert.deepEqual([events[0]?.email, events[0]?.by], ["deleted person", null]);
    await assertNowhere(who.email);
  });

  test("is refused to the only owner of an account, and the message names the account", async () => {
    const who = await person("builder");
    const answer = await leave(who);
    assertRefused(answer, 409, "last_owner");
    assert.match(answer.body.error?.message ?? "", /“A builder”/);
    assert.equal((await remove(who, { name: "A builder" })).status, 200);
    assert.equal((await leave(who)).status, 200);
  });

  test("is refused to one of two owners while the account has a negative balance", async () => {
    const [who, other] = [await person("builder"), await person()];
    await platform.identities.own(other.identityId, accountOf(who));
    const debt = {
      id: platform.newId(),
      kind: "dispute",
      accountId: accountOf(who),
      amount: dollars(6),
      reason: "a test",
    } as const;
    assert.equal(await platform.ledger.transfer(debt), "moved");
    assertRefused(await leave(other), 409, "account_owes");
  });

  test("is refused to the last operator, also if the last two try it concurrently", async () => {
    await rows("update identity set operator = false where operator");
    const [one, two] = [await person(undefined, { operator: true }), await person(undefined, { operator: true })];
    const answers = await Promise.all([leave(one), leave(two)]);
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409]);
    const refused = answers.find(({ status }) => status === 409);
    assert.match(refused?.body.error?.message ?? "", /only operator/);
    const acts = await rows(
      "select operator from operator_action where action = 'person.delete' order by id desc limit 1",
    );
    assert.ok([one.email, two.email].includes(acts[0].operator), "what an operator did keeps their address");
  });
});

async function holdOf(accountId: Uuid): Promise<Uuid> {
  const id = platform.newId();
  const held = await platform.ledger.hold({
    ...{ id, accountId, amount: 1n as never, keyId: accountId, keyName: "a key", endpoint: "chat", model: "tiny-3b" },
    ...{ build: "a build", tokenizer: "a tokenizer", stream: false, promptTokens: 1, priceVersion: 1, client: "" },
  });
  assert.deepEqual(held, { kind: "held" });
  return id;
}

/** Asserts that no row of any table contains one of these texts. */
async function assertNowhere(...texts: string[]): Promise<void> {
  const tables = await rows("select tablename from pg_tables where schemaname = current_schema() order by 1");
  for (const { tablename } of tables) {
    for (const text of texts) {
      const [found] = await rows(`select count(*)::int as n from "${tablename}" t where t::text ilike $1`, `%${text}%`);
      assert.equal(found.n, 0, `${text} in ${tablename}`);
    }
  }
}
