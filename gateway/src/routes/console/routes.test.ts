import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Uuid } from "../../base/ids.ts";
import { dollars, pico } from "../../base/money.ts";
import { Browser, type BrowserResponse } from "../testing/browser.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";

let platform: TestPlatform;
before(async () => {
  platform = await openTestPlatform();
});
after(() => platform.close());

type Accounts = Parameters<TestPlatform["person"]>[0];

async function signedIn(accounts: Accounts, more?: { operator: boolean }) {
  const person = await platform.person(accounts, more);
  const browser = new Browser(platform);
  assert.equal((await browser.signIn(person.email)).status, 200);
  return { ...person, browser };
}

function assertRefused(answer: BrowserResponse, status: number, code: string): void {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.body.error?.code, code);
  assert.equal(answer.body.error?.type, code);
  assert.ok(answer.body.error?.message);
  assert.deepEqual(Object.keys(answer.body), ["error"]);
  assert.match(String(answer.headers["x-request-id"]), /^req_[0-9a-z]{26}$/);
  assert.equal(answer.headers["x-should-retry"], "false");
}

const hold = (accountId: Uuid) => ({
  id: platform.newId(),
  accountId,
  amount: pico(1_234_567n),
  keyId: platform.newId(),
  keyName: "a key",
  endpoint: "chat" as const,
  model: "tiny-3b",
  build: "a build",
  tokenizer: "a tokenizer",
  stream: false,
  promptTokens: 1,
  priceVersion: 1,
  client: "",
});

describe("status 200", () => {
  test("returns an exact balance that includes the held amount", async () => {
    const { browser, accountIds } = await signedIn([{ kind: "host" }, { kind: "builder" }]);
    const builder = accountIds[1] as Uuid;
    const askedS = Math.floor(Date.now() / 1000);
    const balance = async () => {
      const { as_of, ...money } = (await browser.send("GET", "/console/api/balance")).body;
      assert.ok(Number(as_of) >= askedS, "figures have the time that they were true at");
      return money;
    };
    assert.deepEqual(await balance(), {
      object: "balance",
      balance_micro: "5000000.000000",
      held_micro: "0.000000",
      available_micro: "5000000.000000",
    });
    assert.deepEqual(await platform.ledger.hold(hold(builder)), { kind: "held" });
    assert.deepEqual(await balance(), {
      object: "balance",
      balance_micro: "5000000.000000",
      held_micro: "1.234567",
      available_micro: "4999998.765433",
    });
  });

  test("returns a negative balance after a refund of spent credit", async () => {
    const { browser, accountIds } = await signedIn([{ kind: "builder" }]);
    const transfer = {
      id: platform.newId(),
      kind: "refund",
      accountId: accountIds[0] as Uuid,
      reason: "a test",
    } as const;
    assert.equal(await platform.ledger.transfer({ ...transfer, amount: dollars(6) }), "moved");
    const { body } = await browser.send("GET", "/console/api/balance");
    assert.equal(body.balance_micro, "-1000000.000000");
    assert.equal(body.available_micro, "-1000000.000000");
  });

  test("sends no-store and a request ID with every answer", async () => {
    const { browser } = await signedIn([{ kind: "builder" }]);
    for (const url of ["/console/api/me", "/console/api/balance"]) {
      const { headers } = await browser.send("GET", url);
      assert.equal(headers["cache-control"], "no-store");
      assert.equal(headers["x-content-type-options"], "nosniff");
      assert.match(String(headers["x-request-id"]), /^req_[0-9a-z]{26}$/);
    }
  });
});

describe("status 401", () => {
  test("is returned without a session cookie, or with another service's cookie (not_authenticated)", async () => {
    for (const url of ["/console/api/me", "/console/api/balance"]) {
      const browser = new Browser(platform);
      assertRefused(await browser.send("GET", url), 401, "not_authenticated");
      for (const value of ["made-up", "made-up.c2lnbmF0dXJl", "%00", ""]) {
        browser.cookies.set("tollgate.session_token", value);
        assertRefused(await browser.send("GET", url), 401, "not_authenticated");
      }
    }
  });

  test("is returned for a session token without its signature (not_authenticated)", async () => {
    const { browser, identityId } = await signedIn([{ kind: "builder" }]);
    const { rows } = await platform.pool.query("select token from identity_session where identity_id = $1", [
      identityId,
    ]);
    browser.cookies.set("tollgate.session_token", rows[0].token);
    assertRefused(await browser.send("GET", "/console/api/me"), 401, "not_authenticated");
  });
});

describe("status 403", () => {
  const ROWS: { who: string; accounts: Accounts; operator?: boolean; code: string }[] = [
    { who: "a person without accounts", accounts: [], code: "no_account" },
    { who: "a suspended builder", accounts: [{ kind: "builder", suspended: true }], code: "account_suspended" },
    {
      who: "a person whose accounts are all suspended",
      accounts: [
        { kind: "builder", suspended: true },
        { kind: "host", suspended: true },
      ],
      code: "account_suspended",
    },
    { who: "a host", accounts: [{ kind: "host" }], code: "member_only" },
    { who: "an operator", accounts: [], operator: true, code: "member_only" },
  ];
  for (const { who, accounts, operator = false, code } of ROWS) {
    test(`${code}: ${who} cannot read a balance`, async () => {
      const { browser } = await signedIn(accounts, { operator });
      assertRefused(await browser.send("GET", "/console/api/balance"), 403, code);
    });
  }
});

describe("status 404 and 405", () => {
  test("returns 404 without a code for an unknown path", async () => {
    const browser = new Browser(platform);
    const paths = ["/console/api", "/console/api/nothing", "/console/api/auth/delete-user", "/console/api/auth/error"];
    for (const path of paths) {
      const answer = await browser.send("GET", path);
      assert.equal(answer.status, 404, path);
      assert.equal(answer.body.error?.type, "not_found_error");
      assert.equal(answer.body.error?.code, undefined);
    }
  });

  test("returns 405 with the allowed methods for a wrong method", async () => {
    const browser = new Browser(platform);
    for (const [method, url, allowed] of [
      ["POST", "/console/api/me", "GET, HEAD"],
      ["DELETE", "/console/api/balance", "GET, HEAD"],
      ["GET", "/console/api/auth/sign-in/email", "POST"],
      ["POST", "/console", "GET, HEAD"],
    ] as const) {
      const answer = await browser.send(method, url);
      assert.equal(answer.status, 405, url);
      assert.equal(answer.headers.allow, allowed);
    }
  });
});
