import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { openAttemptLimits } from "../../accounts/attempt-limits.ts";
import { openIdentities } from "../../accounts/identities.ts";
import { SignInRefusal } from "../../accounts/sign-in-refusals.ts";
import { cheapPasswordHash } from "../../accounts/testing/cheap-password-hash.ts";
import { publicId, type Uuid } from "../../base/ids.ts";
import { createLog } from "../../base/log.ts";
import { listen } from "../../http/server.ts";
import { Browser, type BrowserResponse, PASSWORD } from "../testing/browser.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";

let platform: TestPlatform;
before(async () => {
  platform = await openTestPlatform();
});
after(() => platform.close());

const SIGN_IN = "/console/api/auth/sign-in/email";
const SIGN_UP = "/console/api/auth/sign-up/email";
const SIGN_OUT = "/console/api/auth/sign-out";

describe("status 200", () => {
  test("signs in a new person, who is not an operator and owns no account", async () => {
    const browser = new Browser(platform);
    const email = "New@example.test";
    const body = { email, password: PASSWORD, name: "Néw Person", operator: true, image: "https://evil.test/x" };
    const signUp = await browser.send("POST", SIGN_UP, { body });
    assert.equal(signUp.status, 200);
    assert.deepEqual(signUp.body, { status: "signed_in" });
    const { body: me } = await browser.send("GET", "/console/api/me");
    const { id, ...identity } = me.identity ?? {};
    assert.match(String(id), /^usr_[0-9a-z]{26}$/);
    assert.deepEqual(identity, {
      email: "new@example.test",
      name: "Néw Person",
      operator: false,
      email_verified: false,
      two_factor: false,
      locale: null,
      time_zone: null,
    });
    assert.deepEqual(me.accounts, []);
    const { rows } = await platform.pool.query("select image from identity where email = 'new@example.test'");
    assert.deepEqual(rows, [{ image: null }]);
  });

  test("a sign-out ends the session on the server, and not only the browser's cookie", async () => {
    const { email } = await platform.person([{ kind: "builder" }]);
    const browser = new Browser(platform);
    await browser.signIn(email);
    const kept = new Map(browser.cookies);
    assert.equal((await browser.send("GET", "/console/api/me")).status, 200);
    assert.equal((await browser.send("POST", SIGN_OUT)).status, 200);
    assert.equal(browser.cookies.has("tollgate.session_token"), false);
    for (const [name, value] of kept) browser.cookies.set(name, value);
    assert.equal((await browser.send("GET", "/console/api/me")).status, 401);
  });

  test("accepts a sign-out without a session", async () => {
    const answer = await new Browser(platform).send("POST", SIGN_OUT);
    assert.deepEqual([answer.status, answer.body], [200, { status: "signed_out" }]);
  });

  test("a sign-out keeps the person's other sessions", async () => {
    const { email } = await platform.person();
    const [one, other] = [new Browser(platform), new Browser(platform)];
    await one.signIn(email);
    await other.signIn(email);
    await one.send("POST", SIGN_OUT);
    assert.equal((await other.send("GET", "/console/api/me")).status, 200);
  });

  test("returns the signed-in person, or null, from get-session", async () => {
    const { email, accountIds } = await platform.person([{ kind: "host" }]);
    const browser = new Browser(platform);
    const session = async () => (await browser.send("GET", "/console/api/auth/get-session")).body;
    assert.deepEqual(await session(), { identity: null, accounts: [] });
    await browser.signIn(email);
    const { identity, accounts } = await session();
    assert.equal(identity?.email, email);
    const [id] = accountIds as [Uuid];
    const may = ["read", "work", "pay", "own"];
    assert.deepEqual(accounts, [
      { id: publicId("acc", id), kind: "host", name: "A host", suspended: false, role: "owner", may },
    ]);
  });

  test("get-session extends the session and its cookie once a day", async () => {
    const { email, identityId } = await platform.person();
    const browser = new Browser(platform);
    await browser.signIn(email);
    const renew = () => browser.send("GET", "/console/api/auth/get-session");
    assert.equal((await renew()).headers["set-cookie"], undefined);
    // Simulates two days without use, which extends the session at the next call.
    await platform.pool.query(
      "update identity_session set expires_at = now() + interval '5 days', updated_at = now() - interval '2 days' where identity_id = $1",
      [identityId],
    );
    assert.match(String((await renew()).headers["set-cookie"]), /session_token=.*Max-Age=604800/);
    const [session] = await platform.identities.sessions.of(identityId);
    assert.ok((session?.expiresAt.getTime() ?? 0) > Date.now() + 6 * 24 * 60 * 60 * 1000);
  });

  test("lists this platform's sign-in methods", async () => {
    const { body } = await new Browser(platform).send("GET", "/console/api/auth/methods");
    assert.deepEqual(body, { password: true, password_reset: false, email_verification: false, providers: [] });
  });

  test("signs in over a real socket, and the session cookie is accepted there", async () => {
    const { email } = await platform.person([{ kind: "builder" }]);
    const base = `http://127.0.0.1:${await listen(platform.app, { host: "127.0.0.1", port: 0 }, { host: "HOST", port: "PORT" })}`;
    const signIn = await fetch(`${base}${SIGN_IN}`, {
      method: "POST",
      headers: { origin: base, "content-type": "application/json" },
      body: JSON.stringify({ email, password: PASSWORD }),
    });
    assert.equal(signIn.status, 200);
    const cookie = signIn.headers.getSetCookie().map((line) => line.split(";")[0]);
    const balance = await fetch(`${base}/console/api/balance`, { headers: { cookie: cookie.join("; ") } });
    const { balance_micro } = (await balance.json()) as { balance_micro: string };
    assert.equal(balance_micro, "5000000.000000");
  });
});

