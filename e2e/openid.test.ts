/**
 * Signs in through unmodified OpenID providers and their own pages: `oidc-provider`, which returns email address and
 * name only from UserInfo, and Dex, which includes them in the ID token.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { createDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev-platform.ts";
import { findFreePort } from "@tollgate/stage/killable-process.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { explainSkipWithout } from "../tools/third-party-programs.ts";
import { ConsoleClient } from "./console-client.ts";
import {
  OPENID_CLIENT,
  OPENID_USER_PASSWORD,
  type OpenIdProviderServer,
  openDex,
  openOidcProvider,
} from "./outside/openid-provider.ts";
import { ThirdPartySiteBrowser } from "./outside/third-party-browser.ts";

interface Refusal {
  msg: string;
  provider: string;
  outcome: string;
  reason: string;
}

let dataDir: string;
let platform: Platform;
const peers: Record<string, OpenIdProviderServer> = {};
const skipWithoutDex = explainSkipWithout("dex");

before(async () => {
  dataDir = await createDataDir();
  const port = await findFreePort();
  const origin = `http://127.0.0.1:${port}`;
  const at = (id: string): string => `${origin}/console/api/auth/callback/${id}`;
  peers.library = await openOidcProvider([at("library")], {
    ada: { email: "ada@example.com", email_verified: true, name: "Ada Lovelace" },
    unproven: { email: "unproven@example.com", email_verified: false, name: "Unproven" },
    nameless: {},
  });
  if (skipWithoutDex === false) {
    peers.dex = await openDex(
      [at("dex"), at("stranger")],
      [
        { email: "grace@example.com", username: "grace" },
        { email: "doubtful@example.com", username: "doubtful", emailVerified: false },
      ],
    );
    peers.stranger = peers.dex;
  }
  const providers = Object.entries(peers).map(([id, { issuer }]) => ({ id, name: id, issuer, ...OPENID_CLIENT }));
  const withMistake = providers.map((it) => (it.id === "stranger" ? { ...it, client_secret: "not the secret" } : it));
  const env = { PUBLIC_URL: origin, OIDC_PROVIDERS: JSON.stringify(withMistake) };
  platform = await startPlatform(dataDir, ["--no-node", "--port", String(port)], env);
});
// The tests sign in from one IP address more often than the limit per minute allows.
beforeEach(() => platform.query("delete from identity_attempt"));
after(async () => {
  await platform?.stop();
  for (const peer of new Set(Object.values(peers))) await peer.close();
  await removeDataDir(dataDir);
});

/** Starts a sign-in at the console and signs in at the provider. Returns the URL to which the provider redirects. */
async function visit(client: ConsoleClient, provider: string, login: string): Promise<URL> {
  const { url } = await client.send<{ url: string }>("POST", "auth/sign-in/openid", { provider });
  const visitor = new ThirdPartySiteBrowser();
  const isBack = ({ origin }: URL): boolean => origin === platform.ready.gateway_url;
  let page = await visitor.open(url, isBack);
  // Fills in the provider's sign-in page and, at some providers, the consent page.
  for (let step = 0; step < 3 && !isBack(page.url); step++) {
    if (login === "nobody") {
      const abort = /href="([^"]*\/abort)"/.exec(page.html)?.[1] ?? assert.fail(`no way to refuse:\n${page.html}`);
      page = await visitor.open(new URL(abort, page.url), isBack);
    } else page = await visitor.submit(page, { login, password: OPENID_USER_PASSWORD }, isBack);
  }
  assert.ok(isBack(page.url), `still at ${page.url}:\n${page.html}`);
  return page.url;
}

