import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { computeAuthenticatorCode } from "../../accounts/testing/authenticator-codes.ts";
import { Browser, type BrowserResponse, PASSWORD } from "../testing/browser.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";

const AUTH = "/console/api/auth";

let platform: TestPlatform;
before(async () => {
  platform = await openTestPlatform();
});
after(() => platform.close());

const post = (browser: Browser, path: string, body: object): Promise<BrowserResponse> =>
  browser.send("POST", `${AUTH}/${path}`, { body });

async function signedIn() {
  const person = await platform.person([{ kind: "builder" }]);
  const browser = new Browser(platform);
  await browser.signIn(person.email);
  return { ...person, browser };
}

interface Setup {
  secret: string;
  uri: string;
  backup_codes: string[];
}

async function withTwoFactor() {
  const person = await signedIn();
  const begun = await post(person.browser, "two-factor/enable", { password: PASSWORD });
  assert.equal(begun.status, 200, begun.text);
  const { secret, uri, backup_codes } = begun.body as unknown as Setup;
  const confirmed = await post(person.browser, "two-factor/confirm", { code: computeAuthenticatorCode(secret) });
  assert.deepEqual(confirmed.body, { status: "enabled" }, confirmed.text);
  return { ...person, secret, uri, backupCodes: backup_codes };
}

const isOn = async (browser: Browser) => (await browser.send("GET", "/console/api/me")).body.identity?.two_factor;

/** Enters the password only. The sign-in then waits for the code. */
async function begin(email: string): Promise<Browser> {
  const browser = new Browser(platform);
  const answer = await browser.signIn(email);
  assert.deepEqual(answer.body, { status: "two_factor_required" });
  return browser;
}

test("sign-in requires a code in addition to the password once a second factor is enabled", async () => {
  const { email, secret, uri, browser } = await withTwoFactor();
  assert.equal(await isOn(browser), true);
  const address = new URL(uri);
  assert.equal(address.protocol, "otpauth:");
  assert.equal(address.searchParams.get("issuer"), "Tollgate");
  const next = await begin(email);
  assert.equal(next.cookies.has("tollgate.session_token"), false);
  assert.equal((await next.send("GET", "/console/api/me")).status, 401);
  const entered = await post(next, "sign-in/code", { code: computeAuthenticatorCode(secret, 1) });
  assert.deepEqual(entered.body, { status: "signed_in" }, entered.text);
  assert.equal((await next.send("GET", "/console/api/me")).status, 200);
});

test("enabling a second factor requires the password and a valid code", async () => {
  const { email, browser } = await signedIn();
  const wrong = await post(browser, "two-factor/enable", { password: "not the one" });
  assert.equal(wrong.status, 400);
  assert.equal(wrong.body.error?.param, "password");
  const early = await post(browser, "two-factor/confirm", { code: "123456" });
  assert.equal(early.status, 400, early.text);
  const begun = await post(browser, "two-factor/enable", { password: PASSWORD });
  const { secret } = begun.body as unknown as Setup;
  // The second factor is not confirmed yet, so signing in still requires only the password.
  assert.deepEqual((await new Browser(platform).signIn(email)).body, { status: "signed_in" });
  const guess = computeAuthenticatorCode(secret) === "000000" ? "000001" : "000000";
  const bad = await post(browser, "two-factor/confirm", { code: guess });
  assert.equal(bad.status, 400);
  assert.equal(bad.body.error?.param, "code");
  assert.equal(await isOn(browser), false);
  assert.equal((await post(browser, "two-factor/confirm", { code: computeAuthenticatorCode(secret) })).status, 200);
  assert.equal(await isOn(browser), true);
  const again = await post(browser, "two-factor/enable", { password: PASSWORD });
  assert.equal(again.status, 400);
  assert.match(again.body.error?.message ?? "", /already on/);
});

test("a second-factor code is accepted only once", async () => {
  const { email, secret } = await withTwoFactor();
  const code = computeAuthenticatorCode(secret, 1);
  assert.equal((await post(await begin(email), "sign-in/code", { code })).status, 200);
  const onlooker = await begin(email);
  const second = await post(onlooker, "sign-in/code", { code });
  assert.equal(second.status, 400);
  assert.equal(second.body.error?.param, "code");
  assert.equal(onlooker.cookies.has("tollgate.session_token"), false);
  assert.equal((await onlooker.send("GET", "/console/api/me")).status, 401);
});

test("the code that enabled the second factor is refused for a sign-in", async () => {
  const { email, browser } = await signedIn();
  const { secret } = (await post(browser, "two-factor/enable", { password: PASSWORD })).body as unknown as Setup;
  const code = computeAuthenticatorCode(secret);
  assert.equal((await post(browser, "two-factor/confirm", { code })).status, 200);
  const onlooker = await post(await begin(email), "sign-in/code", { code });
  assert.equal(onlooker.status, 400);
  assert.equal(onlooker.body.error?.param, "code");
});

test("only one of several concurrent uses of a backup code succeeds", async () => {
  const { email, backupCodes } = await withTwoFactor();
  const browsers = await Promise.all(Array.from({ length: 6 }, () => begin(email)));
  const answers = await Promise.all(browsers.map((browser) => post(browser, "sign-in/code", { code: backupCodes[0] })));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400, 400, 400, 400]);
  for (const { status, body } of answers) assert.equal(body.error?.param, status === 200 ? undefined : "code");
});

