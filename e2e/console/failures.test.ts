/** Tests the console in failures: the API fails or is unreachable, a URL is invalid, a session or an account ends. */

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { sendScriptedChat } from "@tollgate/stage/builder-requests.ts";
import { createDataDir, isAlive, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev-platform.ts";
import type { Locator, Page } from "playwright-core";
import { ConsoleClient } from "../console-client.ts";
import {
  type BrowserSession,
  buildConsole,
  endSession,
  NEEDS_CHROMIUM,
  openBrowser,
  signIn,
  waitUntilEqual,
} from "./console-browser.ts";
import { findAccount } from "./find-account-and-grant-credit.ts";

const FLAGS = ["--engine", "scripted", "--models", "tiny-3b"];

describe("the console when something fails", NEEDS_CHROMIUM, () => {
  let dataDir: string;
  let platform: Platform;
  let operator: ConsoleClient;
  let browser: BrowserSession;
  let page: Page;

  before(async () => {
    buildConsole();
    dataDir = await createDataDir();
    platform = await startPlatform(dataDir, FLAGS);
    operator = await new ConsoleClient(platform).signIn(platform.ready.operator);
    await (await sendScriptedChat(platform, { tokens: 5 })).text();
    browser = await openBrowser({ baseUrl: platform.ready.gateway_url });
    page = browser.page;
  });
  /** Each test begins with a running platform and a signed-in builder, because a failed test may leave any state. */
  beforeEach(async () => {
    if (!isAlive(platform.ready.pids.gateway)) await startAgain();
    await browser.context.setOffline(false);
    await page.unrouteAll();
    // The tests sign in from one IP address more often than the limit per minute allows.
    await platform.query("delete from identity_attempt");
    const { email } = platform.ready.builder;
    const session = await page.request.get("/console/api/auth/get-session");
    if ((await session.text()).includes(email)) return;
    await endSession(browser);
    await signIn(page, platform.ready.builder);
  });
  after(async () => {
    await browser?.close();
    await platform?.stop();
    await removeDataDir(dataDir);
  });

  const startAgain = async (): Promise<void> => {
    const { port } = new URL(platform.ready.gateway_url);
    await platform.ended;
    platform = await startPlatform(dataDir, [...FLAGS, "--port", port]);
  };
  const alert = (words: string | RegExp) => page.getByRole("alert").filter({ hasText: words });
  /** Clicks an element if it still exists: the page may navigate by itself meanwhile. */
  const clickIfThere = (target: Locator): Promise<void> =>
    target.evaluateAll((found) => {
      for (const one of found) (one as unknown as { click: () => void }).click();
    });
  /** Makes requests to this path fail with this status until the returned function is called. */
  const failing = async (path: string, status: number): Promise<() => Promise<void>> => {
    const body = JSON.stringify({ error: { message: "The books are being moved.", type: "server_error" } });
    await page.route(path, (route) => route.fulfill({ status, contentType: "application/json", body }));
    return () => page.unroute(path);
  };

  test("a part of a page that cannot be loaded shows an error, can be retried, and does not affect other parts", async () => {
    const mended = await failing("**/console/api/usage?by=day*", 500);
    await page.goto("/console/overview");
    await alert("The books are being moved.").first().waitFor();
    await page.getByLabel("At a glance").getByText("$4.99").first().waitFor();
    await page.getByRole("table", { name: "Latest requests" }).waitFor();
    await mended();
    await page.getByRole("button", { name: "Try again: Spend today" }).click();
    await page.getByText(/requests? since midnight UTC/).waitFor();
    assert.equal(await page.getByRole("alert").filter({ hasText: /\w/ }).count(), 0);

    const open = await failing("**/console/api/keys?*", 503);
    await page.goto("/console/keys");
    await alert("The books are being moved.").waitFor();
    await open();
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("table", { name: "API keys" }).waitFor();
  });

  test("a failed start of the console can be retried", async () => {
    const mended = await failing("**/console/api/auth/get-session", 500);
    await page.goto("/console/keys");
    await alert("The books are being moved.").waitFor();
    await mended();
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("table", { name: "API keys" }).waitFor();
  });

  test("without a network, a change fails at once with a message, and the input stays in the form", async () => {
    await page.goto("/console/keys");
    await page.getByRole("table", { name: "API keys" }).waitFor();
    await browser.context.setOffline(true);
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByLabel("Name").fill("offline");
    await page.keyboard.press("Enter");
    await alert("The gateway did not respond.").waitFor();
    await browser.context.setOffline(false);
    await page.keyboard.press("Enter");
    await page.getByText("Copy it now").waitFor();
    await page.getByRole("button", { name: /^I saved the/ }).click();
  });

  test("an invalid URL is explained, and its filters can be cleared", async () => {
    for (const [query, words] of [
      // The filter field reports these errors itself, without a request.
      ["outcome=%00", "outcomes are ok, "],
      ["key=nope", "no key of this account has this name"],
      ["q=colour:red", "colour:red: filters are model, key, "],
      ["q=cost%3Efree", "cost>free: use dollars"],
      // The API refuses these values.
      ["from=nonsense", '"from" must be a time'],
      ["to=2026-99-99", '"to" must be a time'],
      ["model=unknown", "No model in the catalogue has this ID"],
    ] as const) {
      await page.goto(`/console/requests?${query}`);
      await alert(words).waitFor();
      await page.getByRole("button", { name: "Clear filters" }).click();
      await page.getByRole("table", { name: "Requests" }).waitFor();
      await waitUntilEqual("the address", async () => new URL(page.url()).search, "");
      assert.equal(await alert(/\w/).count(), 0);
    }
    await page.goto("/console/requests?request=req_01m7fb0r62f9aajmpvfeyyxtaf");
    await page.getByRole("dialog").getByText("No request in your history has this ID.").waitFor();
    await page.goto("/console/host/nodes/node_01m7fb0r62f9aajmpvfeyyxtaf");
    await alert("No node has this ID").waitFor();
    await page.getByRole("heading", { level: 1 }).waitFor();
  });

  test("a change after the session has ended leads to the sign-in page and back", async () => {
    await page.goto("/console/requests?outcome=ok");
    await page.getByRole("table", { name: "Requests" }).waitFor();
    // Ends the session only when the export is requested. The page reloads periodically, and would notice an earlier
    // end.
    await page.route("**/console/api/requests.csv*", async (route) => {
      await browser.context.clearCookies();
      await route.continue();
    });
    const refused = page.waitForResponse("**/console/api/requests.csv*");
    await page.getByRole("button", { name: "Export CSV" }).click();
    assert.equal((await refused).status(), 401);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    assert.equal(new URL(page.url()).searchParams.get("next"), "/requests?q=outcome%3Aok");
  });

  test("after another user has signed in in a second tab, the first tab shows nothing of the first user", async () => {
    // `own` finds texts that no page of an operator contains. The builder's account name is not among them, because an
    // operator's page may show it.
    const { email } = platform.ready.builder;
    const own = page
      .getByText(email)
      .or(page.getByRole("heading", { name: "Your accounts" }))
      .or(page.getByRole("navigation", { name: "Console" }).getByRole("link", { name: "API keys" }));
    await page.goto("/console/accounts");
    await page.getByRole("heading", { name: "Your accounts" }).waitFor();
    await waitUntilEqual("what is the builder's own", () => own.count(), 3);
    // The first tab's own requests wait meanwhile: one that finds no session would open the sign-in page.
    const { promise: signedIn, resolve: signsIn } = Promise.withResolvers<void>();
    await page.route("**/console/api/**", (route) => signedIn.then(() => route.continue()));
    const other = await browser.context.newPage();
    await other.goto("/console/settings");
    await other.getByRole("button", { name: /Accounts and settings/ }).click();
    await other.getByRole("menuitem", { name: "Sign out" }).click();
    await other.getByRole("heading", { name: "Sign in" }).waitFor();
    await signIn(other, platform.ready.operator);
    await other.close();
    signsIn();
    // Sends the event that a browser sends when the user returns to the tab; a headless browser does not.
    await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
    await page.getByRole("heading", { name: "Platform", exact: true }).waitFor();
    await page.getByRole("button", { name: /Accounts and settings for Local operator/ }).waitFor();
    await waitUntilEqual("what is the builder's own", () => own.count(), 0);
  });

  test("if an account is suspended while its page is open, the console switches to a remaining account, with a message", async (t) => {
    const { id } = await findAccount(operator, "Local builder");
    await page.goto("/console/overview");
    await page.getByRole("table", { name: "Latest requests" }).waitFor();
    await operator.send("POST", `operator/accounts/${id}/suspend`, { reason: "a journey of the console" });
    t.after(async () => {
      await operator.ask("POST", `operator/accounts/${id}/restore`, { reason: "a journey of the console" });
    });
    await clickIfThere(page.getByRole("link", { name: "Credits", exact: true }));
    await page.getByText("One of your accounts is suspended").waitFor();
    const navigation = page.getByRole("navigation", { name: "Console" });
    await navigation.getByRole("link", { name: "Overview" }).waitFor({ state: "detached" });
    await navigation.getByRole("link", { name: "Nodes" }).waitFor();
    await operator.send("POST", `operator/accounts/${id}/restore`, { reason: "a journey of the console" });
    await page.goto("/console/overview");
    await page.getByRole("table", { name: "Latest requests" }).waitFor();
  });

  test("while the gateway is unreachable, the open page stays and says so, other pages open, and the console recovers by itself", async () => {
    const running = page.getByRole("definition").filter({ hasText: /^(Live|Connecting…)$/ });
    const banner = page.getByRole("status").filter({ hasText: /Gateway unreachable since \d\d:\d\d:\d\d/ });
    const latest = page.getByRole("table", { name: "Latest requests" });
    const go = (name: string): Promise<void> =>
      page.getByRole("navigation", { name: "Console" }).getByRole("link", { name, exact: true }).click();
    await page.goto("/console/overview");
    await running.getByText("Live").waitFor();
    assert.equal(await banner.count(), 0);
    // Waits until the service worker has cached the console's frame (its HTML).
    await page.evaluate("navigator.serviceWorker.ready.then(() => undefined)");
    await platform.kill();
    await running.getByText("Connecting…").waitFor();
    await banner.filter({ hasText: /showing data from \d\d:\d\d:\d\d/ }).waitFor();
    await latest.waitFor();
    // A page that was not opened before: its code is cached, but its data is not.
    await go("Credits");
    await page.getByRole("heading", { name: "Credits", exact: true }).waitFor();
    await alert("The gateway did not respond.").first().waitFor();
    await go("Overview");
    await latest.waitFor();
    await page.reload();
    await banner.filter({ hasText: "no data loaded yet" }).waitFor();
    await page.getByRole("heading", { name: "Overview", exact: true }).waitFor();
    await go("API keys");
    await page.getByRole("heading", { name: "API keys", exact: true }).waitFor();
    await page.getByRole("button", { name: "Retry now" }).click();
    await banner.waitFor();
    await go("Overview");

    await startAgain();
    await banner.waitFor({ state: "detached" });
    await running.getByText("Live").waitFor();
    const requests = latest.locator("tbody tr");
    await requests.first().waitFor();
    assert.equal(await requests.count(), 1);
    await (await sendScriptedChat(platform, { tokens: 5 })).text();
    await requests.nth(1).waitFor();
    const kept: string[] = await page.evaluate(`(async () => {
      const names = await caches.keys();
      const requests = await Promise.all(names.map(async (name) => (await caches.open(name)).keys()));
      return requests.flat().map(({ url }) => new URL(url).pathname);
    })()`);
    assert.ok(kept.includes("/console/"), "the page is kept");
    assert.deepEqual(
      kept.filter((path) => path.startsWith("/console/api/")),
      [],
      "no answer of the API is",
    );
  });

  test("an error from the proxy in front of the gateway counts as an unreachable gateway, not as an error of the page", async () => {
    await page.goto("/console/keys");
    await page.getByRole("table", { name: "API keys" }).waitFor();
    await page.route("**/console/api/**", (route) =>
      route.fulfill({ status: 502, contentType: "text/html", body: "<h1>Bad gateway</h1>" }),
    );
    await page.getByRole("navigation", { name: "Console" }).getByRole("link", { name: "Models", exact: true }).click();
    const banner = page.getByText(/Gateway unreachable since/);
    await banner.waitFor();
    await page.unroute("**/console/api/**");
    await clickIfThere(page.getByRole("button", { name: "Retry now" }));
    await banner.waitFor({ state: "detached" });
    await page.getByRole("table", { name: "Models" }).waitFor();
  });

  test("during the failures of this suite, the browser logs no errors other than refused and failed requests", () => {
    const expected =
      /Failed to load resource|ERR_|^error: ApiFault: The books are being moved|status of (401|403|404|400|422|50\d)/;
    assert.deepEqual(
      browser.complaints().filter((said) => !expected.test(said)),
      [],
    );
  });
});
