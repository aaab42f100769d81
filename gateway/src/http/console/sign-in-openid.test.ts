import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Mischief, openTestIssuer, type Person, type TestIssuer } from "../../accounts/testing/oidc.ts";
import { totp } from "../../accounts/testing/totp.ts";
import { Browser, PASSWORD } from "../testing/browser.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";

const AUTH = "/console/api/auth";
const PUBLIC_URL = "http://gate.test";

let issuer: TestIssuer;
let platform: TestPlatform;
before(async () => {
  issuer = await openTestIssuer();
  const company = { ...issuer.provider, id: "company", name: "The company", trustEmail: true };
  platform = await openTestPlatform({ publicUrl: PUBLIC_URL, providers: [issuer.provider, company] });
});
after(async () => {
  await platform.close();
  await issuer.close();
});

let people = 0;
const person = (claims: Record<string, unknown> = {}): Person => {
  const sub = `subject-${++people}`;
  return { sub, email: `${sub}@example.test`, email_verified: true, name: "Öpen Person", ...claims };
};

/** As far as the provider. */
async function leave(browser: Browser, provider = "test"): Promise<string> {
  const answer = await browser.send("POST", `${AUTH}/sign-in/openid`, { body: { provider } });
  assert.equal(answer.status, 200, answer.text);
  return String(answer.body.url);
}

/** Where the console says the browser should go, without the address it is at. */
async function comeBack(browser: Browser, url: URL): Promise<string> {
  assert.equal(url.origin, PUBLIC_URL);
  // A navigation from another site, as browsers tell.
  const headers = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
  const answer = await browser.send("GET", `${url.pathname}${url.search}`, { headers });
  assert.equal(answer.status, 302, answer.text);
  return String(answer.headers.location);
}

async function signIn(browser: Browser, who: Person, more: { provider?: string; mischief?: Mischief } = {}) {
  const url = await leave(browser, more.provider);
  return await comeBack(browser, await issuer.signIn(url, who, more.mischief));
}

const me = async (browser: Browser) => (await browser.send("GET", "/console/api/me")).body.identity;

describe("a good sign-in", () => {
  test("asks with PKCE, state and nonce, and for what it needs", async () => {
    const url = new URL(await leave(new Browser(platform)));
    assert.equal(url.origin, issuer.provider.issuer);
    const asked = url.searchParams;
    assert.equal(asked.get("response_type"), "code");
    assert.equal(asked.get("client_id"), issuer.provider.clientId);
    assert.equal(asked.get("redirect_uri"), `${PUBLIC_URL}${AUTH}/callback/test`);
    assert.equal(asked.get("code_challenge_method"), "S256");
    for (const name of ["state", "nonce", "code_challenge"]) assert.ok((asked.get(name) ?? "").length >= 32, name);
    assert.deepEqual(asked.get("scope")?.split(" ").sort(), ["email", "openid", "profile"]);
  });

  test("makes an identity the first time and finds it again, by its subject", async () => {
    const who = person();
    const browser = new Browser(platform);
    assert.equal(await signIn(browser, who), "/console/");
    const first = await me(browser);
    assert.equal(first?.email, who.email);
    assert.equal(first?.name, "Öpen Person");
    assert.equal(first?.email_verified, true);
    assert.equal(first?.operator, false);
    const again = new Browser(platform);
    assert.equal(await signIn(again, { ...who, email: "moved@example.test", operator: true }), "/console/");
    assert.deepEqual(await me(again), first);
  });

  test("keeps none of the provider's tokens", async () => {
    await signIn(new Browser(platform), person());
    const { rows } = await platform.pool.query(
      "select access_token, refresh_token, id_token, password_hash from identity_credential where provider = 'test'",
    );
    assert.ok(rows.length > 0);
    for (const row of rows) assert.deepEqual(Object.values(row), [null, null, null, null]);
  });

  test("is listed for people, without its secrets", async () => {
    const { body, text } = await new Browser(platform).send("GET", `${AUTH}/methods`);
    assert.deepEqual(body.providers, [
      { id: "test", name: "Test provider" },
      { id: "company", name: "The company" },
    ]);
    assert.ok(!text.includes(issuer.provider.clientSecret));
  });

  test("a name that is missing or odd is made do with", async () => {
    for (const [claims, name] of [
      [{ name: undefined, preferred_username: "ada" }, "ada"],
      [{ name: "  ", email: `ada.${people}@example.test` }, `ada.${people}`],
      [{ name: `a\u0000b${"x".repeat(300)}` }, `a b${"x".repeat(197)}`],
    ] as const) {
      const browser = new Browser(platform);
      assert.equal(await signIn(browser, person(claims)), "/console/");
      assert.equal((await me(browser))?.name, name);
    }
  });
});

