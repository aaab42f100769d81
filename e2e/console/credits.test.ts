/** Buying credits in a browser, with the payment provider's stand-in on this machine. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { assertBalanced, builder } from "../ledger-check.ts";
import { newDataDir, type Platform, removeDataDir, startPlatform } from "../platform.ts";
import { type BrowserSession, buildConsole, NEEDS_CHROMIUM, openBrowser, openSession } from "./browser.ts";

const DOLLAR = 1_000_000_000_000n;
const CHECKOUT = /\/console\/credits\?purchase=(done|cancelled)&checkout=pay_[0-9a-z]{26}$/;

describe("buying credits", NEEDS_CHROMIUM, () => {
  let dataDir: string;
  let platform: Platform;
  let paymentsUrl: string;
  let browser: BrowserSession;
  let page: Page;

  before(async () => {
    buildConsole();
    dataDir = await newDataDir();
    platform = await startPlatform(dataDir, ["--no-node", "--payments", "demo"]);
    paymentsUrl = (platform.ready as unknown as { payments_url: string }).payments_url;
    browser = await openBrowser({ baseUrl: platform.ready.base_url });
    page = browser.page;
    await openSession(page, platform.ready.builder);
  });
  after(async () => {
    await browser?.close();
    await platform?.stop();
    await removeDataDir(dataDir);
  });

  const buy = async (pack: string): Promise<void> => {
    await page.goto("/console/credits");
    await page.getByRole("button", { name: `Buy ${pack}`, exact: true }).click();
    await page.waitForURL(`${paymentsUrl}/**`);
  };
  const available = (): Promise<string> =>
    page.getByLabel("Credit", { exact: true }).getByRole("definition").first().innerText();

  test("paid at once: back at the console with the credit on the statement", async () => {
    await page.goto("/console/credits");
    await page.getByText("credit of a development platform").filter({ visible: true }).waitFor();
    assert.equal(await available(), "$5.00");
    await buy("$20 of credits");
    await page.getByRole("button", { name: "Pay", exact: true }).click();
    await page.waitForURL(CHECKOUT);
    await page.getByText("$20.00 of credit has been added").waitFor();
    await page.getByRole("row", { name: /purchase.*\+\$20\.00/ }).waitFor();
    assert.equal(await available(), "$25.00");
    assert.equal((await builder(platform)).balance, 25n * DOLLAR);
    await page.getByRole("button", { name: "Dismiss" }).click();
    await page.waitForURL(/\/console\/credits$/);
    assert.equal(await page.getByText("has been added").count(), 0);
  });

  test("promised: the page waits, and shows the money when it arrives", async () => {
    await buy("$100 of credits");
    await page.getByRole("button", { name: "Pay later by bank transfer" }).click();
    await page.waitForURL(CHECKOUT);
    await page.getByText("Waiting for the payment provider").waitFor();
    assert.equal((await builder(platform)).balance, 25n * DOLLAR);

    const provider = await browser.context.newPage();
    await provider.goto(paymentsUrl);
    await provider.getByRole("button", { name: "The money arrives" }).click();
    await provider.close();
    await page.getByText("$100.00 of credit has been added").waitFor();
    assert.equal((await builder(platform)).balance, 125n * DOLLAR);
  });

  test("cancelled: nothing was charged, and the page says so", async () => {
    await buy("$5 of credits");
    await page.getByRole("link", { name: "Cancel and go back" }).click();
    await page.waitForURL(CHECKOUT);
    await page.getByText("The purchase was cancelled").waitFor();
    assert.equal(await available(), "$125.00");
    await assertBalanced(platform);
  });

  test("only the provider's own pages were ever asked for elsewhere", () => {
    const { origin } = new URL(paymentsUrl);
    // The stand-in has no icon, which browsers ask for by themselves.
    const expected = new RegExp(`^request to ${origin}$|404`);
    assert.deepEqual(
      browser.complaints().filter((said) => !expected.test(said)),
      [],
    );
  });
});
