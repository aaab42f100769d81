/** For tests: every way to sign up and sign in, and every refusal, on consoles with different sign-in options. */
import assert from "node:assert/strict";
import { type IdentitiesOptions, openIdentities } from "../../../accounts/identities.ts";
import { createSmtpMailSender } from "../../../accounts/mail-sender.ts";
import { computeAuthenticatorCode } from "../../../accounts/testing/authenticator-codes.ts";
import { cheapPasswordHash } from "../../../accounts/testing/cheap-password-hash.ts";
import { openTestMailbox } from "../../../accounts/testing/mail-server.ts";
import { openTestOpenIdProvider } from "../../../accounts/testing/openid-provider.ts";
import { Browser, PASSWORD } from "../../testing/browser.ts";
import type { TestPlatform } from "../../testing/platform.ts";
import { signInTestPerson } from "../../testing/sign-in-test-person.ts";
import type { ContractFixture } from "./contract-fixture.ts";
import type { Coverage } from "./route-coverage.ts";

const PUBLIC_URL = "http://gate.test";

export async function callSignInRoutes({ platform }: ContractFixture, { ask }: Coverage): Promise<void> {
  const browser = new Browser(platform);
  const body = { email: "new@example.test", password: PASSWORD, name: "New" };
  await ask(browser, 200, "getSignInMethods");
  assert.equal((await ask(browser, 200, "getSession")).body.identity, null);
  await ask(browser, 200, "signUp", { body });
  await ask(new Browser(platform), 400, "signUp", { body });
  assert.equal((await ask(browser, 200, "getSession")).body.identity?.email, body.email);
  await ask(browser, 200, "signOut");
  await ask(browser, 401, "signIn", { body: { ...body, password: "another one" } });
  await ask(browser, 200, "signIn", { body });
  for (const id of ["requestPasswordReset", "requestEmailVerification"]) await ask(browser, 404, id, { body });
  await ask(browser, 400, "resetPassword", { body: { token: "none", password: PASSWORD } });
  await ask(browser, 400, "verifyEmail", { body: { token: "none" } });
  const { browser: own } = await signInTestPerson(platform);
  const change = (status: number, password: string) =>
    ask(own, status, "changePassword", { body: { password, new_password: `${PASSWORD}!` } });
  await change(400, "another one");
  await change(200, PASSWORD);
}

export async function callScriptLoginRoutes({ platform, people }: ContractFixture, { ask }: Coverage): Promise<void> {
  const { browser } = await signInTestPerson(platform);
  const script = new Browser(platform);
  const begin = () => ask(script, 201, "beginScriptLogin", { body: { name: "a script" } });
  const { token, code } = (await begin()).body;
  await ask(script, 200, "getScriptLoginState", { body: { token } });
  await ask(browser, 200, "readScriptLogin", { id: code });
  const confirm = { id: code, body: { confirm: true } };
  for (const id of ["readScriptLogin", "answerScriptLogin"]) {
    await ask(people.operator.browser, 403, id, confirm);
    await ask(browser, 404, id, { ...confirm, id: "none" });
  }
  await ask(browser, 200, "answerScriptLogin", confirm);
  for (let i = 0; i < 9; i++) await begin();
  await ask(script, 429, "beginScriptLogin", { body: { name: "a script" } });
  for (let i = 0; i < 30; i++) await browser.send("GET", "/console/api/script-logins/none");
  for (const id of ["readScriptLogin", "answerScriptLogin"]) await ask(browser, 429, id, confirm);
}

export async function callTwoFactorRoutes({ platform }: ContractFixture, { ask }: Coverage): Promise<void> {
  const { browser, email } = await signInTestPerson(platform);
  const body = { password: PASSWORD };
  await ask(browser, 400, "confirmTwoFactor", { body: { code: "123456" } });
  await ask(browser, 400, "replaceBackupCodes", { body });
  await ask(browser, 200, "disableTwoFactor", { body });
  const secret = String((await ask(browser, 200, "enableTwoFactor", { body })).body.secret);
  await ask(browser, 200, "confirmTwoFactor", { body: { code: computeAuthenticatorCode(secret) } });
  await ask(browser, 400, "enableTwoFactor", { body });
  await ask(browser, 200, "replaceBackupCodes", { body });
  const next = new Browser(platform);
  await ask(next, 401, "signInWithCode", { body: { code: "123456" } });
  const first = await ask(next, 200, "signIn", { body: { email, ...body } });
  assert.deepEqual(first.body, { status: "two_factor_required" });
  await ask(next, 400, "signInWithCode", { body: { code: "AAAA-BBBB" } });
  await ask(next, 200, "signInWithCode", { body: { code: computeAuthenticatorCode(secret, 1) } });
  await ask(browser, 200, "disableTwoFactor", { body });
}