describe("linking", () => {
  const credentials = async (email: string): Promise<string[]> => {
    const { rows } = await platform.pool.query(
      "select c.provider from identity_credential c join identity i on i.id = c.identity_id where i.email = $1 order by 1",
      [email],
    );
    return rows.map(({ provider }) => provider);
  };

  test("an e-mail address that both sides have proven is one identity", async () => {
    const known = await platform.person([{ kind: "builder" }]);
    const browser = new Browser(platform);
    assert.equal(await signIn(browser, person({ email: known.email.toUpperCase() })), "/console/");
    assert.equal((await browser.send("GET", "/console/api/balance")).status, 200);
    assert.deepEqual(await credentials(known.email), ["credential", "test"]);
  });

  test("one that the provider does not vouch for lets nobody in, and makes nobody", async () => {
    const known = await platform.person([{ kind: "builder" }]);
    for (const email of [known.email, "unproven@example.test"]) {
      for (const email_verified of [false, "false", undefined]) {
        const browser = new Browser(platform);
        const where = await signIn(browser, person({ email, email_verified }));
        assert.equal(where, "/console/?sign_in=email_not_verified");
        assert.equal(browser.cookies.has("tollgate.session_token"), false);
      }
    }
    assert.deepEqual(await credentials(known.email), ["credential"]);
    assert.deepEqual(await credentials("unproven@example.test"), []);
  });

  test("one that was signed up with but never proven here is not joined to its owner's sign-in", async () => {
    const squatter = new Browser(platform);
    const body = { email: "victim@example.test", password: PASSWORD, name: "Squatter" };
    await squatter.send("POST", `${AUTH}/sign-up/email`, { body });
    const owner = new Browser(platform);
    const where = await signIn(owner, person({ email: "victim@example.test" }));
    assert.equal(where, "/console/?sign_in=account_not_linked");
    assert.equal(await me(owner), undefined);
    assert.deepEqual(await credentials("victim@example.test"), ["credential"]);
  });

  test("a provider whose addresses are trusted need not vouch for them", async () => {
    const browser = new Browser(platform);
    const where = await signIn(browser, person({ email_verified: undefined }), { provider: "company" });
    assert.equal(where, "/console/");
    assert.equal((await me(browser))?.email_verified, true);
  });
});

test("who has a second factor gives a code after the provider too", async () => {
  const known = await platform.person();
  const browser = new Browser(platform);
  await browser.signIn(known.email);
  const begun = await browser.send("POST", `${AUTH}/two-factor/enable`, { body: { password: PASSWORD } });
  const secret = String(begun.body.secret);
  await browser.send("POST", `${AUTH}/two-factor/confirm`, { body: { code: totp(secret) } });
  const next = new Browser(platform);
  assert.equal(await signIn(next, person({ email: known.email })), "/console/?sign_in=two_factor_required");
  assert.equal(next.cookies.has("tollgate.session_token"), false);
  assert.equal(await me(next), undefined);
  const entered = await next.send("POST", `${AUTH}/sign-in/code`, { body: { code: totp(secret, 1) } });
  assert.deepEqual(entered.body, { status: "signed_in" }, entered.text);
  assert.equal((await me(next))?.email, known.email);
});

