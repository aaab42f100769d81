/** Sign-in with an OpenID provider, and the identity that it creates or finds. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { computeAuthenticatorCode } from "../../accounts/testing/authenticator-codes.ts";
import { Browser, PASSWORD } from "../testing/browser.ts";
import {
  AUTH_BASE_PATH,
  createOpenIdPerson,
  type OpenIdStage,
  openOpenIdStage,
  PUBLIC_URL,
  readCurrentIdentity,
  startOpenIdSignIn,
} from "../testing/openid-sign-in.ts";

let stage: OpenIdStage;
before(async () => {
  stage = await openOpenIdStage();
});
after(() => stage.close());

describe("a successful OpenID sign-in", () => {
  test("uses PKCE, state and nonce, and asks for the required scopes", async () => {
    const url = new URL(await startOpenIdSignIn(new Browser(stage.platform)));
    assert.equal(url.origin, stage.issuer.provider.issuer);
    const asked = url.searchParams;
    assert.equal(asked.get("response_type"), "code");
    assert.equal(asked.get("client_id"), stage.issuer.provider.clientId);
    assert.equal(asked.get("redirect_uri"), `${PUBLIC_URL}${AUTH_BASE_PATH}/callback/test`);
    assert.equal(asked.get("code_challenge_method"), "S256");
    for (const name of ["state", "nonce", "code_challenge"]) assert.ok((asked.get(name) ?? "").length >= 32, name);
    assert.deepEqual(asked.get("scope")?.split(" ").sort(), ["email", "openid", "profile"]);
  });

  test("creates an identity the first time, and later finds it by the provider's subject claim", async () => {
    const who = createOpenIdPerson();
    const browser = new Browser(stage.platform);
    assert.equal(await stage.signIn(browser, who), "/console/");
    const first = await readCurrentIdentity(browser);
    assert.equal(first?.email, who.email);
    assert.equal(first?.name, "Öpen Person");
    assert.equal(first?.email_verified, true);
    assert.equal(first?.operator, false);
    const again = new Browser(stage.platform);
    assert.equal(await stage.signIn(again, { ...who, email: "moved@example.test", operator: true }), "/console/");
    assert.deepEqual(await readCurrentIdentity(again), first);
  });

  test("stores none of the provider's tokens", async () => {
    await stage.signIn(new Browser(stage.platform), createOpenIdPerson());
    const { rows } = await stage.platform.pool.query(
      "select access_token, refresh_token, id_token, password_hash from identity_credential where provider = 'test'",
    );
    assert.ok(rows.length > 0);
    for (const row of rows) assert.deepEqual(Object.values(row), [null, null, null, null]);
  });

  test("lists the provider without its secrets", async () => {
    const { body, text } = await new Browser(stage.platform).send("GET", `${AUTH_BASE_PATH}/methods`);
    assert.deepEqual(body.providers, [
      { id: "test", name: "Test provider" },
      { id: "company", name: "The company" },
    ]);
    assert.ok(!text.includes(stage.issuer.provider.clientSecret));
  });

  test("handles a missing or unusual name", async () => {
    for (const [claims, name] of [
      [{ name: undefined, preferred_username: "ada" }, "ada"],
      [{ name: "  ", email: "ada.of.many@example.test" }, "ada.of.many"],
      [{ name: `a\u0000b${"x".repeat(300)}` }, `a b${"x".repeat(197)}`],
    ] as const) {
      const browser = new Browser(stage.platform);
      assert.equal(await stage.signIn(browser, createOpenIdPerson(claims)), "/console/");
      assert.equal((await readCurrentIdentity(browser))?.name, name);
    }
  });
});

describe("linking an OpenID sign-in with an existing identity", () => {
  const credentials = async (email: string): Promise<string[]> => {
    const { rows } = await stage.platform.pool.query(
      "select c.provider from identity_credential c join identity i on i.id = c.identity_id where i.email = $1 order by 1",
      [email],
    );
    return rows.map(({ provider }) => provider);
  };

  test("succeeds for the same email address if both sides have verified it", async () => {
    const known = await stage.platform.person([{ kind: "builder" }]);
    const browser = new Browser(stage.platform);
    assert.equal(await stage.signIn(browser, createOpenIdPerson({ email: known.email.toUpperCase() })), "/console/");
    assert.equal((await browser.send("GET", "/console/api/balance")).status, 200);
    assert.deepEqual(await credentials(known.email), ["credential", "test"]);
  });

  test("is refused if the provider has not verified the address, and creates no identity", async () => {
    const known = await stage.platform.person([{ kind: "builder" }]);
    for (const email of [known.email, "unproven@example.test"]) {
      for (const email_verified of [false, "false", undefined]) {
        const browser = new Browser(stage.platform);
        const where = await stage.signIn(browser, createOpenIdPerson({ email, email_verified }));
        assert.equal(where, "/console/?sign_in=email_not_verified");
        assert.equal(browser.cookies.has("tollgate.session_token"), false);
      }
    }
    assert.deepEqual(await credentials(known.email), ["credential"]);
    assert.deepEqual(await credentials("unproven@example.test"), []);
  });

  test("is refused if the local identity's address is unverified", async () => {
    const squatter = new Browser(stage.platform);
    const body = { email: "victim@example.test", password: PASSWORD, name: "Squatter" };
    await squatter.send("POST", `${AUTH_BASE_PATH}/sign-up/email`, { body });
    const owner = new Browser(stage.platform);
    const where = await stage.signIn(owner, createOpenIdPerson({ email: "victim@example.test" }));
    assert.equal(where, "/console/?sign_in=account_not_linked");
    assert.equal(await readCurrentIdentity(owner), undefined);
    assert.deepEqual(await credentials("victim@example.test"), ["credential"]);
  });

  test("succeeds with an unverified address of a trusted provider", async () => {
    const browser = new Browser(stage.platform);
    const where = await stage.signIn(browser, createOpenIdPerson({ email_verified: undefined }), {
      provider: "company",
    });
    assert.equal(where, "/console/");
    assert.equal((await readCurrentIdentity(browser))?.email_verified, true);
  });
});

test("an OpenID sign-in also asks for the second factor", async () => {
  const known = await stage.platform.person();
  const browser = new Browser(stage.platform);
  await browser.signIn(known.email);
  const begun = await browser.send("POST", `${AUTH_BASE_PATH}/two-factor/enable`, { body: { password: PASSWORD } });
  const secret = String(begun.body.secret);
  await browser.send("POST", `${AUTH_BASE_PATH}/two-factor/confirm`, {
    body: { code: computeAuthenticatorCode(secret) },
  });
  const next = new Browser(stage.platform);
  assert.equal(
    await stage.signIn(next, createOpenIdPerson({ email: known.email })),
    "/console/?sign_in=two_factor_required",
  );
  assert.equal(next.cookies.has("tollgate.session_token"), false);
  assert.equal(await readCurrentIdentity(next), undefined);
  const entered = await next.send("POST", `${AUTH_BASE_PATH}/sign-in/code`, {
    body: { code: computeAuthenticatorCode(secret, 1) },
  });
  assert.deepEqual(entered.body, { status: "signed_in" }, entered.text);
  assert.equal((await readCurrentIdentity(next))?.email, known.email);
});
