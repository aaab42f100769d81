import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createSmtpMailSender } from "../../accounts/mail-sender.ts";
import { openTestMailbox, type ReceivedEmail, type TestMailbox } from "../../accounts/testing/mail-server.ts";
import { Browser, PASSWORD } from "../testing/browser.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";

const AUTH = "/console/api/auth";
const NEW_PASSWORD = "another horse battery";

let mailbox: TestMailbox;
let platform: TestPlatform;
before(async () => {
  mailbox = await openTestMailbox();
  platform = await openTestPlatform({
    publicUrl: "http://gate.test",
    mail: createSmtpMailSender({ url: mailbox.url, from: "noreply@gate.test" }),
    verifyEmails: true,
  });
});
after(async () => {
  await platform.identities.idle();
  await platform.close();
  await mailbox.close();
});

function post(browser: Browser, path: string, body: object) {
  return browser.send("POST", `${AUTH}/${path}`, { body });
}

function tokenIn({ text }: ReceivedEmail, page: string): string {
  const token = new RegExp(`http://gate\\.test/console/${page}#token=(\\S+)`).exec(text)?.[1];
  assert.ok(token, text);
  return decodeURIComponent(token);
}

async function requestReset(email: string): Promise<string> {
  const answer = await post(new Browser(platform), "request-password-reset", { email });
  assert.equal(answer.status, 200, answer.text);
  const letter = await mailbox.next();
  assert.deepEqual(letter.to, [email]);
  return tokenIn(letter, "reset-password");
}