/** Opens the provider's redirect at the console. Returns the page to which the console redirects. */
async function comeBack(client: ConsoleClient, url: URL): Promise<string> {
  const response = await fetch(url, {
    redirect: "manual",
    headers: { cookie: client.cookie, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" },
  });
  assert.equal(response.status, 302, await response.text());
  client.keep(response);
  return response.headers.get("location") as string;
}

const log = (): Promise<string> => readFile(join(dataDir, "gateway.log"), "utf8");
const refusals = async (): Promise<Refusal[]> =>
  (await log())
    .split("\n")
    .filter((line) => line.includes("OpenID sign-in refused"))
    .map((line) => JSON.parse(line));

/** Asserts that the sign-in is refused with this code, and that the log has the reason. */
async function assertRefused(client: ConsoleClient, url: URL, word: string, reason: RegExp): Promise<void> {
  assert.equal(await comeBack(client, url), `/console/?sign_in=${word}`);
  const isTold = async (): Promise<boolean> => {
    const last = (await refusals()).at(-1);
    return last?.outcome === word && reason.test(last.reason);
  };
  await eventually(`the log says ${word} because of ${reason}`, isTold);
  assert.equal((await client.ask("GET", "me")).status, 401);
}

async function assertIn(client: ConsoleClient, url: URL, who: { email: string; name: string }): Promise<void> {
  assert.equal(await comeBack(client, url), "/console/");
  const { identity } = await client.get<{ identity: Record<string, unknown> }>("me");
  const { email, name, email_verified } = identity;
  assert.deepEqual({ email, name, email_verified }, { ...who, email_verified: true });
}

describe("the gateway with an unmodified oidc-provider", () => {
  test("signs a person in with data from UserInfo, and finds the same identity again the next time", async () => {
    for (let i = 0; i < 2; i++) {
      const client = new ConsoleClient(platform);
      const url = await visit(client, "library", "ada");
      await assertIn(client, url, { email: "ada@example.com", name: "Ada Lovelace" });
    }
    const [count] = await platform.query("select count(*)::int from identity where email = 'ada@example.com'");
    assert.deepEqual(count, { count: 1 });
  });

  for (const [login, word, reason] of [
    ["unproven", "email_not_verified", /^email_verified is false$/],
    ["nameless", "email_missing", /^neither the ID token nor UserInfo has an email$/],
    ["nobody", "provider_refused", /^access_denied$/],
  ] as const) {
    test(`refuses the sign-in ${login} with the code ${word}`, async () => {
      const client = new ConsoleClient(platform);
      await assertRefused(client, await visit(client, "library", login), word, reason);
    });
  }

  test("refuses a callback that is repeated, and a callback that has only a code", async () => {
    const client = new ConsoleClient(platform);
    const url = await visit(client, "library", "ada");
    await assertRefused(new ConsoleClient(platform), url, "expired", /^state_mismatch$/);
    await assertIn(client, url, { email: "ada@example.com", name: "Ada Lovelace" });
    await client.send("POST", "auth/sign-out");
    await assertRefused(client, url, "expired", /^state_mismatch$/);
  });
});

describe("the gateway with Dex as OpenID provider", { skip: skipWithoutDex }, () => {
  test("signs a person in with data from the ID token", async () => {
    const client = new ConsoleClient(platform);
    const url = await visit(client, "dex", "grace@example.com");
    await assertIn(client, url, { email: "grace@example.com", name: "grace" });
  });

  test("refuses an unverified email address", async () => {
    const client = new ConsoleClient(platform);
    const url = await visit(client, "dex", "doubtful@example.com");
    await assertRefused(client, url, "email_not_verified", /^email_verified is false$/);
  });

  test("refuses the sign-in if the gateway's client secret is wrong, and logs the provider's error", async () => {
    const client = new ConsoleClient(platform);
    const url = await visit(client, "stranger", "grace@example.com");
    await assertRefused(client, url, "failed", /\/dex\/token answered 401 invalid_client$/);
  });

  test("shows an error to a person whose sign-in is interrupted because Dex is killed", async () => {
    const client = new ConsoleClient(platform);
    const url = await visit(client, "dex", "grace@example.com");
    await peers.dex?.close();
    await assertRefused(client, url, "provider_unavailable", /^request to .*\/dex\/token failed: ECONNREFUSED$/);
    const begun = await new ConsoleClient(platform).ask("POST", "auth/sign-in/openid", { provider: "dex" });
    assert.equal(begun.status, 200, "where it is has been asked before");
  });
});

test("no provider's secret or code is in the log", async () => {
  assert.ok((await refusals()).length > 0);
  for (const secret of [OPENID_CLIENT.client_secret, "not the secret", "code=", "eyJ"]) {
    assert.ok(!`${await log()}${platform.output()}`.includes(secret), secret);
  }
});
