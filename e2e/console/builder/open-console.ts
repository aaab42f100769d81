/** For the tests of the builder's console: one platform and one browser, in which the user Ada is signed in. */
import assert from "node:assert/strict";
import { createDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev-platform.ts";
import type { Locator, Page } from "playwright-core";
import { ConsoleClient } from "../../console-client.ts";
import { type BrowserSession, buildConsole, openBrowser, openSession } from "../console-browser.ts";
import { grantCreditAsOperator } from "../find-account-and-grant-credit.ts";

export const ADA_SIGN_IN = { email: "ada@example.com", password: "a long enough password" };
const SECRET = /tsk_live_\w{12}_\w{43}/;

export interface BuilderConsole {
  platform: Platform;
  browser: BrowserSession;
  page: Page;
  /** The secret of Ada's only key. */
  firstKey: string;
  credit(dollars: string): Locator;
  untilSearch(search: string): Promise<void>;
  actFor(account: string): Promise<void>;
  /** Returns the secret that the dialog shows only once, and closes the dialog. */
  shownSecret(): Promise<string>;
  /** Returns the page's complaints without the browser's own log lines about a refusal with this status. */
  complaintsBut(status: number): string[];
  ask(key: string, model: string, content?: string): Promise<Response>;
  /** Sends a chat with this key, as a client would. Returns the request's ID. */
  chat(key: string, content: string): Promise<string>;
}

/** Opens the console, and gives each closing function to `after`, also if a later step fails. */
export async function openBuilderConsole(after: (close: () => Promise<void>) => void): Promise<BuilderConsole> {
  buildConsole();
  const dataDir = await createDataDir();
  after(() => removeDataDir(dataDir));
  const platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", "tiny-3b"], {
    STATUS_SAMPLE_S: "1",
  });
  after(async () => void (await platform.stop()));
  const ask = (key: string, model: string, content = "Hello"): Promise<Response> =>
    fetch(`${platform.ready.gateway_url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model, messages: [{ role: "user", content }], max_tokens: 50 }),
    });
  const chat = async (key: string, content: string): Promise<string> => {
    const response = await ask(key, "tiny-3b", content);
    assert.equal(response.status, 200, await response.clone().text());
    const { id } = (await response.json()) as { id: string };
    return id.replace("chatcmpl-", "req_");
  };
  const firstKey = await startWithOneRequest(platform, chat);
  const browser = await openBrowser({ baseUrl: platform.ready.gateway_url });
  after(() => browser.close());
  const { page } = browser;
  await openSession(page, ADA_SIGN_IN);
  return {
    platform,
    browser,
    page,
    firstKey,
    credit: (dollars) => page.getByRole("definition").filter({ hasText: dollars }).first(),
    untilSearch: (search) => page.waitForURL((url) => url.search === search),
    async actFor(account) {
      const button = page.getByRole("button", { name: /Accounts and settings/ });
      await button.click();
      await page.getByRole("menuitemradio", { name: account }).click();
      // When a menu closes, the focus returns to its button a moment later. If another menu were opened before, this
      // would close it.
      await button.and(page.locator(":focus")).waitFor();
    },
    async shownSecret() {
      await page.getByText("Copy it now").waitFor();
      const secret = SECRET.exec(await page.getByRole("dialog", { name: "Your new key" }).innerText())?.[0];
      assert.ok(secret !== undefined, "the secret is shown");
      await page.getByRole("button", { name: /^I saved the/ }).click();
      return secret;
    },
    complaintsBut: (status) => browser.complaints().filter((said) => !said.includes(`status of ${status}`)),
    ask,
    chat,
  };
}

/** Creates the user Ada with an account that has credit, a key and one request. Returns the key. */
async function startWithOneRequest(platform: Platform, chat: BuilderConsole["chat"]): Promise<string> {
  const ada = new ConsoleClient(platform);
  await ada.send("POST", "auth/sign-up/email", { ...ADA_SIGN_IN, name: "Ada" });
  await ada.send("POST", "accounts", { kind: "builder", name: "Analytical engines" });
  const operator = await new ConsoleClient(platform).signIn(platform.ready.operator);
  await grantCreditAsOperator(operator, "Analytical engines", 2);
  const { secret } = await ada.send<{ secret: string }>("POST", "keys", { name: "first key" });
  await chat(secret, "Hello");
  return secret;
}
