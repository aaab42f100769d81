/**
 * Tests the pages of a user who buys credit and hosts a node, as far as the tests in `journeys` do not visit them:
 * purchases, the statement, a node's figures, host tokens.
 */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { sendScriptedChat } from "@tollgate/stage/builder-requests.ts";
import { createDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev-platform.ts";
import { assertBalanced, readBuilderAccount } from "@tollgate/stage/ledger-check.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import type { Page } from "playwright-core";
import {
  type BrowserSession,
  buildConsole,
  NEEDS_CHROMIUM,
  openBrowser,
  openSession,
  waitUntilEqual,
} from "./console-browser.ts";
import { runHostCommand } from "./run-shown-commands.ts";
import { checkVisuals } from "./visual/page-checks.ts";

const DOLLAR = 1_000_000_000_000n;
const CHECKOUT = /\/console\/credits\?purchase=(done|cancelled)&checkout=pay_[0-9a-z]{26}$/;

describe("console pages for credits and nodes", NEEDS_CHROMIUM, () => {
  let dataDir: string;
  let platform: Platform;
  let paymentsUrl: string;
  let browser: BrowserSession;
  let page: Page;

  before(async () => {
    buildConsole();
    dataDir = await createDataDir();
    platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", "tiny-3b", "--payments", "demo"]);
    paymentsUrl = (platform.ready as unknown as { payments_url: string }).payments_url;
    browser = await openBrowser({ baseUrl: platform.ready.gateway_url });
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
    return waitUntilEqual("the available credit", () => figure.innerText(), dollars);
  };

  test("a bank transfer is shown as pending, and then as credit once the money arrives", async () => {
    await buy("$100 of credits");
    await page.getByRole("button", { name: "Pay later by bank transfer" }).click();
    await page.waitForURL(CHECKOUT);
    await page.getByText("Waiting for the payment provider").waitFor();
    assert.equal((await readBuilderAccount(platform)).balance, 5n * DOLLAR);

    const provider = await browser.context.newPage();
    await provider.goto(paymentsUrl);
    const arrives = provider.getByRole("button", { name: "The money arrives" });
    await arrives.click();
    // If the page were closed at once, the payment event would not be sent.
    await arrives.waitFor({ state: "detached" });
    await provider.close();
    await page.getByText(/\$100\.00\d* of credit has been added/).waitFor();
    assert.equal((await readBuilderAccount(platform)).balance, 105n * DOLLAR);
  });

  test("a cancelled purchase charges nothing, and the credits page says so", async () => {
    await buy("$5 of credits");
    await page.getByRole("link", { name: "Cancel and go back" }).click();
    await page.waitForURL(CHECKOUT);
    await page.getByText("Purchase cancelled").waitFor();
    await untilAvailable("$105.00");
    await assertBalanced(platform);
  });

  test("a custom amount shows an error beside its field if it is invalid, and is bought with a receipt if it is valid", async () => {
    await page.goto("/console/credits");
    await page.getByLabel("Other amount ($)").fill("4.99");
    await page.getByRole("button", { name: "Buy this amount" }).click();
    await page.getByText("Enter an amount from $5.00 to $5,000.00, in whole cents.").waitFor();
    await page.getByLabel("Other amount ($)").fill("12.34");
    await page.getByRole("button", { name: "Buy this amount" }).click();
    await page.waitForURL(`${paymentsUrl}/**`);
    await page.getByRole("button", { name: "Pay", exact: true }).click();
    await page.waitForURL(CHECKOUT);
    await page.getByText(/\$12\.34\d* of credit has been added/).waitFor();
    const payments = page.getByRole("table", { name: "Payments" });
    const row = payments.getByRole("row", { name: /Purchase.*paid.*\$12\.34/ });
    const opened = browser.context.waitForEvent("page");
    await row.getByRole("button", { name: /^Receipt for pay_/ }).click();
    const receipt = await opened;
    await receipt.getByText("$12.34", { exact: true }).waitFor();
    await receipt.close();
    assert.equal((await readBuilderAccount(platform)).balance, 117n * DOLLAR + (34n * DOLLAR) / 100n);
  });

  test("a user sets the low-credit alert, sees it and turns it off", async () => {
    await page.goto("/console/credits");
    await page.getByLabel("Alert below ($)").fill("200");
    await page.getByRole("button", { name: "Turn on alert" }).click();
    await page.getByText("below threshold", { exact: true }).waitFor();
    await page.getByLabel("Alert below ($)").fill("2.50");
    await page.getByRole("button", { name: "Save alert" }).click();
    await page.getByText("below threshold", { exact: true }).waitFor({ state: "hidden" });
    await page.reload();
    await waitUntilEqual("the mark", () => page.getByLabel("Alert below ($)").inputValue(), "2.50");
    await page.getByRole("button", { name: "Turn off alert" }).click();
    await page.getByRole("button", { name: "Turn on alert" }).waitFor();
  });

  test("a saved card buys credit automatically and can be removed", async () => {
    await page.goto("/console/credits");
    await page.getByRole("button", { name: "Turn on top-up", disabled: true }).waitFor();
    await page.getByRole("button", { name: "Save a card" }).click();
    await page.waitForURL(`${paymentsUrl}/**`);
    await page.getByRole("button", { name: "Save Visa 4242" }).click();
    await page.waitForURL(/\/console\/credits\?purchase=saved$/);
    await page.getByText("Visa ending in 4242 is saved").waitFor();
    await page.getByLabel("Balance below").fill("130");
    await page.getByLabel("Buy", { exact: true }).fill("25");
    await page.getByLabel("Monthly maximum").fill("20");
    await page.getByRole("button", { name: "Turn on top-up" }).click();
    await page.getByText("Must be at least the amount of one purchase.").waitFor();
    await page.getByLabel("Monthly maximum").fill("40");
    await page.getByRole("button", { name: "Turn on top-up" }).click();
    await page.getByRole("button", { name: "Turn off top-up" }).waitFor();
    await eventually("it was bought", async () => (await readBuilderAccount(platform)).balance > 140n * DOLLAR);
    await page.reload();
    await page.getByRole("row", { name: /Automatic top-up.*paid.*\$25\.00/ }).waitFor();
    await page.getByText("Automatic purchases this month (UTC): $25.00").waitFor();
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByRole("button", { name: "Remove card" }).click();
    await page.getByText("No saved card").waitFor();
    await page.getByRole("button", { name: "Turn on top-up" }).waitFor();
  });

  test("a banner on every page says that the automatic top-up turned itself off, until the user confirms that it stays off", async () => {
    await platform.query("update auto_topup set enabled = false, failure = 'declined', failed_at = now()");
    await page.goto("/console/keys");
    const banner = page.getByRole("alert").filter({ hasText: "Automatic top-up is off" });
    await banner.getByText("The payment provider refused the saved card.").waitFor();
    await banner.getByRole("link", { name: "Fix top-up" }).click();
    await page.waitForURL("**/console/credits");
    await page.getByLabel("Alert below ($)").fill("1");
    await page.getByRole("button", { name: "Turn on alert" }).click();
    const toast = page.getByRole("listitem").filter({ hasText: "Low-credit alert saved" });
    const [above, below] = await Promise.all([toast.boundingBox(), banner.boundingBox()]);
    assert.ok(above !== null && below !== null);
    assert.ok(above.y + above.height <= below.y, "the toast covers nothing of the banner");
    await banner.getByRole("button", { name: "Keep it off" }).click();
    await banner.waitFor({ state: "detached" });
    await page.reload();
    await page.getByText("No saved card").waitFor();
    assert.equal(await banner.count(), 0);
  });

  test("the statement has a row for each day that expands into its requests, can be exported and fits every screen", async () => {
    for (let i = 0; i < 3; i++) await (await sendScriptedChat(platform, { tokens: 40 })).text();
    await page.goto("/console/credits");
    const statement = page.getByRole("table", { name: "Statement" });
    const day = statement.getByRole("button", { expanded: false }).first();
    await page.getByText("3 requests,").waitFor();
    await day.click();
    const requests = page.getByRole("table", { name: /^Requests on \d{4}-/ });
    await requests.getByRole("row").nth(3).waitFor();
    assert.equal(await requests.getByRole("row").count(), 1 + 3);
    const file = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export CSV" }).click();
    assert.equal((await file).suggestedFilename(), "statement.csv");
    const invoice = page.waitForEvent("download");
    await page.getByRole("button", { name: "Invoice" }).click();
    const [month] = await page.getByRole("menuitem").allTextContents();
    await page.getByRole("menuitem").first().click();
    assert.equal(`${(await invoice).suggestedFilename().slice(8, -4)}so far`, month);
    assert.match(await readFile(await (await invoice).path(), "latin1"), /^%PDF-1\.4\n[\s\S]*\(Usage by model\)/);
    await page.getByText("More than a year").waitFor();
    const looked: BrowserSession = { ...browser, complaints: () => [] };
    for (const width of [390, 1024, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      await checkVisuals(looked, `credits, ${width} pixels wide`);
    }
    await requests.getByRole("link", { name: /^req_/ }).first().click();
    await page.getByRole("heading", { name: "Timeline" }).waitFor();
    await assertBalanced(platform);
  });

  test("a node's page shows figures by time range and jobs by outcome; the market page estimates the node's earnings", async () => {
    for (const orders of [{ text: "one two three" }, { fail_after: 0 }])
      await (await sendScriptedChat(platform, orders)).text();
    await page.goto("/console/host");
    await page.getByRole("button", { name: /^local-1/ }).click();
    await page.getByRole("heading", { name: "Activity" }).waitFor();
    const node = page.url().match(/node_\w+/)?.[0] ?? "";
    await eventually("its requests are counted", async () => {
      const [row] = await platform.query<{ requests: string }>(
        "select coalesce(sum(requests), 0)::text as requests from performance_with_parts where scope = 'node' and grain = 'day'",
      );
      return Number(row?.requests) >= 2;
    });
    // Writes one sample of the node, which is enough to show how many slots were used.
    await platform.query("select node_sample(null, 1, array(select id from node), array[1], array[1])");
    await page.reload();
    const figures = page.getByLabel("In the last 24 hours");
    await figures.getByText(/Connected \d+ % of the time/).waitFor();
    await page.getByRole("radio", { name: "7d" }).click();
    await page.waitForURL(/range=7d/);
    await page.getByRole("figure", { name: "Utilisation in the last 7 days" }).waitFor();
    const jobs = page.getByRole("table", { name: "Jobs" });
    await jobs.getByText("upstream_failed").filter({ visible: true }).first().waitFor();
    await page.getByLabel("Outcome").selectOption("ok");
    await page.waitForURL(/outcome=ok/);
    await jobs.getByText("upstream_failed").first().waitFor({ state: "detached" });
    await jobs.getByRole("button").first().click();
    const job = page.getByRole("dialog", { name: "Job" });
    await job.getByText("Completed.").waitFor();
    await job.getByText(/req_\w{26}/).waitFor();
    const [paid] = await platform.query<{ dollars: string }>(
      "select trim_scale(host_pico / 1e12)::text as dollars from request where outcome = 'ok' order by id desc limit 1",
    );
    // All amounts of the dialog have the same number of decimals, so this one may end in zeros.
    await job.getByText(new RegExp(`^\\$${RegExp.escape(paid?.dollars ?? "")}0*$`)).waitFor();
    await page.keyboard.press("Escape");
    await page.goto(`/console/host/market?node=${node}`);
    const market = page.getByRole("table", { name: "Market" });
    await market
      .getByRole("row", { name: /tiny-3b chosen/ })
      .getByText(/^\$0\.\d+/)
      .first()
      .waitFor();
    await page.getByText("Actual earnings are lower").waitFor();
  });

  test("tollgate-host login refuses a revoked token", async () => {
    await page.goto("/console/host/tokens");
    await page.getByRole("button", { name: "Create token" }).first().click();
    await page.getByRole("dialog").getByLabel("Name").fill("barn");
    await page.getByRole("dialog").getByRole("button", { name: "Create token" }).click();
    const token = await page.getByTestId("secret").innerText();
    await page.getByRole("button", { name: /^I saved the/ }).click();
    const logIn = async (): Promise<number | null> =>
      (await runHostCommand(platform, `tollgate-host login --gateway ${platform.ready.gateway_url}`, token)).code;
    assert.equal(await logIn(), 0);
    await page.getByRole("button", { name: "Revoke barn" }).click();
    await page.getByRole("button", { name: "Revoke token" }).click();
    await page.getByText("Revoked (1)").waitFor();
    await eventually("the token is refused", async () => (await logIn()) === 1);
  });

  test("no page requests anything from another origin, except the payment provider's pages", () => {
    const { origin } = new URL(paymentsUrl);
    // The demo provider has no icon, which browsers request automatically.
    const expected = new RegExp(`^request to ${origin}$|404`);
    assert.deepEqual(
      browser.complaints().filter((said) => !expected.test(said)),
      [],
    );
  });
});