describe("status 400", () => {
  const good = { email: "fields@example.test", password: PASSWORD, name: "A person" };
  const ROWS: { url: string; body: unknown; param: string | undefined }[] = [
    { url: SIGN_IN, body: { password: PASSWORD }, param: "email" },
    { url: SIGN_IN, body: { ...good, email: "nobody" }, param: "email" },
    { url: SIGN_IN, body: { ...good, password: 12345678 }, param: "password" },
    { url: SIGN_IN, body: { ...good, password: "x".repeat(129) }, param: "password" },
    { url: SIGN_IN, body: { ...good, remember_me: "yes" }, param: "remember_me" },
    { url: SIGN_IN, body: [], param: undefined },
    { url: SIGN_UP, body: { ...good, email: `${"x".repeat(250)}@example.test` }, param: "email" },
    { url: SIGN_UP, body: { ...good, password: "short" }, param: "password" },
    { url: SIGN_UP, body: { ...good, password: " ".repeat(12) }, param: "password" },
    { url: SIGN_UP, body: { ...good, name: "" }, param: "name" },
    { url: SIGN_UP, body: { ...good, name: "a\u0000b" }, param: "name" },
    { url: SIGN_UP, body: { ...good, name: "x".repeat(201) }, param: "name" },
    { url: SIGN_UP, body: { email: good.email, password: PASSWORD }, param: "name" },
  ];
  test("names the invalid field", async () => {
    const browser = new Browser(platform);
    for (const { url, body, param } of ROWS) {
      const answer = await browser.send("POST", url, { body });
      assert.equal(answer.status, 400, JSON.stringify(body));
      assert.equal(answer.body.error?.type, "invalid_request_error");
      assert.equal(answer.body.error?.code, undefined);
      assert.equal(answer.body.error?.param, param, JSON.stringify(body));
    }
  });

  test("refuses an email address that is in use", async () => {
    const { email } = await platform.person();
    const body = { email: email.toUpperCase(), password: PASSWORD, name: "Again" };
    const answer = await new Browser(platform).send("POST", SIGN_UP, { body });
    assert.equal(answer.status, 400);
    assert.equal(answer.body.error?.param, "email");
  });
});