/** A browser at another console on the same database, with these sign-in options. */
async function browserAt(platform: TestPlatform, options: Partial<IdentitiesOptions>) {
  const { pool, newId, secret, parts } = platform;
  const shared = { pool, newId, secret, log: parts.log, publicUrl: PUBLIC_URL, passwordHash: cheapPasswordHash };
  const identities = await openIdentities({ ...shared, ...options });
  return { identities, browser: new Browser({ app: platform.serve({ identities, publicUrl: PUBLIC_URL }) }) };
}

export async function callEmailedLinkRoutes({ platform }: ContractFixture, { ask }: Coverage): Promise<void> {
  const mailbox = await openTestMailbox();
  const mail = createSmtpMailSender({ url: mailbox.url, from: "noreply@gate.test" });
  const { browser, identities } = await browserAt(platform, { mail, verifyEmails: true });
  const body = { email: "mailed@example.test", password: PASSWORD, name: "Mailed" };
  const token = async () => decodeURIComponent(/#token=(\S+)/.exec((await mailbox.next()).text)?.[1] ?? "");
  try {
    assert.deepEqual((await ask(browser, 200, "signUp", { body })).body, { status: "verification_required" });
    await token();
    await ask(browser, 403, "signIn", { body });
    await ask(browser, 200, "requestEmailVerification", { body });
    await ask(browser, 200, "verifyEmail", { body: { token: await token() } });
    await ask(browser, 200, "requestPasswordReset", { body });
    await ask(browser, 200, "resetPassword", { body: { token: await token(), password: `${PASSWORD}!` } });
    for (const id of ["requestPasswordReset", "requestEmailVerification"]) await ask(browser, 429, id, { body });
    await identities.idle();
  } finally {
    await mailbox.close();
  }
}

export async function callProviderSignInRoutes({ platform }: ContractFixture, { ask, send }: Coverage): Promise<void> {
  const issuer = await openTestOpenIdProvider();
  const away = { ...issuer.provider, id: "away", issuer: "http://127.0.0.1:1" };
  const { browser } = await browserAt(platform, { providers: [issuer.provider, away] });
  const start = (provider: string) => ({ body: { provider } });
  try {
    const { url } = (await ask(browser, 200, "signInWithOpenId", start("test"))).body;
    const person = { sub: "a", email: "a@example.test", email_verified: true, name: "A" };
    const back = await issuer.signIn(String(url), person);
    const arrived = await ask(browser, 302, "finishOpenId", { id: "test", query: back.search.slice(1) });
    assert.equal(arrived.headers.location, "/console/");
    await ask(browser, 400, "signInWithOpenId", start("nobody"));
    const lost = await ask(browser, 302, "finishOpenId", { id: "nobody" });
    assert.equal(lost.headers.location, "/console/?sign_in=failed");
    await ask(browser, 502, "signInWithOpenId", start("away"));
    for (let i = 0; i < 10; i++) await send(browser, "signInWithOpenId", start("test"));
    await ask(browser, 429, "signInWithOpenId", start("test"));
    const late = await ask(browser, 302, "finishOpenId", { id: "test" });
    assert.equal(late.headers.location, "/console/?sign_in=too_many_attempts");
  } finally {
    await issuer.close();
  }
}

/** Attempts are counted by network address, and by identity once a person is signed in. */
export async function exceedSignInLimits({ platform }: ContractFixture, { ask }: Coverage): Promise<void> {
  const browser = new Browser(platform);
  const body = { email: "often@example.test", password: PASSWORD, name: "Often", token: "none", code: "123456" };
  for (let i = 0; i < 10; i++) await ask(browser, 400, "verifyEmail", { body });
  for (const id of ["verifyEmail", "resetPassword", "signUp", "signIn", "signInWithCode"]) {
    await ask(browser, 429, id, { body });
  }
  const { browser: own } = await signInTestPerson(platform);
  for (let i = 0; i < 20; i++) await ask(own, 400, "disableTwoFactor", { body: { password: "another one" } });
  const ofOwn = { ...body, new_password: `${PASSWORD}!` };
  for (const id of [
    "changePassword",
    "enableTwoFactor",
    "confirmTwoFactor",
    "replaceBackupCodes",
    "disableTwoFactor",
  ]) {
    await ask(own, 429, id, { body: ofOwn });
  }
}