describe("what is wrong lets nobody in", () => {
  const TOKENS: { why: string; mischief: Mischief }[] = [
    { why: "signed by another key", mischief: { otherKey: true } },
    { why: "not signed", mischief: { unsigned: true } },
    { why: "none at all", mischief: { noIdToken: true } },
    { why: "for another client", mischief: { claims: { aud: "somebody-else" } } },
    { why: "for another client's use", mischief: { claims: { aud: ["tollgate-test", "x"], azp: "x" } } },
    { why: "of another issuer", mischief: { claims: { iss: "https://evil.test" } } },
    { why: "run out", mischief: { claims: { exp: Math.floor(Date.now() / 1000) - 60 } } },
    { why: "of another sign-in", mischief: { claims: { nonce: "another" } } },
    { why: "without a nonce", mischief: { claims: { nonce: undefined } } },
    { why: "without a subject", mischief: { claims: { sub: "" } } },
  ];
  for (const { why, mischief } of TOKENS) {
    test(`an ID token ${why}`, async () => {
      const browser = new Browser(platform);
      const who = person();
      assert.equal(await signIn(browser, who, { mischief }), "/console/?sign_in=failed");
      assert.equal(browser.cookies.has("tollgate.session_token"), false);
      const { rowCount } = await platform.pool.query("select from identity where email = $1", [who.email]);
      assert.equal(rowCount, 0);
    });
  }

  test("a state that is missing, made up, of another browser, or used before", async () => {
    const [browser, other] = [new Browser(platform), new Browser(platform)];
    const url = await issuer.signIn(await leave(browser), person());
    const changed = (change: (params: URLSearchParams) => void): URL => {
      const copy = new URL(url);
      change(copy.searchParams);
      return copy;
    };
    const expired = "/console/?sign_in=expired";
    assert.equal(await comeBack(other, url), expired);
    assert.equal(
      await comeBack(
        browser,
        changed((params) => params.set("state", "made-up")),
      ),
      expired,
    );
    assert.equal(
      await comeBack(
        browser,
        changed((params) => params.delete("state")),
      ),
      expired,
    );
    assert.equal(await comeBack(browser, url), "/console/");
    await browser.send("POST", `${AUTH}/sign-out`);
    assert.equal(await comeBack(browser, url), expired);
    assert.equal(await me(browser), undefined);
  });

  test("an answer that another issuer signed for, and a code that was made up", async () => {
    for (const [name, value] of [
      ["iss", "https://evil.test"],
      ["code", "made-up"],
    ] as const) {
      const browser = new Browser(platform);
      const url = await issuer.signIn(await leave(browser), person());
      url.searchParams.set(name, value);
      assert.equal(await comeBack(browser, url), "/console/?sign_in=failed", name);
    }
  });

  test("a person who says no; the provider's own words are not passed on", async () => {
    const browser = new Browser(platform);
    const url = issuer.refuse(await leave(browser));
    assert.equal(await comeBack(browser, url), "/console/?sign_in=provider_refused");
  });

  test("400 for a provider that there is not", async () => {
    for (const provider of ["nobody", "google", "credential", ""]) {
      const answer = await new Browser(platform).send("POST", `${AUTH}/sign-in/openid`, { body: { provider } });
      assert.equal(answer.status, 400, provider);
      assert.equal(answer.body.error?.param, "provider");
    }
  });

  test("403 from another site: nobody is sent to sign in against their will", async () => {
    const headers = { "sec-fetch-site": "cross-site" };
    const answer = await new Browser(platform).send("POST", `${AUTH}/sign-in/openid`, {
      body: { provider: "test" },
      headers,
    });
    assert.equal(answer.body.error?.code, "cross_site_blocked");
  });

  test("502 while the provider is away or speaks for another; then again without a restart", async () => {
    const away = await openTestIssuer();
    const other = await openTestPlatform({ publicUrl: PUBLIC_URL, providers: [away.provider] });
    away.speakFor("https://evil.test");
    const begin = () => new Browser(other).send("POST", `${AUTH}/sign-in/openid`, { body: { provider: "test" } });
    const refused = await begin();
    assert.equal(refused.status, 502);
    assert.equal(refused.body.error?.code, "sign_in_provider_unavailable");
    assert.equal(refused.headers["x-should-retry"], "true");
    away.speakFor(away.provider.issuer);
    assert.equal((await begin()).status, 200);
    await other.close();
    await away.close();
  });
});