describe("password reset", () => {
  test("sets a new password once by the emailed link, and ends every session", async () => {
    const { email } = await platform.person();
    const signedIn = [new Browser(platform), new Browser(platform)];
    for (const browser of signedIn) await browser.signIn(email);
    const token = await requestReset(email);
    const browser = new Browser(platform);
    const reset = await post(browser, "reset-password", { token, password: NEW_PASSWORD });
    assert.deepEqual(reset.body, { status: "password_changed" });
    assert.equal(browser.cookies.size, 0);
    for (const old of signedIn) assert.equal((await old.send("GET", "/console/api/me")).status, 401);
    assert.equal((await browser.signIn(email, PASSWORD)).status, 401);
    assert.equal((await browser.signIn(email, NEW_PASSWORD)).status, 200);
    const again = await post(browser, "reset-password", { token, password: "a third password" });
    assert.equal(again.status, 400);
    assert.equal(again.body.error?.param, "token");
    assert.equal((await browser.signIn(email, NEW_PASSWORD)).status, 200);
  });

  test("succeeds for only one of two concurrent uses of a token", async () => {
    const { email } = await platform.person();
    const token = await requestReset(email);
    const browsers = [new Browser(platform), new Browser(platform)];
    const answers = await Promise.all(
      browsers.map((browser, i) => post(browser, "reset-password", { token, password: `${NEW_PASSWORD} ${i}` })),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400]);
  });

  test("voids earlier links when a new password is set", async () => {
    const { email } = await platform.person();
    const [older, newer] = [await requestReset(email), await requestReset(email)];
    const browser = new Browser(platform);
    assert.equal((await post(browser, "reset-password", { token: newer, password: NEW_PASSWORD })).status, 200);
    const late = await post(browser, "reset-password", { token: older, password: "a third password" });
    assert.equal(late.body.error?.param, "token", late.text);
    const unused = await requestReset(email);
    await browser.signIn(email, NEW_PASSWORD);
    const change = { password: NEW_PASSWORD, new_password: "a fourth password" };
    assert.equal((await post(browser, "change-password", change)).status, 200);
    const later = await post(browser, "reset-password", { token: unused, password: "a fifth password" });
    assert.equal(later.body.error?.param, "token", later.text);
  });

  test("refuses a token after an hour", async () => {
    const { email } = await platform.person();
    const token = await requestReset(email);
    const { rows } = await platform.pool.query(
      "select extract(epoch from expires_at - now())::float as left_s from identity_verification order by created_at desc limit 1",
    );
    assert.ok(rows[0].left_s > 3500 && rows[0].left_s <= 3600, String(rows[0].left_s));
    await platform.pool.query("update identity_verification set expires_at = now() - interval '1 s'");
    const answer = await post(new Browser(platform), "reset-password", { token, password: NEW_PASSWORD });
    assert.equal(answer.body.error?.param, "token");
    assert.equal((await new Browser(platform).signIn(email)).status, 200);
  });

  test("returns the same answer for unknown addresses, and sends them no email", async () => {
    const { email } = await platform.person();
    const known = await post(new Browser(platform), "request-password-reset", { email });
    await mailbox.next();
    const unknown = await post(new Browser(platform), "request-password-reset", { email: "nobody@example.test" });
    assert.deepEqual([unknown.status, unknown.body], [known.status, known.body]);
    await platform.identities.idle();
    assert.equal(mailbox.waiting(), 0);
  });

  test("sends links with the configured address, not the Host header", async () => {
    const { email } = await platform.person();
    const headers = { "sec-fetch-site": "same-origin", host: "evil.test", "x-forwarded-host": "evil.test" };
    await new Browser(platform).send("POST", `${AUTH}/request-password-reset`, { body: { email }, headers });
    assert.doesNotMatch((await mailbox.next()).text, /evil/);
  });

  test("returns a 400 that names an invalid field", async () => {
    const browser = new Browser(platform);
    for (const [path, body, param] of [
      ["request-password-reset", {}, "email"],
      ["request-password-reset", { email: "nobody" }, "email"],
      ["reset-password", { password: NEW_PASSWORD }, "token"],
      ["reset-password", { token: "made up", password: NEW_PASSWORD }, "token"],
      ["reset-password", { token: "made\u0000up", password: NEW_PASSWORD }, "token"],
      ["reset-password", { token: "made up", password: "short" }, "password"],
      ["reset-password", { token: "made up", password: " ".repeat(12) }, "password"],
      ["verify-email", { token: "made up" }, "token"],
    ] as const) {
      const answer = await post(browser, path, body);
      assert.equal(answer.status, 400, answer.text);
      assert.equal(answer.body.error?.param, param, path);
    }
  });

  test("returns 429 after three emails to one address, and after ten requests of one caller", async () => {
    const { email } = await platform.person();
    for (let i = 0; i < 3; i++) await requestReset(email);
    const answer = await post(new Browser(platform), "request-password-reset", { email: email.toUpperCase() });
    assert.equal(answer.status, 429);
    assert.ok(Number(answer.headers["retry-after"]) > 60);
    assert.equal(answer.headers["x-should-retry"], "false");
    const browser = new Browser(platform);
    for (let i = 0; i < 10; i++) {
      assert.equal((await post(browser, "request-password-reset", { email: `n${i}@example.test` })).status, 200);
    }
    assert.equal((await post(browser, "request-password-reset", { email: "n11@example.test" })).status, 429);
    await platform.identities.idle();
    assert.equal(mailbox.waiting(), 0);
  });

  test("returns 404 for every address when the platform sends no email", async () => {
    const silent = await openTestPlatform();
    const { email } = await silent.person();
    for (const address of [email, "nobody@example.test"]) {
      const answer = await post(new Browser(silent), "request-password-reset", { email: address });
      assert.equal(answer.status, 404);
      assert.equal(answer.body.error?.type, "not_found_error");
    }
    await silent.close();
  });
});

describe("password change", () => {
  test("requires the current password and ends every other session", async () => {
    const { email } = await platform.person();
    const [browser, other] = [new Browser(platform), new Browser(platform)];
    await browser.signIn(email);
    await other.signIn(email);
    const wrong = await post(browser, "change-password", { password: "not the one", new_password: NEW_PASSWORD });
    assert.equal(wrong.status, 400);
    assert.equal(wrong.body.error?.param, "password");
    const blank = await post(browser, "change-password", { password: PASSWORD, new_password: " ".repeat(12) });
    assert.deepEqual([blank.status, blank.body.error?.param], [400, "new_password"]);
    const changed = await post(browser, "change-password", { password: PASSWORD, new_password: NEW_PASSWORD });
    assert.deepEqual(changed.body, { status: "password_changed" });
    assert.equal((await browser.send("GET", "/console/api/me")).status, 200);
    assert.equal((await other.send("GET", "/console/api/me")).status, 401);
    assert.equal((await other.signIn(email, NEW_PASSWORD)).status, 200);
  });

  test("returns 401 without a session, and 429 after wrong passwords", async () => {
    const body = { password: "not the one", new_password: NEW_PASSWORD };
    const anonymous = await post(new Browser(platform), "change-password", body);
    assert.equal(anonymous.body.error?.code, "not_authenticated");
    const { email } = await platform.person();
    const browser = new Browser(platform);
    await browser.signIn(email);
    for (let i = 0; i < 20; i++) assert.equal((await post(browser, "change-password", body)).status, 400);
    assert.equal((await post(browser, "change-password", { ...body, password: PASSWORD })).status, 429);
  });
});

