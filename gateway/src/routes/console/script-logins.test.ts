import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { publicId, type Uuid } from "../../base/ids.ts";
import { Browser, PASSWORD } from "../testing/browser.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";
import { assertRefused, signInTestPerson } from "../testing/sign-in-test-person.ts";

let platform: TestPlatform;
before(async () => {
  platform = await openTestPlatform();
});
after(() => platform.close());

const AUTH = "/console/api/auth/scripts";
const asScript = (token: unknown) => ({ authorization: `Bearer ${token}` });
const bodyOf = async (answer: Promise<{ body: object }>) => (await answer).body as Record<string, string>;

async function begun(access?: "read" | "write") {
  const script = new Browser(platform);
  const body = { name: "tollgate on build-1", ...(access && { access }) };
  const { token = "", code = "", ...rest } = await bodyOf(script.send("POST", AUTH, { body }));
  const state = async () => {
    const answer = await script.send("POST", `${AUTH}/state`, { body: { token } });
    return answer.body.status;
  };
  const send: (...asked: Parameters<Browser["send"]>) => ReturnType<Browser["send"]> = (method, url, more) =>
    script.send(method, url, { ...more, headers: asScript(token) });
  return { script, token, code, rest, state, send };
}

const answerTo = (browser: Browser, code: string, confirm = true) =>
  browser.send("POST", `/console/api/script-logins/${code}`, { body: { confirm } });

async function loggedIn(access: "read" | "write", accounts: Parameters<TestPlatform["person"]>[0]) {
  const person = await signInTestPerson(platform, accounts);
  const login = await begun(access);
  assert.equal((await answerTo(person.browser, login.code)).status, 200);
  return { ...person, ...login };
}

describe("a script's login", () => {
  test("starts with a token that has no access until a person confirms the code", async () => {
    const { browser, accountIds } = await signInTestPerson(platform, [{ kind: "builder" }]);
    const { token, code, rest, state, send } = await begun();
    assert.match(token, /^tgs_[\w-]{43}$/);
    assert.match(code, /^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/);
    assert.equal(rest.confirm_path, `/console/authorize?code=${code}`);
    assert.equal(await state(), "pending");
    assertRefused(await send("GET", "/console/api/me"), 401, "not_authenticated");

    const shown = await bodyOf(browser.send("GET", `/console/api/script-logins/${code}`));
    assert.deepEqual([shown.name, shown.access, shown.code], ["tollgate on build-1", "read", code]);
    assert.deepEqual((await answerTo(browser, code)).body, { status: "confirmed" });
    assert.equal(await state(), "confirmed");
    const me = await send("GET", "/console/api/me");
    assert.deepEqual(
      (me.body.accounts as { id: string }[]).map(({ id }) => id),
      accountIds.map((id) => publicId("acc", id)),
    );
    assert.equal((await send("GET", "/console/api/balance")).body.balance_micro, "5000000.000000");
    assertRefused(await answerTo(browser, code), 404, "not_found");
  });

  test("accepts the code in lower or upper case, with or without the hyphen", async () => {
    const { browser } = await signInTestPerson(platform);
    const { code, state } = await begun();
    await answerTo(browser, code.toLowerCase().replace("-", ""));
    assert.equal(await state(), "confirmed");
  });

  test("is reported as rejected to the script if the person rejects it, and its token has no access", async () => {
    const { browser } = await signInTestPerson(platform);
    const { code, state, send } = await begun();
    assert.deepEqual((await answerTo(browser, code, false)).body, { status: "refused" });
    assert.equal(await state(), "refused");
    assertRefused(await answerTo(browser, code), 404, "not_found");
    assertRefused(await send("GET", "/console/api/me"), 401, "not_authenticated");
  });

  test("expires after ten minutes", async () => {
    const { browser } = await signInTestPerson(platform);
    const { code, rest, state } = await begun();
    const { rows } = await platform.pool.query("select extract(epoch from now())::integer + 600 as until");
    assert.ok(Math.abs(Number(rest.expires_at) - rows[0].until) <= 5);
    await platform.pool.query("update script_login set expires_at = now()");
    assertRefused(await answerTo(browser, code), 404, "not_found");
    assert.equal(await state(), "expired");
    await platform.identities.sweep();
    assert.equal((await platform.pool.query("select from script_login")).rowCount, 0);
  });

  test("is refused to operators, before or after confirmation", async () => {
    const operator = await signInTestPerson(platform, [], { operator: true });
    const first = await begun();
    assertRefused(await answerTo(operator.browser, first.code), 403, "operator_excluded");
    const read = await operator.browser.send("GET", `/console/api/script-logins/${first.code}`);
    assertRefused(read, 403, "operator_excluded");
    const { identityId, send } = await loggedIn("write", []);
    await platform.pool.query("update identity set operator = true where id = $1", [identityId]);
    assertRefused(await send("GET", "/console/api/me"), 401, "not_authenticated");
    assertRefused(await send("GET", "/console/api/operator/overview"), 401, "not_authenticated");
  });

  test("cannot be confirmed by a script or from another site", async () => {
    const { send, browser } = await loggedIn("write", [{ kind: "builder" }]);
    const { code, state } = await begun();
    const path = `/console/api/script-logins/${code}`;
    assertRefused(await send("POST", path, { body: { confirm: true } }), 403, "browser_required");
    const headers = { "sec-fetch-site": "cross-site" };
    const forged = await browser.send("POST", path, { body: { confirm: true }, headers });
    assertRefused(forged, 403, "cross_site_blocked");
    assert.equal(await state(), "pending");
  });

  test("limits the number of wrong codes per person", async () => {
    const { browser } = await signInTestPerson(platform);
    for (let i = 0; i < 30; i++) assertRefused(await answerTo(browser, "BBBB-BBBB"), 404, "not_found");
    assert.equal((await answerTo(browser, "BBBB-BBBB")).status, 429);
  });

  test("returns a 400 that names an invalid field", async () => {
    const script = new Browser(platform);
    for (const [body, param] of [
      [{}, "name"],
      [{ name: " " }, "name"],
      [{ name: "x".repeat(101) }, "name"],
      [{ name: "a", access: "all" }, "access"],
    ] as const) {
      const { status, body: answered } = await script.send("POST", AUTH, { body });
      assert.deepEqual([status, answered.error?.param], [400, param]);
    }
    const { body } = await script.send("POST", `${AUTH}/state`, { body: { token: "tsk_live_x" } });
    assert.equal(body.error?.param, "token");
  });
});

