import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { publicId, type Uuid } from "../../base/ids.ts";
import { Browser, PASSWORD } from "../testing/browser.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";

let platform: TestPlatform;
before(async () => {
  platform = await openTestPlatform();
});
after(() => platform.close());

type Accounts = Parameters<TestPlatform["person"]>[0];

async function signedIn(accounts: Accounts = [], more?: { operator: boolean }) {
  const person = await platform.person(accounts, more);
  const browser = new Browser(platform);
  assert.equal((await browser.signIn(person.email)).status, 200);
  return { ...person, browser };
}

const OWNER = { role: "owner", may: ["read", "work", "pay", "own"] };

describe("GET /console/api/me", () => {
  test("returns the signed-in person with their accounts and roles", async () => {
    const person = await signedIn([{ kind: "builder" }, { kind: "host", suspended: true }]);
    const answer = await person.browser.send("GET", "/console/api/me");
    assert.equal(answer.status, 200);
    const [builder, host] = person.accountIds.map((id) => publicId("acc", id));
    assert.deepEqual(answer.body, {
      identity: {
        id: publicId("usr", person.identityId),
        email: person.email,
        name: "A person",
        operator: false,
        email_verified: true,
        two_factor: false,
        locale: null,
        time_zone: null,
      },
      accounts: [
        { id: builder, kind: "builder", name: "A builder", suspended: false, ...OWNER },
        { id: host, kind: "host", name: "A host", suspended: true, ...OWNER },
      ],
    });
  });

  test("marks operators, and returns an empty list of accounts for people without one", async () => {
    for (const operator of [true, false]) {
      const { browser } = await signedIn([], { operator });
      const { body } = await browser.send("GET", "/console/api/me");
      assert.equal(body.identity?.operator, operator);
      assert.deepEqual(body.accounts, []);
    }
  });
});

describe("a person's preferences", () => {
  const set = (browser: Browser, body: object) => browser.send("PUT", "/console/api/me/preferences", { body });
  const shown = async (browser: Browser) => {
    const { identity } = (await browser.send("GET", "/console/api/auth/get-session")).body;
    return { locale: identity?.locale, time_zone: identity?.time_zone };
  };

  test("are stored per person, and can be replaced and removed", async () => {
    const [{ browser }, other] = [await signedIn(), await signedIn()];
    const answer = await set(browser, { locale: "de-de", time_zone: "Europe/Berlin" });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual([answer.body.locale, answer.body.time_zone], ["de-DE", "Europe/Berlin"]);
    assert.deepEqual(await shown(browser), { locale: "de-DE", time_zone: "Europe/Berlin" });
    assert.deepEqual(await shown(other.browser), { locale: null, time_zone: null });
    assert.equal((await set(browser, { locale: null, time_zone: "Asia/Tokyo" })).status, 200);
    assert.deepEqual(await shown(browser), { locale: null, time_zone: "Asia/Tokyo" });
    assert.equal((await set(browser, {})).status, 200);
    assert.deepEqual(await shown(browser), { locale: null, time_zone: null });
  });

  test("refuse an invalid language tag or time zone with a 400 that names the field", async () => {
    const { browser } = await signedIn();
    const ROWS = [
      ...["german", "de_DE", "xx-XX", "de-DE-u-nu-thai", "", 7].map((locale) => ["locale", { locale }] as const),
      ...["Berlin", "Europe/Atlantis", "+01:00", "", 7].map((time_zone) => ["time_zone", { time_zone }] as const),
    ];
    for (const [param, body] of ROWS) {
      const answer = await set(browser, body);
      assert.equal(answer.status, 400, JSON.stringify(body));
      assert.equal(answer.body.error?.param, param, JSON.stringify(body));
    }
  });
});

