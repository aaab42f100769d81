import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ACCOUNT_HEADER } from "@tollgate/api/guards.ts";
import { publicId, type Uuid } from "../base/ids.ts";
import { Browser } from "../routes/testing/browser.ts";
import { makeTestHttpOptions } from "../routes/testing/http-options.ts";
import { openTestPlatform, type TestPlatform } from "../routes/testing/platform.ts";
import { consoleGuards } from "./guards.ts";
import { createServerWithoutRoutes } from "./server.ts";
import { answerUnknownPaths } from "./unknown-paths.ts";

/** A server with one route behind each guard, and the test platform's identities. */
let platform: TestPlatform;
let app: TestPlatform["app"];
before(async () => {
  platform = await openTestPlatform();
  app = createServerWithoutRoutes(makeTestHttpOptions());
  const finish = answerUnknownPaths(app);
  const guards = consoleGuards({ identities: platform.identities, publicUrl: undefined });
  for (const name of ["anyone", "signedIn", "operator"] as const) {
    app.get(`/console/api/${name}`, async ({ call }) => {
      await guards[name](call);
      return { passed: true };
    });
  }
  for (const name of ["builder", "buyer", "host"] as const) {
    app.route({
      method: ["GET", "POST"],
      url: `/console/api/${name}`,
      handler: async ({ call }) => ({ account: (await guards[name](call)).account.name }),
    });
  }
  finish();
});
after(async () => {
  await app.close();
  await platform.close();
});

const GUARDS = ["anyone", "signedIn", "builder", "buyer", "host", "operator"] as const;
type Outcome = Record<(typeof GUARDS)[number], string>;
type Accounts = Parameters<TestPlatform["person"]>[0];

const builder = { kind: "builder" } as const;
const host = { kind: "host" } as const;
const suspended = { suspended: true };

const ROWS: { who: string; accounts?: Accounts; operator?: boolean; outcome: Outcome }[] = [
  {
    who: "nobody",
    outcome: {
      anyone: "passes",
      signedIn: "not_authenticated",
      builder: "not_authenticated",
      buyer: "not_authenticated",
      host: "not_authenticated",
      operator: "not_authenticated",
    },
  },
  {
    who: "a person without accounts",
    accounts: [],
    outcome: {
      anyone: "passes",
      signedIn: "passes",
      builder: "no_account",
      buyer: "no_account",
      host: "no_account",
      operator: "operator_only",
    },
  },
  {
    who: "an operator without accounts",
    accounts: [],
    operator: true,
    outcome: {
      anyone: "passes",
      signedIn: "passes",
      builder: "member_only",
      buyer: "member_only",
      host: "host_only",
      operator: "passes",
    },
  },
  {
    who: "a builder",
    accounts: [builder],
    outcome: {
      anyone: "passes",
      signedIn: "passes",
      builder: "passes",
      buyer: "passes",
      host: "host_only",
      operator: "operator_only",
    },
  },
  {
    who: "a host",
    accounts: [host],
    outcome: {
      anyone: "passes",
      signedIn: "passes",
      builder: "member_only",
      buyer: "not_a_builder",
      host: "passes",
      operator: "operator_only",
    },
  },
  {
    who: "a host whose builder account is suspended",
    accounts: [{ ...builder, ...suspended }, host],
    outcome: {
      anyone: "passes",
      signedIn: "passes",
      builder: "member_only",
      buyer: "not_a_builder",
      host: "passes",
      operator: "operator_only",
    },
  },
  {
    who: "a person whose accounts are all suspended",
    accounts: [
      { ...builder, ...suspended },
      { ...host, ...suspended },
    ],
    outcome: {
      anyone: "passes",
      signedIn: "passes",
      builder: "account_suspended",
      buyer: "account_suspended",
      host: "account_suspended",
      operator: "operator_only",
    },
  },
];

async function browserOf(accounts: Accounts | undefined, operator: boolean) {
  const browser = new Browser({ app });
  if (accounts === undefined) return { browser, accountIds: [] };
  const person = await platform.person(accounts, { operator });
  const signIn = new Browser(platform);
  await signIn.signIn(person.email);
  for (const [name, value] of signIn.cookies) browser.cookies.set(name, value);
  return { browser, accountIds: person.accountIds };
}

for (const { who, accounts, operator = false, outcome } of ROWS) {
  test(`each guard passes ${who} to the handler`, async () => {
    const { browser } = await browserOf(accounts, operator);
    for (const guard of GUARDS) {
      const { status, body } = await browser.send("GET", `/console/api/${guard}`);
      assert.equal(status === 200 ? "passes" : body.error?.code, outcome[guard], guard);
      if (status !== 200) assert.equal(status, outcome[guard] === "not_authenticated" ? 401 : 403);
    }
  });
}

test("a header selects the account, and is required for identities with several accounts", async () => {
  const { browser, accountIds } = await browserOf([builder, builder, host, { ...host, ...suspended }], false);
  const stranger = await platform.person([builder]);
  const [first, second, farm, closed] = accountIds.map((id) => publicId("acc", id));
  const theirs = publicId("acc", stranger.accountIds[0] as Uuid);
  await platform.pool.query("update account set name = 'Second' where id = $1", [accountIds[1]]);
  const ask = async (guard: string, named?: string) => {
    const headers = { "sec-fetch-site": "same-origin", ...(named !== undefined && { [ACCOUNT_HEADER]: named }) };
    const { status, body } = await browser.send("GET", `/console/api/${guard}`, { headers });
    return status === 200 ? body.account : (body.error?.code ?? `${status} ${body.error?.param}`);
  };
  assert.equal(await ask("builder"), "400 x-tollgate-account");
  assert.equal(await ask("builder", first), "A builder");
  assert.equal(await ask("builder", second), "Second");
  assert.equal(await ask("buyer", second), "Second");
  assert.equal(await ask("builder", farm), "member_only");
  assert.equal(await ask("buyer", farm), "not_a_builder");
  assert.equal(await ask("host"), "A host");
  assert.equal(await ask("host", first), "host_only");
  assert.equal(await ask("host", closed), "account_suspended");
  for (const named of [theirs, publicId("acc", platform.newId()), "acc_nonsense", ""]) {
    assert.equal(await ask("builder", named), "400 x-tollgate-account", named);
  }
});

test("a request from another site is refused before its session is read", async () => {
  const { browser } = await browserOf(undefined, false);
  const answer = await browser.send("POST", "/console/api/builder", { headers: { origin: "http://evil.test" } });
  assert.equal(answer.body.error?.code, "cross_site_blocked");
  const ours = await browser.send("POST", "/console/api/builder");
  assert.equal(ours.body.error?.code, "not_authenticated");
});

test("a 405 lists all allowed methods of a path", async () => {
  const { browser } = await browserOf(undefined, false);
  const answer = await browser.send("DELETE", "/console/api/builder");
  assert.equal(answer.status, 405);
  assert.equal(answer.headers.allow, "GET, POST");
});
