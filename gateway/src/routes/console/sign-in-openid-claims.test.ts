/** Claims about a person that the OpenID provider's ID token lacks, and that its UserInfo endpoint may return. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { ProviderFaults } from "../../accounts/testing/openid-provider.ts";
import { Browser } from "../testing/browser.ts";
import {
  createOpenIdPerson,
  type OpenIdStage,
  openOpenIdStage,
  readCurrentIdentity,
} from "../testing/openid-sign-in.ts";

let stage: OpenIdStage;
before(async () => {
  stage = await openOpenIdStage();
});
after(() => stage.close());

describe("claims of OpenID's UserInfo", () => {
  const NONE = { email: undefined, email_verified: undefined, name: undefined };

  test("are used in place of claims that the ID token lacks", async () => {
    for (const claims of [
      NONE,
      { ...NONE, email: null, name: "" },
      { name: undefined },
      { email_verified: undefined },
    ]) {
      const [browser, who] = [new Browser(stage.platform), createOpenIdPerson()];
      assert.equal(await stage.signIn(browser, who, { mischief: { claims } }), "/console/");
      const { email, name, email_verified } = (await readCurrentIdentity(browser)) ?? {};
      assert.deepEqual([email, name, email_verified], [who.email, "Öpen Person", true]);
    }
  });

  test("are ignored if the ID token has the same claims", async () => {
    const [browser, who] = [new Browser(stage.platform), createOpenIdPerson()];
    const userInfo = { email: "other@example.test", email_verified: false, name: "Other" };
    assert.equal(
      await stage.signIn(browser, who, { mischief: { claims: { preferred_username: 1 }, userInfo } }),
      "/console/?sign_in=failed",
    );
    assert.equal(
      await stage.signIn(browser, who, { mischief: { claims: { name: undefined }, userInfo } }),
      "/console/",
    );
    assert.deepEqual(
      [(await readCurrentIdentity(browser))?.email, (await readCurrentIdentity(browser))?.name],
      [who.email, "Other"],
    );
  });

  const REFUSED: { why: string; mischief: ProviderFaults; told: [string, string | RegExp] }[] = [
    {
      why: "UserInfo is about another subject",
      mischief: { claims: NONE, userInfo: { sub: "subject-of-somebody-else" } },
      told: ["failed", "UserInfo and the ID token have different subjects"],
    },
    {
      why: "UserInfo, read only for the name, is about another subject",
      mischief: { claims: { name: undefined }, userInfo: { sub: "subject-of-somebody-else" } },
      told: ["failed", "UserInfo and the ID token have different subjects"],
    },
    {
      why: "UserInfo has no subject",
      mischief: { claims: NONE, userInfo: { sub: undefined } },
      told: ["failed", /\/userinfo returned an invalid response: sub: /],
    },
    {
      why: "neither the ID token nor UserInfo has an email address",
      mischief: { claims: NONE, userInfo: NONE },
      told: ["email_missing", "neither the ID token nor UserInfo has an email"],
    },
    {
      why: "the email claim of UserInfo is not an email address",
      mischief: { claims: NONE, userInfo: { email: "ada at example" } },
      told: ["email_missing", "the `email` claim is not a valid email address"],
    },
    {
      why: "neither the ID token nor UserInfo states that the address is verified",
      mischief: { claims: NONE, userInfo: { email_verified: undefined } },
      told: ["email_not_verified", "neither the ID token nor UserInfo has email_verified"],
    },
    {
      why: "UserInfo verifies another address than the ID token's",
      mischief: { claims: { email_verified: undefined }, userInfo: { email: "other@example.test" } },
      told: ["email_not_verified", "neither the ID token nor UserInfo has email_verified"],
    },
    {
      why: "only the ID token states that the address is not verified",
      mischief: { claims: { ...NONE, email_verified: false } },
      told: ["email_not_verified", "email_verified is false"],
    },
    {
      why: "UserInfo returns 503",
      mischief: { claims: NONE, status: { userInfo: 503 } },
      told: ["provider_unavailable", /\/userinfo answered 503 server_error$/],
    },
    {
      why: "UserInfo returns 403",
      mischief: { claims: NONE, status: { userInfo: 403 } },
      told: ["failed", /\/userinfo answered 403 server_error$/],
    },
  ];
  for (const { why, mischief, told: expected } of REFUSED) {
    test(`${why}: the sign-in is refused`, async () => {
      const [browser, who] = [new Browser(stage.platform), createOpenIdPerson()];
      const [line] = await stage.told(async () => {
        assert.equal(await stage.signIn(browser, who, { mischief }), `/console/?sign_in=${expected[0]}`);
      });
      assert.equal(line?.[0], expected[0]);
      assert.match(String(line?.[1]), expected[1] instanceof RegExp ? expected[1] : new RegExp(`^${expected[1]}$`));
      assert.equal(await readCurrentIdentity(browser), undefined);
    });
  }

  test("are not required if the ID token lacks only the name", async () => {
    const [browser, who] = [new Browser(stage.platform), createOpenIdPerson()];
    const mischief = { claims: { name: undefined }, status: { userInfo: 503 } };
    assert.equal(await stage.signIn(browser, who, { mischief }), "/console/");
    assert.equal((await readCurrentIdentity(browser))?.name, who.sub);
    assert.equal(stage.logged.at(-1)?.msg, "OpenID provider request for the display name failed");
  });
});