test("a backup code is accepted only once, and new backup codes replace the old ones", async () => {
  const { email, browser, backupCodes } = await withTwoFactor();
  assert.equal(new Set(backupCodes).size, 10);
  const [first, second] = backupCodes as [string, string];
  assert.equal((await post(await begin(email), "sign-in/code", { code: first })).status, 200);
  const again = await post(await begin(email), "sign-in/code", { code: first });
  assert.equal(again.status, 400);
  assert.equal(again.body.error?.param, "code");
  assert.equal((await post(browser, "two-factor/backup-codes", { password: "not the one" })).status, 400);
  const renewed = await post(browser, "two-factor/backup-codes", { password: PASSWORD });
  const [fresh] = renewed.body.backup_codes as string[];
  assert.equal((await post(await begin(email), "sign-in/code", { code: second })).status, 400);
  assert.equal((await post(await begin(email), "sign-in/code", { code: String(fresh) })).status, 200);
});

test("disabling the second factor requires the password, which is then enough to sign in", async () => {
  const { email, browser } = await withTwoFactor();
  assert.equal((await post(browser, "two-factor/disable", { password: "not the one" })).body.error?.param, "password");
  assert.equal(await isOn(browser), true);
  assert.deepEqual((await post(browser, "two-factor/disable", { password: PASSWORD })).body, { status: "disabled" });
  assert.equal(await isOn(browser), false);
  assert.deepEqual((await new Browser(platform).signIn(email)).body, { status: "signed_in" });
  const { rowCount } = await platform.pool.query(
    "select from identity_two_factor t join identity i on i.id = t.identity_id where i.email = $1",
    [email],
  );
  assert.equal(rowCount, 0);
});

test("a code is refused if no password was entered before", async () => {
  const { secret, browser } = await withTwoFactor();
  const stranger = await post(new Browser(platform), "sign-in/code", { code: computeAuthenticatorCode(secret, 1) });
  assert.equal(stranger.status, 401);
  assert.equal(stranger.body.error?.code, "not_authenticated");
  // Even a signed-in browser must enter the password before a code.
  assert.equal((await post(browser, "sign-in/code", { code: computeAuthenticatorCode(secret, 1) })).status, 401);
});

test("five wrong codes require the password again, and ten lock the second factor in every browser for 15 minutes", async () => {
  const { email, secret } = await withTwoFactor();
  const guess = ["000000", "000001", "000002", "000003"].find((code) =>
    [-1, 0, 1, 2].every((steps) => computeAuthenticatorCode(secret, steps) !== code),
  ) as string;
  const first = await begin(email);
  for (let i = 0; i < 5; i++) assert.equal((await post(first, "sign-in/code", { code: guess })).status, 400);
  const used = await post(first, "sign-in/code", { code: computeAuthenticatorCode(secret, 1) });
  assert.equal(used.status, 401);
  const second = await begin(email);
  // The right code after five wrong ones was refused, because its challenge was used up, but it counted as the sixth
  // attempt. Four more make ten.
  for (let i = 0; i < 4; i++) assert.equal((await post(second, "sign-in/code", { code: guess })).status, 400);
  const locked = await post(await begin(email), "sign-in/code", { code: computeAuthenticatorCode(secret, 1) });
  assert.equal(locked.status, 429);
  const waitS = Number(locked.headers["retry-after"]);
  assert.ok(waitS > 0 && waitS <= 900, String(waitS));
  assert.equal(locked.headers["x-should-retry"], "false", "too long for a client to wait on its own");
  await platform.pool.query("update identity_attempt set ends_at = ends_at - interval '15 minutes'");
  assert.equal(
    (await post(await begin(email), "sign-in/code", { code: computeAuthenticatorCode(secret, 1) })).status,
    200,
  );
});

test("the secret and the backup codes are stored encrypted", async () => {
  const { identityId, secret, backupCodes } = await withTwoFactor();
  const { rows } = await platform.pool.query(
    "select secret, backup_codes, t::text as row from identity_two_factor t where identity_id = $1",
    [identityId],
  );
  for (const clear of [secret, ...backupCodes]) assert.ok(!rows[0].row.includes(clear));
  assert.ok(rows[0].secret.length > 64 && rows[0].backup_codes.length > 64);
});

test("two-factor routes return 400 for invalid fields, and 401 without a session", async () => {
  const { browser } = await signedIn();
  for (const [path, body, param] of [
    ["sign-in/code", {}, "code"],
    ["sign-in/code", { code: "12" }, "code"],
    ["two-factor/confirm", { code: "abcdef" }, "code"],
    ["two-factor/enable", {}, "password"],
    ["two-factor/disable", { password: 1 }, "password"],
  ] as const) {
    const answer = await post(browser, path, body);
    assert.equal(answer.status, 400, path);
    assert.equal(answer.body.error?.param, param);
  }
  for (const path of ["enable", "confirm", "backup-codes", "disable"]) {
    const answer = await post(new Browser(platform), `two-factor/${path}`, { password: PASSWORD, code: "123456" });
    assert.equal(answer.body.error?.code, "not_authenticated", path);
  }
});
