/** Every page of the builder, in both themes, on a telephone, a small screen and a desk: nothing but trifles for axe, nothing to scroll sideways. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { chat, newDataDir, type Platform, removeDataDir, startPlatform } from "../platform.ts";
import { assertLooksRight, buildConsole, NEEDS_CHROMIUM, openBrowser, openSession } from "./browser.ts";

const OUTSIDE = [
  { path: "/sign-in", heading: "Sign in" },
  { path: "/sign-up", heading: "Create account" },
  { path: "/forgot-password", heading: "Reset password" },
  { path: "/reset-password#token=x", heading: "Set a new password" },
  { path: "/sign-in/code", heading: "Enter your code" },
  { path: "/no-such-page", heading: "Page not found" },
];
const INSIDE = [
  { path: "/overview", heading: "Overview", there: "All requests" },
  { path: "/keys", heading: "API keys", there: "local" },
  { path: "/requests", heading: "Requests", there: "tiny-3b" },
  { path: "/performance", heading: "Performance", there: "Show as table" },
  { path: "/settings", heading: "Settings", there: "Active sessions" },
  { path: "/accounts", heading: "Accounts", there: "Your accounts" },
];
const SCREENS = [
  { width: 360, height: 740 },
  { width: 1024, height: 768 },
  { width: 1440, height: 900 },
];

describe("how the console looks", NEEDS_CHROMIUM, () => {
  let dataDir: string;
  let platform: Platform;

  before(async () => {
    buildConsole();
    dataDir = await newDataDir();
    platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", "tiny-3b"]);
    for (const orders of [{ tokens: 40 }, { fail_after: 5 }]) await (await chat(platform, orders)).text();
  });
  after(async () => {
    await platform?.stop();
    await removeDataDir(dataDir);
  });

  for (const screen of SCREENS) {
    test(`${screen.width} pixels wide, light and dark`, async () => {
      const browser = await openBrowser({ baseUrl: platform.ready.base_url, ...screen });
      const { page } = browser;
      const judge = (where: string): Promise<void> => assertLooksRight(browser, where);
      try {
        for (const { path, heading } of OUTSIDE) {
          await page.goto(`/console${path}`);
          await page.getByRole("heading", { name: heading }).waitFor();
          await judge(path);
        }
        await openSession(page, platform.ready.builder);
        for (const { path, heading, there } of INSIDE) {
          await page.goto(`/console${path}`);
          await page.getByRole("heading", { name: heading, exact: true }).waitFor();
          await page.getByText(there).filter({ visible: true }).first().waitFor();
          await judge(path);
        }
        await page.goto("/console/requests");
        await page.getByRole("table", { name: "Requests" }).getByRole("row").nth(1).click();
        await page.getByRole("heading", { name: "Timeline" }).waitFor();
        await judge("the details of a request");
        await page.goto("/console/keys");
        await page.getByRole("button", { name: "Create key" }).click();
        await page.getByRole("dialog").waitFor();
        await judge("the dialog for a new key");
        await page.keyboard.press("Escape");
        await page
          .getByRole("button", { name: /^Search/ })
          .filter({ visible: true })
          .click();
        await page.getByRole("option", { name: /local/ }).first().waitFor();
        await judge("the command palette");
      } finally {
        await browser.close();
      }
    });
  }

  test("the theme follows the system until somebody chooses, and the choice is remembered", async () => {
    const browser = await openBrowser({ baseUrl: platform.ready.base_url, theme: "dark" });
    const { page } = browser;
    const theme = (): Promise<string | null> => page.locator("html").getAttribute("data-theme");
    try {
      await page.goto("/console/sign-in");
      assert.equal(await theme(), "dark");
      await page.emulateMedia({ colorScheme: "light" });
      await page.locator("html[data-theme=light]").waitFor();
      await page.getByRole("button", { name: "Theme" }).click();
      await page.getByRole("menuitemradio", { name: "Dark" }).click();
      assert.equal(await theme(), "dark");
      await page.reload();
      assert.equal(await theme(), "dark");
      await page.getByRole("button", { name: "Theme" }).click();
      await page.getByRole("menuitemradio", { name: "System" }).click();
      assert.equal(await theme(), "light");
    } finally {
      await browser.close();
    }
  });
});