describe("status 401", () => {
  test("returns the same answer for a wrong password and an unknown email address, without a cookie", async () => {
    const { email } = await platform.person([{ kind: "builder" }]);
    const browser = new Browser(platform);
    const wrong = await browser.signIn(email, "wrong horse battery");
    const unknown = await browser.signIn("nobody@example.test");
    for (const answer of [wrong, unknown]) {
      assert.equal(answer.status, 401);
      assert.equal(answer.body.error?.code, "not_authenticated");
      assert.deepEqual(answer.body, wrong.body);
      assert.equal(answer.headers["set-cookie"], undefined);
      assert.match(String(answer.headers["x-request-id"]), /^req_/);
    }
    assert.equal((await browser.send("GET", "/console/api/me")).status, 401);
  });
});

describe("status 403", () => {
  const ROWS: { headers: Record<string, string>; status: number }[] = [
    { headers: { "sec-fetch-site": "same-origin" }, status: 200 },
    { headers: { "sec-fetch-site": "none" }, status: 200 },
    { headers: { origin: "http://console.test" }, status: 200 },
    { headers: { "sec-fetch-site": "cross-site", origin: "http://console.test" }, status: 403 },
    { headers: { "sec-fetch-site": "same-site" }, status: 403 },
    { headers: { origin: "http://evil.test" }, status: 403 },
    { headers: { origin: "null" }, status: 403 },
    { headers: {}, status: 403 },
  ];
  test("refuses to sign in, up or out from another site (cross_site_blocked)", async () => {
    const { email } = await platform.person();
    for (const { headers, status } of ROWS) {
      const browser = new Browser(platform);
      const signIn = await browser.send("POST", SIGN_IN, { body: { email, password: PASSWORD }, headers });
      assert.equal(signIn.status, status, JSON.stringify(headers));
      if (status !== 403) continue;
      assert.equal(browser.cookies.size, 0);
      await browser.signIn(email);
      const signUp = { body: { email: "x@example.test", password: PASSWORD, name: "X" }, headers };
      for (const answer of [
        signIn,
        await browser.send("POST", SIGN_UP, signUp),
        await browser.send("POST", SIGN_OUT, { headers }),
      ]) {
        assert.equal(answer.status, 403);
        assert.equal(answer.body.error?.code, "cross_site_blocked");
        assert.equal(answer.body.error?.type, "cross_site_blocked");
      }
      assert.equal((await browser.send("GET", "/console/api/me", { headers })).status, 200);
    }
  });

  test("refuses every form from another site, even with the victim's session (cross_site_blocked)", async () => {
    const { email } = await platform.person([{ kind: "builder" }]);
    const browser = new Browser(platform);
    await browser.signIn(email);
    const form = {
      "content-type": "application/x-www-form-urlencoded",
      origin: "http://evil.test",
      referer: "http://evil.test/",
    };
    const plain = { "content-type": "text/plain" };
    for (const headers of [
      { ...form, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" },
      form,
      { ...plain, origin: "null" },
      plain,
    ]) {
      for (const [method, url] of [
        ["POST", SIGN_OUT],
        ["POST", "/console/api/accounts"],
        ["DELETE", "/console/api/sessions"],
        ["POST", "/console/api/auth/change-password"],
      ] as const) {
        const body = { kind: "builder", name: "Mine now", password: PASSWORD, new_password: "attackers choice" };
        const answer = await browser.send(method, url, { body, headers });
        assert.equal(answer.body.error?.code, "cross_site_blocked", `${method} ${url} ${JSON.stringify(headers)}`);
      }
    }
    const me = await browser.send("GET", "/console/api/me");
    assert.equal((me.body.accounts as object[]).length, 1);
  });
});

describe("status 413", () => {
  test("refuses a body with a declared length above the limit without reading it", async () => {
    const body = { email: "long@example.test", password: PASSWORD, name: "x".repeat(70_000) };
    const answer = await new Browser(platform).send("POST", SIGN_UP, { body });
    assert.equal(answer.status, 413);
    assert.equal(answer.body.error?.code, "request_too_large");
  });
});

describe("status 429", () => {
  function assertStopped(answer: BrowserResponse, waitMaxS: number): void {
    assert.equal(answer.status, 429, answer.text);
    assert.equal(answer.body.error?.code, "rate_limit_requests");
    const waitS = Number(answer.headers["retry-after"]);
    assert.ok(waitS >= 1 && waitS <= waitMaxS, String(waitS));
    assert.equal(answer.headers["x-should-retry"], String(waitS <= 60));
  }

  test("limits wrong passwords per network address, without affecting other addresses", async () => {
    const { email } = await platform.person();
    const guesser = new Browser(platform);
    for (let i = 0; i < 10; i++) assert.equal((await guesser.signIn(email, `wrong guess ${i}`)).status, 401);
    const spoofed = {
      "sec-fetch-site": "same-origin",
      "x-forwarded-for": "1.2.3.4",
      "x-tollgate-client-address": "1.2.3.4",
    };
    for (const headers of [{ "sec-fetch-site": "same-origin" }, spoofed]) {
      assertStopped(await guesser.send("POST", SIGN_IN, { body: { email, password: PASSWORD }, headers }), 60);
    }
    assert.equal((await new Browser(platform).signIn(email)).status, 200);
  });

  test("limits wrong passwords per email address, except for a browser that the owner has used", async () => {
    const { email } = await platform.person();
    const owner = new Browser(platform);
    await owner.signIn(email);
    const other = await platform.person();
    const neighbour = new Browser(platform, "2001:db8:1:2::1");
    await neighbour.signIn(email);
    for (let i = 0; i < 20; i++) {
      assert.equal((await new Browser(platform).signIn(email, `wrong guess ${i}`)).status, 401);
    }
    assertStopped(await new Browser(platform).signIn(email.toUpperCase()), 15 * 60);
    assertStopped(await new Browser(platform, "2001:db8:1:3::1").signIn(email), 15 * 60);
    assert.equal((await owner.signIn(email)).status, 200);
    // The successful sign-in reset the limit of this email address, so exhaust it again.
    const { take } = openAttemptLimits(platform);
    for (let i = 0; i < 20; i++) await take("email", email);
    assertStopped(await new Browser(platform).signIn(email), 15 * 60);
    assert.equal((await new Browser(platform, "2001:db8:1:2::2").signIn(email)).status, 200);
    assert.equal((await new Browser(platform).signIn(other.email)).status, 200);
  });

  test("distinguishes callers behind a proxy by the configured header only", async () => {
    const proxied = await openTestPlatform({ trustedProxies: 1 });
    const { email } = await proxied.person();
    const proxy = new Browser(proxied);
    const from = (address: string, forged = "") =>
      proxy.send("POST", SIGN_IN, {
        body: { email, password: "wrong guess" },
        headers: { "sec-fetch-site": "same-origin", "x-forwarded-for": `${forged}${address}` },
      });
    for (let i = 0; i < 10; i++) assert.equal((await from("192.0.2.1", `198.51.100.${i}, `)).status, 401);
    assertStopped(await from("192.0.2.1", "203.0.113.9, "), 60);
    assert.equal((await from("192.0.2.2")).status, 401);
    await proxied.close();
  });

  test("counts attempts at two gateways on one database together", async () => {
    const { email } = await platform.person();
    const other = await openIdentities({
      pool: platform.pool,
      newId: platform.newId,
      log: createLog("silent"),
      secret: platform.secret,
      publicUrl: undefined,
      passwordHash: cheapPasswordHash,
    });
    const guesser = new Browser(platform);
    const caller = { cookie: undefined, address: guesser.address, userAgent: undefined };
    for (let i = 0; i < 5; i++) {
      assert.equal((await guesser.signIn(email, `wrong guess ${i}`)).status, 401);
      await assert.rejects(
        other.signIn.enter({ email, password: "wrong guess", remember: true }, caller),
        SignInRefusal,
      );
    }
    assertStopped(await guesser.signIn(email), 60);
  });
});