describe("accounts", () => {
  const open = (browser: Browser, body: object) => browser.send("POST", "/console/api/accounts", { body });

  test("a new person can open a builder and a host account and use both", async () => {
    const { browser } = await signedIn();
    const builder = await open(browser, { kind: "builder", name: "Work" });
    assert.equal(builder.status, 201);
    const { id, ...rest } = builder.body;
    assert.match(String(id), /^acc_[0-9a-z]{26}$/);
    assert.deepEqual(rest, { kind: "builder", name: "Work", suspended: false, ...OWNER });
    assert.equal((await open(browser, { kind: "host", name: "Farm" })).status, 201);
    const me = await browser.send("GET", "/console/api/me");
    assert.deepEqual(
      (me.body.accounts as { kind: string }[]).map(({ kind }) => kind),
      ["builder", "host"],
    );
    const balance = await browser.send("GET", "/console/api/balance");
    assert.equal(balance.body.balance_micro, "0.000000");
  });

  test("opening an account with an invalid field returns a 400 that names the field", async () => {
    const { browser } = await signedIn();
    for (const [body, param] of [
      [{ name: "Work" }, "kind"],
      [{ kind: "operator", name: "Work" }, "kind"],
      [{ kind: "builder" }, "name"],
      [{ kind: "builder", name: "" }, "name"],
      [{ kind: "builder", name: "a\u0007b" }, "name"],
      [{ kind: "builder", name: "x".repeat(201) }, "name"],
    ] as const) {
      const answer = await open(browser, body);
      assert.equal(answer.status, 400, JSON.stringify(body));
      assert.equal(answer.body.error?.param, param);
    }
  });

  test("a suspended person cannot open another account", async () => {
    for (const accounts of [
      [{ kind: "builder", suspended: true }],
      [{ kind: "builder", suspended: true }, { kind: "host" }],
    ] satisfies Accounts[]) {
      const { browser, identityId } = await signedIn(accounts);
      const answer = await open(browser, { kind: "builder", name: "Again" });
      assert.equal(answer.status, 403);
      assert.equal(answer.body.error?.code, "account_suspended");
      assert.equal((await platform.identities.accountsOf(identityId)).length, accounts.length);
    }
  });

  test("a request without a session gets 401", async () => {
    const answer = await open(new Browser(platform), { kind: "builder", name: "Work" });
    assert.equal(answer.body.error?.code, "not_authenticated");
  });

  test("an owner can rename an account, and other members cannot", async () => {
    const owner = await signedIn([{ kind: "builder" }, { kind: "host", suspended: true }]);
    const stranger = await signedIn([{ kind: "builder" }]);
    const [mine, closed] = owner.accountIds.map((id) => `/console/api/accounts/${publicId("acc", id)}`) as [
      string,
      string,
    ];
    const body = { name: "New name" };
    const renamed = await owner.browser.send("PATCH", mine, { body });
    assert.equal(renamed.status, 200);
    assert.equal(renamed.body.name, "New name");
    assert.equal((await platform.identities.accountsOf(owner.identityId))[0]?.name, "New name");
    assert.equal((await owner.browser.send("PATCH", mine, { body: { name: "" } })).body.error?.param, "name");
    assert.equal((await owner.browser.send("PATCH", closed, { body })).body.error?.code, "account_suspended");
    for (const url of [mine, "/console/api/accounts/acc_nonsense"]) {
      const answer = await stranger.browser.send("PATCH", url, { body: { name: "Stolen" } });
      assert.equal(answer.status, 404);
      assert.equal(answer.body.error?.code, "not_found");
    }
    assert.equal((await platform.identities.accountsOf(owner.identityId))[0]?.name, "New name");
  });
});

describe("a person's sessions", () => {
  interface Listed {
    id: string;
    current: boolean;
    address: string;
    user_agent: string | null;
  }
  const list = async (browser: Browser) =>
    (await browser.send("GET", "/console/api/sessions")).body.data as unknown as Listed[];

  test("are listed with their location and can be ended one by one", async () => {
    const { email, browser } = await signedIn();
    const other = new Browser(platform);
    const headers = { "sec-fetch-site": "same-origin", "user-agent": "Other browser" };
    const body = { email, password: PASSWORD };
    await other.send("POST", "/console/api/auth/sign-in/email", { body, headers });
    const listed = await list(browser);
    assert.deepEqual(
      listed.map(({ current, address }) => ({ current, address })),
      [
        { current: false, address: other.address },
        { current: true, address: browser.address },
      ],
    );
    assert.equal(listed[0]?.user_agent, "Other browser");
    for (const { id } of listed) assert.match(id, /^ses_[0-9a-z]{26}$/);
    const ended = await browser.send("DELETE", `/console/api/sessions/${listed[0]?.id}`);
    assert.equal(ended.status, 200, ended.text);
    assert.equal((await other.send("GET", "/console/api/me")).status, 401);
    assert.equal((await list(browser)).length, 1);
    const again = await browser.send("DELETE", `/console/api/sessions/${listed[0]?.id}`);
    assert.equal(again.status, 404);
    assert.equal(again.body.error?.code, "not_found");
  });

  test("of the same person can all be ended except the current one", async () => {
    const { email, browser } = await signedIn();
    const others = [new Browser(platform), new Browser(platform)];
    for (const other of others) await other.signIn(email);
    const answer = await browser.send("DELETE", "/console/api/sessions");
    assert.deepEqual(answer.body, { ended: 2 });
    for (const other of others) assert.equal((await other.send("GET", "/console/api/me")).status, 401);
    assert.equal((await browser.send("GET", "/console/api/me")).status, 200);
  });

  test("of another person are neither listed nor ended", async () => {
    const victim = await signedIn();
    const stranger = await signedIn();
    const [theirs] = await list(victim.browser);
    assert.equal((await list(stranger.browser)).length, 1);
    const answer = await stranger.browser.send("DELETE", `/console/api/sessions/${theirs?.id}`);
    assert.equal(answer.status, 404);
    await stranger.browser.send("DELETE", "/console/api/sessions");
    assert.equal((await victim.browser.send("GET", "/console/api/me")).status, 200);
  });

  test("are listed with the current one; ending the current session signs the person out", async () => {
    const { browser, identityId } = await signedIn();
    const [mine] = await list(browser);
    assert.equal((await browser.send("DELETE", `/console/api/sessions/${mine?.id}`)).status, 200);
    assert.equal((await browser.send("GET", "/console/api/me")).status, 401);
    assert.deepEqual(await platform.identities.sessions.of(identityId as Uuid), []);
  });
});