describe("email verification", () => {
  const signUp = (email: string) =>
    post(new Browser(platform), "sign-up/email", { email, password: PASSWORD, name: "A person" });

  test("limits sign-up emails with 429, for known and unknown addresses", async () => {
    const { email: known } = await platform.person();
    for (const email of [known, "stranger@example.test"]) {
      for (let i = 0; i < 3; i++) {
        assert.equal((await signUp(email)).status, 200);
        assert.deepEqual((await mailbox.next()).to, [email]);
      }
      const answer = await signUp(email.toUpperCase());
      assert.equal(answer.status, 429);
      assert.ok(Number(answer.headers["retry-after"]) > 60);
    }
    await platform.identities.idle();
    assert.equal(mailbox.waiting(), 0);
  });

  test("is required before the first sign-in with a new address", async () => {
    const answer = await signUp("fresh@example.test");
    assert.deepEqual(answer.body, { status: "verification_required" });
    assert.equal(answer.headers["set-cookie"], undefined);
    const browser = new Browser(platform);
    const early = await browser.signIn("fresh@example.test");
    assert.equal(early.status, 403);
    assert.equal(early.body.error?.code, "email_not_verified");
    assert.equal(browser.cookies.size, 0);
    const token = tokenIn(await mailbox.next(), "verify-email");
    assert.deepEqual((await post(browser, "verify-email", { token })).body, { status: "email_verified" });
    assert.equal(browser.cookies.size, 0);
    assert.equal((await browser.signIn("fresh@example.test")).status, 200);
    const me = await browser.send("GET", "/console/api/me");
    assert.equal(me.body.identity?.email_verified, true);
  });

  test("is not reported as missing after a wrong password", async () => {
    await signUp("waiting@example.test");
    await mailbox.next();
    const answer = await new Browser(platform).signIn("waiting@example.test", "not the one");
    assert.equal(answer.status, 401);
    assert.equal(answer.body.error?.code, "not_authenticated");
  });

  test("returns the same answer for the sign-up of a known address, whose owner gets an email", async () => {
    const { email } = await platform.person();
    const known = await signUp(email);
    const letter = await mailbox.next();
    assert.deepEqual(letter.to, [email]);
    assert.doesNotMatch(letter.text, /token=/);
    const unknown = await signUp("unknown@example.test");
    await mailbox.next();
    assert.deepEqual([known.status, known.body], [unknown.status, unknown.body]);
    assert.equal((await new Browser(platform).signIn(email)).status, 200);
  });

  test("sends another link on request, but only to unconfirmed addresses", async () => {
    await signUp("again@example.test");
    await mailbox.next();
    const { email: confirmed } = await platform.person();
    for (const email of [confirmed, "nobody@example.test", "again@example.test"]) {
      const answer = await post(new Browser(platform), "request-email-verification", { email });
      assert.deepEqual(answer.body, { status: "sent_if_known" });
    }
    const letter = await mailbox.next();
    assert.deepEqual(letter.to, ["again@example.test"]);
    await platform.identities.idle();
    assert.equal(mailbox.waiting(), 0);
    const token = tokenIn(letter, "verify-email");
    assert.equal((await post(new Browser(platform), "verify-email", { token })).status, 200);
  });

  test("also happens by a password reset, which removes a second factor that a stranger set up before", async () => {
    await signUp("squatted@example.test");
    await mailbox.next();
    const { rows } = await platform.pool.query(
      "update identity set two_factor_enabled = true where email = 'squatted@example.test' returning id",
    );
    await platform.pool.query(
      "insert into identity_two_factor (id, identity_id, secret, backup_codes, verified) values ($1, $2, 'x', 'x', true)",
      [platform.newId(), rows[0].id],
    );
    const token = await requestReset("squatted@example.test");
    const browser = new Browser(platform);
    await post(browser, "reset-password", { token, password: NEW_PASSWORD });
    const entered = await browser.signIn("squatted@example.test", NEW_PASSWORD);
    assert.deepEqual(entered.body, { status: "signed_in" });
  });
});
