/** For tests: every way to sign up and in, and every way not to, on consoles that offer different things. */
import assert from "node:assert/strict";
import { smtpMail } from "../../../accounts/mail.ts";
import { openTestIssuer } from "../../../accounts/testing/oidc.ts";
import { openTestMailbox } from "../../../accounts/testing/smtp.ts";
import { totp } from "../../../accounts/testing/totp.ts";
import { PASSWORD } from "../../testing/browser.ts";
import { openTestPlatform, type TestPlatform } from "../../testing/platform.ts";
import type { Cast } from "./cast.ts";
import { WatchedBrowser } from "./watched.ts";
import type { Witness } from "./witness.ts";

const AUTH = "/console/api/auth";
const PUBLIC_URL = "http://gate.test";

async function post(browser: WatchedBrowser, path: string, body: object, status = 200) {
  const answer = await browser.send("POST", `${AUTH}/${path}`, { body });
  assert.equal(answer.status, status, answer.text);
  return answer.body;
}

export async function visitSignIn({ stranger, join }: Cast): Promise<void> {
  const browser = stranger();
  const person = { email: "new@example.test", password: PASSWORD, name: "New" };
  assert.equal((await browser.send("GET", `${AUTH}/methods`)).status, 200);
  assert.equal((await browser.send("GET", `${AUTH}/get-session`)).body.identity, null);
  await post(browser, "sign-up/email", person);
  await post(stranger(), "sign-up/email", person, 400);
  assert.equal((await browser.send("GET", `${AUTH}/get-session`)).body.identity?.email, person.email);
  assert.equal((await browser.send("POST", `${AUTH}/sign-out`)).status, 200);
  await post(browser, "sign-in/email", { ...person, password: "another one" }, 401);
  await post(browser, "sign-in/email", person);
  for (const path of ["request-password-reset", "request-email-verification"]) {
    await post(browser, path, { email: person.email }, 404);
  }
  await post(browser, "reset-password", { token: "none", password: PASSWORD }, 400);
  await post(browser, "verify-email", { token: "none" }, 400);
  const { browser: own } = await join();
  await post(own, "change-password", { password: "another one", new_password: PASSWORD }, 400);
  await post(own, "change-password", { password: PASSWORD, new_password: `${PASSWORD}!` });
}

export async function visitTwoFactor({ stranger, join }: Cast): Promise<void> {
  const { browser, email } = await join();
  await post(browser, "two-factor/confirm", { code: "123456" }, 400);
  await post(browser, "two-factor/backup-codes", { password: PASSWORD }, 400);
  await post(browser, "two-factor/disable", { password: PASSWORD });
  const { secret } = (await post(browser, "two-factor/enable", { password: PASSWORD })) as { secret: string };
  await post(browser, "two-factor/confirm", { code: totp(secret) });
  await post(browser, "two-factor/enable", { password: PASSWORD }, 400);
  await post(browser, "two-factor/backup-codes", { password: PASSWORD });
  const next = stranger();
  await post(next, "sign-in/code", { code: "123456" }, 401);
  assert.deepEqual((await next.signIn(email)).body, { status: "two_factor_required" });
  await post(next, "sign-in/code", { code: "AAAA-BBBB" }, 400);
  await post(next, "sign-in/code", { code: totp(secret, 1) });
  await post(browser, "two-factor/disable", { password: PASSWORD });
}

/** A console that mails, and one that knows providers. */
export async function visitElsewhere(witness: Witness): Promise<void> {
  const mailbox = await openTestMailbox();
  const issuer = await openTestIssuer();
  const mailing = await openTestPlatform({
    publicUrl: PUBLIC_URL,
    mail: smtpMail({ url: mailbox.url, from: "noreply@gate.test" }),
    verifyEmails: true,
  });
  const away = { ...issuer.provider, id: "away", issuer: "http://127.0.0.1:1" };
  const federated = await openTestPlatform({ publicUrl: PUBLIC_URL, providers: [issuer.provider, away] });
  try {
    await visitMailing(new WatchedBrowser(witness, mailing), mailbox);
    await visitFederated(new WatchedBrowser(witness, federated), issuer);
    await mailing.identities.idle();
  } finally {
    for (const opened of [mailing, federated, mailbox, issuer] satisfies Pick<TestPlatform, "close">[]) {
      await opened.close();
    }
  }
}

async function visitMailing(browser: WatchedBrowser, mailbox: Awaited<ReturnType<typeof openTestMailbox>>) {
  const person = { email: "mailed@example.test", password: PASSWORD, name: "Mailed" };
  const token = async () => decodeURIComponent(/#token=(\S+)/.exec((await mailbox.next()).text)?.[1] ?? "");
  assert.deepEqual(await post(browser, "sign-up/email", person), { status: "verification_required" });
  await token();
  await post(browser, "sign-in/email", person, 403);
  await post(browser, "request-email-verification", { email: person.email });
  await post(browser, "verify-email", { token: await token() });
  await post(browser, "request-password-reset", { email: person.email });
  await post(browser, "reset-password", { token: await token(), password: `${PASSWORD}!` });
  for (const path of ["request-password-reset", "request-email-verification"]) {
    await post(browser, path, { email: person.email }, 429);
  }
}

async function visitFederated(browser: WatchedBrowser, issuer: Awaited<ReturnType<typeof openTestIssuer>>) {
  const { url } = await post(browser, "sign-in/openid", { provider: "test" });
  const person = { sub: "a", email: "a@example.test", email_verified: true, name: "A" };
  const back = await issuer.signIn(String(url), person);
  const arrived = await browser.send("GET", `${back.pathname}${back.search}`);
  assert.deepEqual([arrived.status, arrived.headers.location], [302, "/console/"], arrived.text);
  await post(browser, "sign-in/openid", { provider: "nobody" }, 400);
  assert.equal((await browser.send("GET", `${AUTH}/callback/nobody`)).status, 400);
  await post(browser, "sign-in/openid", { provider: "away" }, 502);
  for (let i = 0; i < 10; i++) await browser.send("POST", `${AUTH}/sign-in/openid`, { body: { provider: "test" } });
  await post(browser, "sign-in/openid", { provider: "test" }, 429);
  assert.equal((await browser.send("GET", `${AUTH}/callback/test`)).status, 429);
}

/** Attempts are counted by address, and by identity once somebody is signed in. */
export async function visitTooOften({ stranger, join }: Cast): Promise<void> {
  const browser = stranger();
  const person = { email: "often@example.test", password: PASSWORD, name: "Often" };
  for (let i = 0; i < 10; i++) await post(browser, "verify-email", { token: "none" }, 400);
  await post(browser, "verify-email", { token: "none" }, 429);
  await post(browser, "reset-password", { token: "none", password: PASSWORD }, 429);
  await post(browser, "sign-up/email", person, 429);
  await post(browser, "sign-in/email", person, 429);
  await post(browser, "sign-in/code", { code: "123456" }, 429);
  const { browser: own } = await join();
  for (let i = 0; i < 20; i++) await post(own, "two-factor/disable", { password: "another one" }, 400);
  const password = { password: PASSWORD };
  await post(own, "change-password", { ...password, new_password: `${PASSWORD}!` }, 429);
  for (const path of ["enable", "backup-codes", "disable"]) await post(own, `two-factor/${path}`, password, 429);
  await post(own, "two-factor/confirm", { code: "123456" }, 429);
}
