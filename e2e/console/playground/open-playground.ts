/** For the tests of the playground: one platform whose node answers as instructed, and one browser on the page. */

import { sendScriptedChat } from "@tollgate/stage/builder-requests.ts";
import { createDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev-platform.ts";
import type { Page } from "playwright-core";
import { type BrowserSession, buildConsole, openBrowser, openSession } from "../console-browser.ts";
import { Playground } from "../playground-page.ts";

export interface OpenPlayground {
  platform: Platform;
  browser: BrowserSession;
  page: Page;
  playground: Playground;
  /** Everything in the browser's storage, as JSON. */
  kept(): Promise<string>;
}

/** Opens the page, and gives each closing function to `after`, also if a later step fails. */
export async function openPlayground(after: (close: () => Promise<void>) => void): Promise<OpenPlayground> {
  buildConsole();
  const dataDir = await createDataDir();
  after(() => removeDataDir(dataDir));
  const platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", "tiny-3b,reason-32b"]);
  after(async () => void (await platform.stop()));
  const browser = await openBrowser({ baseUrl: platform.ready.gateway_url });
  after(() => browser.close());
  const { page } = browser;
  await openSession(page, platform.ready.builder);
  // Sends one request first, because tests wait for a record newer than the last one.
  await (await sendScriptedChat(platform, { tokens: 5 })).text();
  await page.goto("/console/playground?model=reason-32b");
  const kept = async (): Promise<string> =>
    String(await page.evaluate("JSON.stringify({ ...sessionStorage, ...localStorage })"));
  return { platform, browser, page, playground: new Playground(page), kept };
}
