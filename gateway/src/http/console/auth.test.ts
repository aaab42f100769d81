import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { listen } from "../server.ts";
import { Browser, openTestConsole, PASSWORD, type TestConsole } from "./testing.ts";

let testConsole: TestConsole;
before(async () => {
  testConsole = await openTestConsole();
});
after(() => testConsole.close());

const SIGN_IN = "/console/api/auth/sign-in/email";
const SIGN_UP = "/console/api/auth/sign-up/email";
const SIGN_OUT = "/console/api/auth/sign-out";

describe("200", () => {
  test("who signs up is signed in, is no operator and owns nothing", async () => {
    const browser = new Browser(testConsole);
    const email = "New@example.test";
    const body = { email, password: PASSWORD, name: "Néw Person", operator: true, image: "https://evil.test/x" };
    assert.equal((await browser.send("POST", SIGN_UP, { body })).status, 200);
    const me = await browser.send("GET", "/console/api/me");
    assert.deepEqual(me.body, {
      identity: { email: "new@example.test", name: "Néw Person", operator: false },
      accounts: [],
    });
    const { rows } = await testConsole.pool.query("select image from identity where email = 'new@example.test'");
    assert.deepEqual(rows, [{ image: null }]);
  });

  test("signing out ends the session itself, not only the cookie", async () => {
    const { email } = await testConsole.person([{ kind: "builder" }]);
    const browser = new Browser(testConsole);
    await browser.signIn(email);
    const kept = new Map(browser.cookies);
    assert.equal((await browser.send("GET", "/console/api/me")).status, 200);
    assert.equal((await browser.send("POST", SIGN_OUT)).status, 200);
    assert.equal(browser.cookies.has("tollgate.session_token"), false);
    for (const [name, value] of kept) browser.cookies.set(name, value);
    assert.equal((await browser.send("GET", "/console/api/me")).status, 401);
  });

  test("signing out ends one session, not the others", async () => {
    const { email } = await testConsole.person();
    const [one, other] = [new Browser(testConsole), new Browser(testConsole)];
    await one.signIn(email);
    await other.signIn(email);
    await one.send("POST", SIGN_OUT);
    assert.equal((await other.send("GET", "/console/api/me")).status, 200);
  });

  test("get-session tells who is signed in, or null", async () => {
    const { email } = await testConsole.person();
    const browser = new Browser(testConsole);
    assert.equal((await browser.send("GET", "/console/api/auth/get-session")).text, "null");
    await browser.signIn(email);
    const { body } = await browser.send("GET", "/console/api/auth/get-session");
    assert.equal((body.user as { email: string }).email, email);
  });

  test("it works the same over a socket", async () => {
    const { email } = await testConsole.person([{ kind: "builder" }]);
    const base = `http://127.0.0.1:${await listen(testConsole.app, { host: "127.0.0.1", port: 0 })}`;
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

describe("400", () => {
  const good = { email: "fields@example.test", password: PASSWORD, name: "A person" };
  const ROWS: { url: string; body: unknown; param: string | undefined }[] = [
    { url: SIGN_IN, body: { password: PASSWORD }, param: "email" },
    { url: SIGN_IN, body: { ...good, email: "nobody" }, param: "email" },
    { url: SIGN_IN, body: { ...good, password: 12345678 }, param: "password" },
    { url: SIGN_IN, body: { ...good, password: "x".repeat(129) }, param: "password" },
    { url: SIGN_IN, body: { ...good, rememberMe: "yes" }, param: "rememberMe" },
    { url: SIGN_IN, body: [], param: undefined },
    { url: SIGN_UP, body: { ...good, email: `${"x".repeat(250)}@example.test` }, param: "email" },
    { url: SIGN_UP, body: { ...good, password: "short" }, param: "password" },
    { url: SIGN_UP, body: { ...good, name: "" }, param: "name" },
    { url: SIGN_UP, body: { ...good, name: "a\u0000b" }, param: "name" },
    { url: SIGN_UP, body: { ...good, name: "x".repeat(201) }, param: "name" },
    { url: SIGN_UP, body: { email: good.email, password: PASSWORD }, param: "name" },
  ];
  test("a field that breaks a rule is named", async () => {
    const browser = new Browser(testConsole);
    for (const { url, body, param } of ROWS) {
      const answer = await browser.send("POST", url, { body });
      assert.equal(answer.status, 400, JSON.stringify(body));
      assert.equal(answer.body.error?.type, "invalid_request_error");
      assert.equal(answer.body.error?.code, undefined);
      assert.equal(answer.body.error?.param, param, JSON.stringify(body));
    }
  });

  test("an e-mail address in use", async () => {
    const { email } = await testConsole.person();
    const body = { email: email.toUpperCase(), password: PASSWORD, name: "Again" };
    const answer = await new Browser(testConsole).send("POST", SIGN_UP, { body });
    assert.equal(answer.status, 400);
    assert.equal(answer.body.error?.param, "email");
  });
});

describe("401", () => {
  test("a wrong password and an unknown e-mail get the same answer, and no cookie", async () => {
    const { email } = await testConsole.person([{ kind: "builder" }]);
    const browser = new Browser(testConsole);
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

describe("403", () => {
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
  test("cross_site_blocked: signing in, up and out from another site", async () => {
    const { email } = await testConsole.person();
    for (const { headers, status } of ROWS) {
      const browser = new Browser(testConsole);
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
});

describe("413", () => {
  test("a body that says it is too long is not read", async () => {
    const body = { email: "long@example.test", password: PASSWORD, name: "x".repeat(70_000) };
    const answer = await new Browser(testConsole).send("POST", SIGN_UP, { body });
    assert.equal(answer.status, 413);
    assert.equal(answer.body.error?.code, "request_too_large");
  });
});

describe("429", () => {
  test("an address that guesses is stopped, others are not", async () => {
    const { email } = await testConsole.person();
    const guesser = new Browser(testConsole);
    for (let i = 0; i < 10; i++) assert.equal((await guesser.signIn(email, `wrong guess ${i}`)).status, 401);
    const spoofed = {
      "sec-fetch-site": "same-origin",
      "x-forwarded-for": "1.2.3.4",
      "x-tollgate-client-address": "1.2.3.4",
    };
    for (const headers of [{ "sec-fetch-site": "same-origin" }, spoofed]) {
      const stopped = await guesser.send("POST", SIGN_IN, { body: { email, password: PASSWORD }, headers });
      assert.equal(stopped.status, 429);
      assert.equal(stopped.body.error?.code, "rate_limit_requests");
      const waitS = Number(stopped.headers["retry-after"]);
      assert.ok(waitS >= 1 && waitS <= 60, String(waitS));
      assert.equal(stopped.headers["x-should-retry"], "true");
    }
    assert.equal((await new Browser(testConsole).signIn(email)).status, 200);
  });
});
