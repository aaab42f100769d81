/** The tests of the playground's key, of the end of its session, and of users who have no credit. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { Platform } from "@tollgate/stage/dev-platform.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import type { Page } from "playwright-core";
import { ConsoleClient } from "../../console-client.ts";
import { type BrowserSession, endSession, openBrowser, signIn, waitUntilEqual } from "../console-browser.ts";
import { type Playground, scriptMessage } from "../playground-page.ts";
import type { OpenPlayground } from "./open-playground.ts";

export function testKeysAndSessions(open: () => OpenPlayground): void {
  let platform: Platform;
  let browser: BrowserSession;
  let page: Page;
  let playground: Playground;
  let kept: OpenPlayground["kept"];
  before(() => {
    ({ platform, browser, page, playground, kept } = open());
  });

  let keyId: string;
  const signInHere = async (who: { email: string; password: string }): Promise<void> => {
    await page.getByLabel("Email").fill(who.email);
    await page.getByLabel("Password", { exact: true }).fill(who.password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor({ state: "detached" });
  };
  const statusWith = async (key: string): Promise<number> => {
    const url = `${platform.ready.gateway_url}/v1/models`;
    const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
    await response.body?.cancel();
    return response.status;
  };

  test("the playground's key is not in the list of keys and is replaced on reload; its rate limit shows a retry time", async () => {
    const issuedAfterReload = async (): Promise<{ id: string; secret: string }> => {
      const issued = page.waitForResponse("**/console/api/playground/key");
      await page.reload();
      await playground.say(scriptMessage({ text: "again" }));
      const key = await (await issued).json();
      await playground.untilEnded();
      return key;
    };
    const first = await issuedAfterReload();
    const second = await issuedAfterReload();
    assert.equal(second.id, first.id, "one for each session and account");
    assert.equal(await statusWith(first.secret), 401, "replaced");
    assert.equal(await statusWith(second.secret), 200);
    keyId = second.id;
    const builder = await new ConsoleClient(platform).signIn(platform.ready.builder);
    const { data: keys } = await builder.get<{ data: { id: string; name: string }[] }>("keys");
    assert.deepEqual(
      keys.filter(({ id, name }) => id === keyId || name === "Playground"),
      [],
    );
    const operator = await new ConsoleClient(platform).signIn(platform.ready.operator);
    // The limit is zero. With a higher limit, a new minute might begin and allow the request.
    const limits = { requests_per_minute: 0, tokens_per_minute: null, in_flight: null };
    await operator.send("PUT", `operator/keys/${keyId}/limits`, limits);
    await playground.say(scriptMessage({ text: "too soon" }));
    await page.getByText(/Playground rate limit reached\. Try again in \d+ seconds?\./).waitFor();
    await page.getByText("Nothing was billed").waitFor();
    await operator.send("PUT", `operator/keys/${keyId}/limits`, { ...limits, requests_per_minute: null });
  });

  test("on the requests page, the filter key:playground finds the requests of all playground sessions", async () => {
    await page.goto("/console/requests");
    const table = page.getByRole("table", { name: "Requests" });
    const own = table.getByRole("row").filter({ hasNotText: "Playground" });
    const headers = 1;
    await table.waitFor();
    await page.getByRole("combobox", { name: "Filter" }).fill("key:playground");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/console/requests?q=key%3Aplayground");
    await eventually("its requests are there, and no other key's", async () => {
      const [others, all] = [await own.count(), await table.getByRole("row").count()];
      return others === headers && all > headers;
    });
    const builder = await new ConsoleClient(platform).signIn(platform.ready.builder);
    const count = async (query: string): Promise<number> =>
      (await builder.get<{ requests: number }>(`requests/totals${query}`)).requests;
    const [all, one, every] = await Promise.all([count(""), count(`?key=${keyId}`), count("?key=playground")]);
    assert.ok(every >= one && one > 0 && all > every, `${all}, ${one}, ${every}`);
    await page.goto("/console/performance?by=key&range=1h");
    const keys = page.getByRole("table", { name: "Performance by key" });
    await keys.getByRole("button", { name: "Playground" }).waitFor();
    assert.equal(await keys.getByRole("button", { name: "Playground" }).count(), 1, "one row for all of its keys");
    assert.equal(await keys.getByText("key_").count(), 0);
    await keys.getByRole("button", { name: "Playground" }).click();
    await page.waitForURL("**/console/performance?*key=playground*");
    await waitUntilEqual("the key", () => page.getByLabel("Key", { exact: true }).inputValue(), "playground");
    await page.goto("/console/playground");
    assert.deepEqual(
      browser.complaints().filter((said) => !/429/.test(said)),
      [],
    );
  });

  test("the conversation is kept when the session ends, but only for the same user", async () => {
    await playground.clear();
    await playground.say(scriptMessage({ text: "between us" }));
    await playground.untilEnded();
    browser.complaints();
    await endSession(browser);
    await page.goto("/console/playground");
    await signInHere(platform.ready.builder);
    await playground.answer.getByText("between us").waitFor();
    await endSession(browser);
    await page.goto("/console/playground");
    await signInHere(platform.ready.operator);
    await page.getByRole("navigation", { name: "Console" }).waitFor();
    assert.doesNotMatch(await kept(), /between us/);
    await endSession(browser);
    await page.goto("/console/playground");
    await signInHere(platform.ready.builder);
    await page.getByText("No messages yet").waitFor();
    browser.complaints();
  });

  test("signing out revokes the playground's temporary key, and deletes the conversation from the browser", async () => {
    const issued = page.waitForResponse("**/console/api/playground/key");
    await playground.say(scriptMessage({ text: "the last word" }));
    const { secret } = (await (await issued).json()) as { secret: string };
    await playground.answer.getByText("the last word").waitFor();
    assert.equal(await statusWith(secret), 200);
    // Requests in flight during sign-out get a 401 before sign-out is answered.
    await page.route("**/console/api/auth/sign-out", async (route) => {
      const left = await route.fetch();
      const asked = page.waitForResponse("**/console/api/auth/get-session");
      await page.evaluate("dispatchEvent(new Event('visibilitychange'))");
      await (await asked).finished();
      await route.fulfill({ response: left });
    });
    await page.getByRole("button", { name: /Accounts and settings/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.unroute("**/console/api/auth/sign-out");
    assert.deepEqual([new URL(page.url()).pathname, new URL(page.url()).search], ["/console/sign-in", ""]);
    await eventually("the key is dead", async () => (await statusWith(secret)) === 401);
    assert.doesNotMatch(await kept(), /the last word|tsk_live_/);
    // The browser itself logs these 401s.
    assert.deepEqual(
      browser.complaints().filter((said) => !/401/.test(said)),
      [],
    );
  });

  test("the credits page says that purchases are not available on this platform", async () => {
    await signIn(page, platform.ready.builder);
    await page.goto("/console/credits");
    await page.getByText("Purchases are not available").waitFor();
    await page.getByText("credit of a development platform").filter({ visible: true }).waitFor();
    // The browser logs the 404 itself.
    assert.deepEqual(
      browser.complaints().filter((said) => !/404/.test(said)),
      [],
    );
  });

  test("a user without credit sees a notice before the first message, and the API's error after sending one", async () => {
    const poor = await openBrowser({ baseUrl: platform.ready.gateway_url });
    try {
      await poor.page.goto("/console/sign-up");
      await poor.page.getByLabel("Your name").fill("Poor Tom");
      await poor.page.getByLabel("Email").fill("tom@example.com");
      await poor.page.getByLabel("Password", { exact: true }).fill("a long enough password");
      await poor.page.getByRole("button", { name: "Create account" }).click();
      await poor.page.getByLabel("Name").fill("Tom's");
      await poor.page.getByRole("button", { name: "Create builder account" }).click();
      await poor.page.getByRole("link", { name: "Playground" }).click();
      await poor.page.getByText(/has no available credit$/).waitFor();
      await poor.page.getByText("Messages are refused until credit is added.", { exact: true }).waitFor();
      const way = poor.page.getByRole("link", { name: "Add credit" });
      assert.equal(await way.getAttribute("href"), "/console/credits");
      await poor.page.getByLabel("Message", { exact: true }).fill("Hello?");
      await poor.page.keyboard.press("Enter");
      await poor.page.getByText("You have no credit left.").waitFor();
      await poor.page.getByText("insufficient_credits").waitFor();
      await poor.page.getByText("Nothing was billed").waitFor();
      await poor.page.getByRole("alert").getByRole("link", { name: "Credits" }).click();
      await poor.page.getByRole("heading", { name: "Credits", exact: true }).waitFor();
    } finally {
      await poor.close();
    }
  });
}
