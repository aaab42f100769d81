import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { test } from "node:test";
import { smtpMail } from "../../accounts/mail.ts";
import { openTestIssuer } from "../../accounts/testing/oidc.ts";
import { openTestMailbox } from "../../accounts/testing/smtp.ts";
import { totp } from "../../accounts/testing/totp.ts";
import { createLog } from "../../base/log.ts";
import { type Answer, Browser } from "../testing/browser.ts";
import { openTestPlatform } from "../testing/platform.ts";

const AUTH = "/console/api/auth";
const PASSWORDS = ["the first password of this test", "the second password of this test", "a wrong guess of this test"];

test("no secret of a sign-in is in a log, a table or an answer it does not belong to", async () => {
  const lines: string[] = [];
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const mailbox = await openTestMailbox();
  const issuer = await openTestIssuer();
  const platform = await openTestPlatform({
    publicUrl: "http://gate.test",
    log: createLog("trace", destination),
    mail: smtpMail({ url: mailbox.url, from: "noreply@gate.test" }),
    verifyEmails: true,
    oidcProviders: [issuer.provider],
  });
  const answers: string[] = [];
  const secrets = new Map<string, string>(PASSWORDS.map((password, i) => [`password ${i}`, password]));
  const browser = new Browser(platform);
  const post = async (path: string, body: object, by = browser): Promise<Answer> => {
    const answer = await by.send("POST", `${AUTH}/${path}`, { body });
    answers.push(answer.text);
    return answer;
  };
  const linkToken = async (): Promise<string> => {
    const token = /#token=(\S+)/.exec((await mailbox.next()).text)?.[1];
    assert.ok(token);
    return decodeURIComponent(token);
  };
  /** The cookies of a browser, as sent: what lets their bearer in. */
  const cookiesOf = (by: Browser, what: string): void => {
    for (const [name, value] of by.cookies) secrets.set(`${what} cookie ${name}`, decodeURIComponent(value));
  };
  const keepTokens = (of: string): void => {
    for (const [name, value] of Object.entries(issuer.lastTokens())) {
      if (/^(id|access|refresh)_token$/.test(name)) secrets.set(`${name} of ${of}`, String(value));
    }
  };
  const [first, second, wrong] = PASSWORDS as [string, string, string];
  const email = "holder@example.test";

  await post("sign-up/email", { email, password: first, name: "A person" });
  const verification = await linkToken();
  secrets.set("verification token", verification);
  await post("sign-in/email", { email, password: first });
  await post("verify-email", { token: "made up" });
  await post("verify-email", { token: verification });
  await post("sign-in/email", { email, password: wrong });
  await post("sign-in/email", { email, password: first });
  cookiesOf(browser, "first");

  await post("request-password-reset", { email });
  const reset = await linkToken();
  secrets.set("reset token", reset);
  // While it is still good: a database that leaked would be enough to use it.
  const table = await platform.pool.query("select v::text as row from identity_verification v");
  assert.ok(table.rows.length > 0);
  for (const { row } of table.rows) assert.ok(!row.includes(reset));
  await post("reset-password", { token: reset, password: second });
  await post("reset-password", { token: reset, password: second });
  await post("sign-in/email", { email, password: second });
  cookiesOf(browser, "second");

  const begun = await browser.send("POST", `${AUTH}/two-factor/enable`, { body: { password: second } });
  const { secret, backup_codes } = begun.body as { secret: string; backup_codes: string[] };
  secrets.set("TOTP secret", secret);
  for (const code of backup_codes) secrets.set(`backup code ${code}`, code);
  await post("two-factor/confirm", { code: totp(secret) });
  await post("two-factor/disable", { password: wrong });
  cookiesOf(browser, "third");
  const other = new Browser(platform);
  await post("sign-in/email", { email, password: second }, other);
  cookiesOf(other, "challenge");
  await post("sign-in/code", { code: "wrong-code" }, other);
  await post("sign-in/code", { code: String(backup_codes[0]) }, other);
  cookiesOf(other, "fourth");
  for (const url of ["/console/api/me", "/console/api/sessions", `${AUTH}/get-session`]) {
    answers.push((await other.send("GET", url)).text);
  }

  const guest = new Browser(platform);
  const left = await post("sign-in/openid", { provider: "test" }, guest);
  cookiesOf(guest, "state");
  const person = { sub: "guest", email: "guest@example.test", email_verified: true, name: "Guest" };
  for (const claims of [{ nonce: "wrong" }, {}]) {
    const back = await issuer.signIn(String(left.body.url), person, { claims });
    await guest.send("GET", `${back.pathname}${back.search}`);
    secrets.set(`code of ${JSON.stringify(claims)}`, String(back.searchParams.get("code")));
    keepTokens(JSON.stringify(claims));
  }
  const again = await post("sign-in/openid", { provider: "test" }, guest);
  const back = await issuer.signIn(String(again.body.url), person);
  assert.equal((await guest.send("GET", `${back.pathname}${back.search}`)).headers.location, "/console/");
  cookiesOf(guest, "fifth");
  keepTokens("the sign-in");
  const opened = await guest.send("POST", "/console/api/accounts", { body: { kind: "builder", name: "Shared" } });
  assert.equal(opened.status, 201);
  const invited = { email, role: "viewer" };
  answers.push((await guest.send("POST", "/console/api/team/invitations", { body: invited })).text);
  const invitation = await linkToken();
  secrets.set("invitation", invitation);
  const joined = await other.send("POST", "/console/api/team/accept", { body: { token: invitation } });
  assert.equal(joined.status, 200);
  answers.push(joined.text, (await guest.send("GET", "/console/api/team")).text);
  secrets.set("client secret", issuer.provider.clientSecret);
  secrets.set("server secret", platform.secret);
  await platform.identities.idle();

  const stored: string[] = [];
  const tables = await platform.pool.query("select tablename from pg_tables where schemaname = 'public'");
  for (const { tablename } of tables.rows) {
    const { rows } = await platform.pool.query(`select t::text as row from "${tablename}" t`);
    stored.push(...rows.map(({ row }) => `${tablename}: ${row}`));
  }
  const sessions = await platform.pool.query("select token from identity_session");
  assert.ok(sessions.rows.length > 0 && secrets.size > 30 && lines.length > 0, "there was something to find");
  for (const { token } of sessions.rows) {
    // Unsigned it is worthless, and has to be in its table; it is nowhere else.
    for (const text of [...lines, ...answers]) assert.ok(!text.includes(token), "a session's token");
  }
  for (const [what, secret] of secrets) {
    for (const line of lines) assert.ok(!line.includes(secret), `${what} in the log: ${line}`);
    for (const row of stored) assert.ok(!row.includes(secret), `${what} in ${row}`);
    for (const answer of answers) assert.ok(!answer.includes(secret), `${what} in ${answer}`);
  }
  await platform.close();
  await mailbox.close();
  await issuer.close();
});

test("a store that refuses a row does not make its content known", async (t) => {
  const lines: string[] = [];
  const printed = t.mock.method(console, "error", () => {});
  const log = createLog("trace", { write: (line) => void lines.push(line) });
  const platform = await openTestPlatform({ log });
  t.after(() => platform.close());
  const { email, identityId } = await platform.person();
  // PostgreSQL tells the whole row that it refuses: here the session's token.
  await platform.pool.query("alter table identity_session add check (identity_id <> identity_id)");
  const answer = await new Browser(platform).signIn(email);
  assert.equal(answer.status, 500);
  assert.deepEqual(Object.keys(answer.body), ["error"]);
  assert.equal(printed.mock.callCount(), 0, "nothing goes past the log");
  assert.ok(lines.some((line) => line.includes("identities: a request failed")));
  for (const line of lines) assert.ok(!line.includes(identityId), line);
});
