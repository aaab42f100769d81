/** Refused sign-ins with OpenID: the browser's result and the log lines. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { openTestOpenIdProvider, type ProviderFaults } from "../../accounts/testing/openid-provider.ts";
import { Browser } from "../testing/browser.ts";
import {
  AUTH_BASE_PATH,
  createOpenIdPerson,
  finishOpenIdSignIn,
  type OpenIdStage,
  openOpenIdStage,
  PUBLIC_URL,
  readCurrentIdentity,
  startOpenIdSignIn,
} from "../testing/openid-sign-in.ts";
import { openTestPlatform } from "../testing/platform.ts";

let stage: OpenIdStage;
before(async () => {
  stage = await openOpenIdStage();
});
after(() => stage.close());

describe("an OpenID sign-in is refused", () => {
  const TOKENS: { why: string; mischief: ProviderFaults; reason: RegExp }[] = [
    { why: "signed by another key", mischief: { otherKey: true }, reason: /signature/ },
    { why: "not signed", mischief: { unsigned: true }, reason: /"alg"/ },
    { why: "none at all", mischief: { noIdToken: true }, reason: /\/token returned an invalid response: id_token/ },
    { why: "for another client", mischief: { claims: { aud: "somebody-else" } }, reason: /"aud"/ },
    {
      why: "for another client's use",
      mischief: { claims: { aud: ["tollgate-test", "x"], azp: "x" } },
      reason: /another client/,
    },
    { why: "of another issuer", mischief: { claims: { iss: "https://evil.test" } }, reason: /"iss"/ },
    { why: "run out", mischief: { claims: { exp: Math.floor(Date.now() / 1000) - 60 } }, reason: /"exp"/ },
    { why: "of another sign-in", mischief: { claims: { nonce: "another" } }, reason: /another sign-in/ },
    { why: "without a nonce", mischief: { claims: { nonce: undefined } }, reason: /nonce/ },
    { why: "without a subject", mischief: { claims: { sub: "" } }, reason: /sub/ },
  ];
  for (const { why, mischief, reason } of TOKENS) {
    test(`for an ID token ${why}`, async () => {
      const browser = new Browser(stage.platform);
      const who = createOpenIdPerson();
      const [line] = await stage.told(async () => {
        assert.equal(await stage.signIn(browser, who, { mischief }), "/console/?sign_in=failed");
      });
      assert.match(String(line?.[1]), reason);
      assert.equal(browser.cookies.has("tollgate.session_token"), false);
      const { rowCount } = await stage.platform.pool.query("select from identity where email = $1", [who.email]);
      assert.equal(rowCount, 0);
    });
  }

  test("for a state parameter that is missing, forged, used, or from another browser", async () => {
    const [browser, other] = [new Browser(stage.platform), new Browser(stage.platform)];
    const url = await stage.issuer.signIn(await startOpenIdSignIn(browser), createOpenIdPerson());
    const changed = (change: (params: URLSearchParams) => void): URL => {
      const copy = new URL(url);
      change(copy.searchParams);
      return copy;
    };
    const expired = "/console/?sign_in=expired";
    assert.equal(await finishOpenIdSignIn(other, url), expired);
    assert.equal(
      await finishOpenIdSignIn(
        browser,
        changed((params) => params.set("state", "made-up")),
      ),
      expired,
    );
    assert.equal(
      await finishOpenIdSignIn(
        browser,
        changed((params) => params.delete("state")),
      ),
      expired,
    );
    assert.equal(await finishOpenIdSignIn(browser, url), "/console/");
    await browser.send("POST", `${AUTH_BASE_PATH}/sign-out`);
    assert.equal(await finishOpenIdSignIn(browser, url), expired);
    assert.equal(await readCurrentIdentity(browser), undefined);
  });

  test("for an answer from another issuer, or with a forged or missing code", async () => {
    for (const [name, value, reason] of [
      ["iss", "https://evil.test", /^issuer_mismatch$/],
      ["code", "made-up", /\/token answered 400 invalid_grant$/],
      ["code", "", /^no_code$/],
    ] as const) {
      const browser = new Browser(stage.platform);
      const url = await stage.issuer.signIn(await startOpenIdSignIn(browser), createOpenIdPerson());
      url.searchParams.set(name, value);
      const [line] = await stage.told(async () => {
        assert.equal(await finishOpenIdSignIn(browser, url), "/console/?sign_in=failed", name);
      });
      assert.match(String(line?.[1]), reason);
    }
  });

  test("if the provider becomes unreachable during the sign-in", async () => {
    for (const [status, reason] of [
      [{ token: 503 }, /\/token answered 503 server_error$/],
      [{ token: 429 }, /\/token answered 429 server_error$/],
      [{ jwks: 500 }, /^the provider's signing keys could not be fetched/],
    ] as const) {
      const browser = new Browser(stage.platform);
      const lines = await stage.told(async () => {
        const where = await stage.signIn(browser, createOpenIdPerson(), { mischief: { status } });
        assert.equal(where, "/console/?sign_in=provider_unavailable");
      });
      assert.match(String(lines[0]?.[1]), reason);
    }
  });

  test("if the provider cannot be reached, and the log has the network error", async () => {
    const gone = await openTestOpenIdProvider();
    const other = await openTestPlatform({
      publicUrl: PUBLIC_URL,
      log: stage.platform.parts.log,
      oidcProviders: [gone.provider],
    });
    const browser = new Browser(other);
    const begun = await browser.send("POST", `${AUTH_BASE_PATH}/sign-in/openid`, { body: { provider: "test" } });
    const url = await gone.signIn(String(begun.body.url), createOpenIdPerson());
    await gone.close();
    const lines = await stage.told(async () => {
      assert.equal(await finishOpenIdSignIn(browser, url), "/console/?sign_in=provider_unavailable");
    });
    assert.match(String(lines[0]?.[1]), /^request to 127\.0\.0\.1:\d+\/token failed: ECONNREFUSED$/);
    await other.close();
  });

  test("if the person declines, and the provider's own text is not shown", async () => {
    const browser = new Browser(stage.platform);
    for (const [error, outcome, reason] of [
      ["access_denied", "provider_refused", "access_denied"],
      ["temporarily_unavailable", "provider_unavailable", "temporarily_unavailable"],
      ["invalid_scope", "failed", "invalid_scope"],
      ["a secret sentence", "failed", "the sign-in provider returned an unreadable error"],
    ] as const) {
      const url = stage.issuer.refuse(await startOpenIdSignIn(browser));
      url.searchParams.set("error", error);
      const lines = await stage.told(async () => {
        assert.equal(await finishOpenIdSignIn(browser, url), `/console/?sign_in=${outcome}`);
      });
      assert.deepEqual(lines, [[outcome, reason]]);
    }
  });

  test("for an unknown provider or after too many attempts, and redirects to the console", async () => {
    const browser = new Browser(stage.platform);
    const back = (provider: string) =>
      finishOpenIdSignIn(browser, new URL(`${PUBLIC_URL}${AUTH_BASE_PATH}/callback/${provider}?code=1`));
    assert.equal(await back("nobody"), "/console/?sign_in=failed");
    for (let i = 1; i < 10; i++) assert.equal(await back("test"), "/console/?sign_in=expired");
    const lines = await stage.told(async () => assert.equal(await back("test"), "/console/?sign_in=too_many_attempts"));
    assert.deepEqual(lines, [], "who is refused cannot fill the log");
  });

  test("with 400 for an unknown provider", async () => {
    for (const provider of ["nobody", "google", "credential", ""]) {
      const answer = await new Browser(stage.platform).send("POST", `${AUTH_BASE_PATH}/sign-in/openid`, {
        body: { provider },
      });
      assert.equal(answer.status, 400, provider);
      assert.equal(answer.body.error?.param, "provider");
    }
  });

  test("with 403 if the request comes from another site", async () => {
    const headers = { "sec-fetch-site": "cross-site" };
    const answer = await new Browser(stage.platform).send("POST", `${AUTH_BASE_PATH}/sign-in/openid`, {
      body: { provider: "test" },
      headers,
    });
    assert.equal(answer.body.error?.code, "cross_site_blocked");
  });

  test("with 502 while the provider is unreachable or faulty, and works again without a restart", async () => {
    const away = await openTestOpenIdProvider();
    const other = await openTestPlatform({ publicUrl: PUBLIC_URL, oidcProviders: [away.provider] });
    away.speakFor("https://evil.test");
    const begin = () =>
      new Browser(other).send("POST", `${AUTH_BASE_PATH}/sign-in/openid`, { body: { provider: "test" } });
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
