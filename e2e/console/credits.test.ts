/** Credits in a browser: bought, looked after and accounted for, with the payment provider's stand-in on this machine. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { eventually } from "@tollgate/stage/wait.ts";
import type { Page } from "playwright-core";
import { assertBalanced, builder } from "../ledger-check.ts";
import { chat, newDataDir, type Platform, removeDataDir, startPlatform } from "../platform.ts";
import {
  assertLooksRight,
  type BrowserSession,
  buildConsole,
  NEEDS_CHROMIUM,
  openBrowser,
  openSession,
  untilIs,
} from "./browser.ts";

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
    platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", "tiny-3b", "--payments", "demo"]);
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
  const untilAvailable = (dollars: string): Promise<void> => {
    const figure = page.getByLabel("Credit", { exact: true }).getByRole("definition").first();
    return untilIs("the available credit", () => figure.innerText(), dollars);
  };

  test("paid at once: back at the console with the credit on the statement", async () => {
    await page.goto("/console/credits");
    await page.getByText("credit of a development platform").filter({ visible: true }).waitFor();
    await untilAvailable("$5.00");
    await buy("$20 of credits");
    await page.getByRole("button", { name: "Pay", exact: true }).click();
    await page.waitForURL(CHECKOUT);
    await page.getByText("$20.00 of credit has been added").waitFor();
    await page.getByRole("row", { name: /purchase.*\+\$20\.00/ }).waitFor();
    await untilAvailable("$25.00");
    assert.equal((await builder(platform)).balance, 25n * DOLLAR);
    await page.getByRole("button", { name: "Dismiss" }).click();
    await page.waitForURL(/\/console\/credits$/);
    await page.getByText("has been added").waitFor({ state: "detached" });
  });

  test("promised: the page waits, and shows the money when it arrives", async () => {
    await buy("$100 of credits");
    await page.getByRole("button", { name: "Pay later by bank transfer" }).click();
    await page.waitForURL(CHECKOUT);
    await page.getByText("Waiting for the payment provider").waitFor();
    assert.equal((await builder(platform)).balance, 25n * DOLLAR);

    const provider = await browser.context.newPage();
    await provider.goto(paymentsUrl);
    const arrives = provider.getByRole("button", { name: "The money arrives" });
    await arrives.click();
    // Closed before it is sent, nothing would arrive.
    await arrives.waitFor({ state: "detached" });
    await provider.close();
    await page.getByText("$100.00 of credit has been added").waitFor();
    assert.equal((await builder(platform)).balance, 125n * DOLLAR);
  });

  test("cancelled: nothing was charged, and the page says so", async () => {
    await buy("$5 of credits");
    await page.getByRole("link", { name: "Cancel and go back" }).click();
    await page.waitForURL(CHECKOUT);
    await page.getByText("The purchase was cancelled").waitFor();
    await untilAvailable("$125.00");
    await assertBalanced(platform);
  });

  test("an amount of one's own: refused beside its field, then bought, with a receipt", async () => {
    await page.goto("/console/credits");
    await page.getByLabel("Another amount, in dollars").fill("4.99");
    await page.getByRole("button", { name: "Buy this amount" }).click();
    await page.getByText("Dollars and cents, from $5.00 to $5,000.00.").waitFor();
    await page.getByLabel("Another amount, in dollars").fill("12.34");
    await page.getByRole("button", { name: "Buy this amount" }).click();
    await page.waitForURL(`${paymentsUrl}/**`);
    await page.getByRole("button", { name: "Pay", exact: true }).click();
    await page.waitForURL(CHECKOUT);
    await page.getByText("$12.34 of credit has been added").waitFor();
    const payments = page.getByRole("table", { name: "Payments" });
    const row = payments.getByRole("row", { name: /Purchase.*paid.*\$12\.34/ });
    const opened = browser.context.waitForEvent("page");
    await row.getByRole("button", { name: /^Receipt of pay_/ }).click();
    const receipt = await opened;
    await receipt.getByText("$12.34", { exact: true }).waitFor();
    await receipt.close();
    assert.equal((await builder(platform)).balance, 137n * DOLLAR + (34n * DOLLAR) / 100n);
  });

  test("the low-credit alert is set, shown and turned off", async () => {
    await page.goto("/console/credits");
    await page.getByLabel("Alert below, in dollars").fill("200");
    await page.getByRole("button", { name: "Turn on alert" }).click();
    await page.getByText("below the mark", { exact: true }).waitFor();
    await page.getByLabel("Alert below, in dollars").fill("2.50");
    await page.getByRole("button", { name: "Save alert" }).click();
    await page.getByText("below the mark", { exact: true }).waitFor({ state: "hidden" });
    await page.reload();
    await untilIs("the mark", () => page.getByLabel("Alert below, in dollars").inputValue(), "2.50");
    await page.getByRole("button", { name: "Turn off alert" }).click();
    await page.getByRole("button", { name: "Turn on alert" }).waitFor();
  });

  test("a card is saved, buys by itself, and is removed", async () => {
    await page.goto("/console/credits");
    await page.getByRole("button", { name: "Turn on top-up", disabled: true }).waitFor();
    await page.getByRole("button", { name: "Save a card" }).click();
    await page.waitForURL(`${paymentsUrl}/**`);
    await page.getByRole("button", { name: "Save Visa 4242" }).click();
    await page.waitForURL(/\/console\/credits\?purchase=saved$/);
    await page.getByText("Visa ending in 4242 is saved").waitFor();
    await page.getByLabel("Balance below").fill("150");
    await page.getByLabel("Buy", { exact: true }).fill("25");
    await page.getByLabel("Monthly maximum").fill("20");
    await page.getByRole("button", { name: "Turn on top-up" }).click();
    await page.getByText("At least what is bought at a time.").waitFor();
    await page.getByLabel("Monthly maximum").fill("40");
    await page.getByRole("button", { name: "Turn on top-up" }).click();
    await page.getByRole("button", { name: "Turn off top-up" }).waitFor();
    await eventually("it was bought", async () => (await builder(platform)).balance > 160n * DOLLAR);
    await page.reload();
    await page.getByRole("row", { name: /Automatic top-up.*paid.*\$25\.00/ }).waitFor();
    await page.getByText("Bought by itself this month, in UTC: $25.00").waitFor();
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByRole("button", { name: "Remove card" }).click();
    await page.getByText("No card is saved").waitFor();
    await page.getByRole("button", { name: "Turn on top-up" }).waitFor();
  });

  test("the statement has a row for the day, which unfolds into its requests; it is exported, and looks right", async () => {
    for (let i = 0; i < 3; i++) await (await chat(platform, { tokens: 40 })).text();
    await page.goto("/console/credits");
    const statement = page.getByRole("table", { name: "Statement" });
    const day = statement.getByRole("button", { expanded: false }).first();
    await page.getByText("3 requests,").waitFor();
    await day.click();
    const requests = page.getByRole("table", { name: /^Requests of \d{4}-/ });
    await requests.getByRole("row").nth(3).waitFor();
    assert.equal(await requests.getByRole("row").count(), 1 + 3);
    const file = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export CSV" }).click();
    assert.equal((await file).suggestedFilename(), "statement.csv");
    await page.getByText("More than a year").waitFor();
    const looked: BrowserSession = { ...browser, complaints: () => [] };
    for (const width of [390, 1024, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      await assertLooksRight(looked, `credits, ${width} pixels wide`);
    }
    await requests.getByRole("link", { name: /^req_/ }).first().click();
    await page.getByRole("heading", { name: "Timeline" }).waitFor();
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