describe("a script's session", () => {
  const newKey = { body: { name: "made by a script" } };

  test("with read access cannot change anything", async () => {
    const { send } = await loggedIn("read", [{ kind: "builder" }]);
    assert.equal((await send("GET", "/console/api/keys")).status, 200);
    assertRefused(await send("POST", "/console/api/keys", newKey), 403, "session_read_only");
    assertRefused(await send("PATCH", "/console/api/accounts/acc_x", { body: {} }), 403, "browser_required");
  });

  test("with write access may do what the person's role allows, even without an Origin header", async () => {
    const { send, accountIds } = await loggedIn("write", [{ kind: "builder" }]);
    assert.equal((await send("POST", "/console/api/keys", newKey)).status, 201);
    const viewer = await loggedIn("write", []);
    const values = [accountIds[0] as Uuid, viewer.identityId];
    await platform.pool.query(
      "insert into account_member (account_id, identity_id, role) values ($1, $2, 'viewer')",
      values,
    );
    assertRefused(await viewer.send("POST", "/console/api/keys", newKey), 403, "role_required");
  });

  test("cannot change sign-in settings or use operator routes", async () => {
    const { send } = await loggedIn("write", [{ kind: "builder" }]);
    const change = { body: { password: PASSWORD, new_password: `${PASSWORD}!` } };
    assertRefused(await send("POST", "/console/api/auth/change-password", change), 403, "browser_required");
    assertRefused(await send("DELETE", "/console/api/sessions"), 403, "browser_required");
    assertRefused(await send("GET", "/console/api/operator/overview"), 403, "operator_only");
  });

  test("is listed with its name and access, lasts 30 days and can be ended from the list", async () => {
    const { browser, send } = await loggedIn("write", []);
    const { data } = (await browser.send("GET", "/console/api/sessions")).body as { data: Record<string, unknown>[] };
    const session = data.find(({ script_access }) => script_access !== null);
    assert.deepEqual(
      [session?.user_agent, session?.script_access, session?.current],
      ["tollgate on build-1", "write", false],
    );
    assert.equal(Number(session?.expires_at) - Number(session?.created_at), 30 * 24 * 60 * 60);
    assert.equal((await browser.send("DELETE", `/console/api/sessions/${session?.id}`)).status, 200);
    assertRefused(await send("GET", "/console/api/me"), 401, "not_authenticated");
  });

  test("ends when the script signs out, while the person's browser session continues", async () => {
    const { browser, send } = await loggedIn("read", []);
    assert.equal((await send("POST", "/console/api/auth/sign-out")).status, 200);
    assertRefused(await send("GET", "/console/api/me"), 401, "not_authenticated");
    assert.equal((await browser.send("GET", "/console/api/me")).status, 200);
  });

  test("ends when the password changes", async () => {
    const { browser, send } = await loggedIn("read", []);
    const body = { password: PASSWORD, new_password: `${PASSWORD}!` };
    assert.equal((await browser.send("POST", "/console/api/auth/change-password", { body })).status, 200);
    assertRefused(await send("GET", "/console/api/me"), 401, "not_authenticated");
  });

  test("is stored as a hash that does not work as a cookie", async () => {
    const { identityId, token } = await loggedIn("read", []);
    const { rows } = await platform.pool.query("select token from identity_session where identity_id = $1", [
      identityId,
    ]);
    const stored = rows.map((row) => row.token as string).find((one) => one.startsWith("script:")) ?? "";
    assert.match(stored, /^script:[0-9a-f]{64}$/);
    assert.ok(!stored.includes(token.slice(4)));
    const thief = new Browser(platform);
    thief.cookies.set("tollgate.session_token", encodeURIComponent(stored));
    assertRefused(await thief.send("GET", "/console/api/me"), 401, "not_authenticated");
  });
});
