/** An operator at the browser: the platform as it runs, accounts, payouts, the books, and the record of it all. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { assertBalanced, host } from "../ledger-check.ts";
import { chat, eventually, newDataDir, type Platform, removeDataDir, startPlatform } from "../platform.ts";
import { type BrowserSession, buildConsole, NEEDS_CHROMIUM, openBrowser, openSession } from "./browser.ts";

describe("an operator's console", NEEDS_CHROMIUM, () => {
  let dataDir: string;
  let platform: Platform;
  let browser: BrowserSession;
  let page: Page;

  before(async () => {
    buildConsole();
    dataDir = await newDataDir();
    platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", "tiny-3b"]);
    browser = await openBrowser({ baseUrl: platform.ready.base_url });
    page = browser.page;
    await openSession(page, platform.ready.operator);
  });
  after(async () => {
    await browser?.close();
    await platform?.stop();
    await removeDataDir(dataDir);
  });

  test("the platform's page is live: a request under way is seen, and the room that it takes", async () => {
    await page.goto("/console/operator");
    await page.getByText("live", { exact: true }).waitFor();
    const over = new AbortController();
    const slow = chat(platform, { tokens: 200, delta_ms: 100 }, { stream: true }, over.signal);
    await page.getByRole("row", { name: /tiny-3b.*1 of \d+ busy/ }).waitFor();
    const now = page.getByRole("term").filter({ hasText: "Requests in flight" }).locator("xpath=../dd");
    await now.getByText("1", { exact: true }).waitFor();
    over.abort();
    await slow.catch(() => undefined);
    await now.getByText("0", { exact: true }).waitFor();
  });

  test("accounts: found, granted with a reason, suspended and restored, a key's limits set", async () => {
    await page.goto("/console/operator/accounts");
    await page.getByRole("searchbox", { name: "Search accounts" }).fill("local build");
    await page.waitForURL(/q=local/);
    await page.getByRole("button", { name: /^Local builder/ }).click();
    await page.getByRole("button", { name: "Grant credit" }).click();
    const grant = page.getByRole("dialog", { name: "Grant credit to Local builder" });
    await grant.getByLabel("Amount in dollars").fill("12.50");
    await grant.getByLabel("Reason").fill("a thank you");
    await grant.getByRole("button", { name: "Grant", exact: true }).click();
    await page.getByText("Granted $12.50 to Local builder").first().waitFor();

    await page.getByRole("button", { name: "Limits of local" }).click();
    await page.getByLabel("Requests per minute").fill("7");
    await page.getByRole("button", { name: "Set limits" }).click();
    await page.getByText("7 requests/min").waitFor();
    // The other limits stayed the defaults, and an emptied field goes back to its default.
    await page.getByRole("button", { name: "Limits of local" }).click();
    const requests = page.getByLabel("Requests per minute");
    assert.deepEqual(
      [await requests.inputValue(), await page.getByLabel("Concurrent requests").inputValue()],
      ["7", ""],
    );
    assert.equal(await requests.getAttribute("placeholder"), "600 (default)");
    await requests.fill("");
    await page.getByRole("button", { name: "Set limits" }).click();
    await page.getByText("600 requests/min").waitFor();

    for (const [verb, state, status] of [
      ["Suspend", "suspended", 401],
      ["Restore", "active", 200],
    ] as const) {
      await page.getByRole("button", { name: verb, exact: true }).click();
      const dialog = page.getByRole("dialog", { name: `${verb} Local builder?` });
      await dialog.getByLabel("Reason").fill("a check");
      await dialog.getByRole("button", { name: verb, exact: true }).click();
      await page.getByRole("dialog", { name: "Local builder" }).getByText(state, { exact: true }).waitFor();
      await eventually(`the key is answered ${status}`, async () => (await chat(platform, {})).status === status);
    }
  });

  test("nodes are found by name and state, in the address too", async () => {
    await page.goto("/console/operator/nodes?state=online");
    await page.getByRole("button", { name: /^local-1/ }).waitFor();
    await page.getByRole("searchbox", { name: "Search nodes" }).fill("no such node");
    await page.waitForURL(/q=no/);
    await page.getByRole("button", { name: /^local-1/ }).waitFor({ state: "detached" });
    await page.goto("/console/operator/nodes?q=LOCAL");
    await page.getByRole("button", { name: /^local-1/ }).waitFor();
  });

  test("hosts are paid: a payout is made, exported, and marked paid; the books balance; all of it is on record", async () => {
    await page.goto("/console/operator/payouts");
    await page.getByRole("button", { name: "Create payout" }).first().click();
    await page.getByLabel("Note").fill("November");
    await page.getByRole("dialog").getByRole("button", { name: "Create payout" }).click();
    const drawer = page.getByRole("dialog", { name: "Payout" });
    await drawer.getByText("Local host").waitFor();
    const owed = (await host(platform)).balance;
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      drawer.getByRole("button", { name: "Export CSV" }).click(),
    ]);
    assert.match(
      await readFile(await download.path(), "utf8"),
      /^payout,account,name,owners,amount_micro,held_back_micro,set_off_micro\r\npay_\w+,acc_/,
    );
    await drawer.getByRole("button", { name: "Mark as paid" }).click();
    await page
      .getByRole("dialog", { name: "Mark this payout as paid?" })
      .getByRole("button", { name: "Mark as paid" })
      .click();
    await drawer.getByText("paid", { exact: true }).waitFor();
    assert.ok(owed > 0n);
    assert.equal((await host(platform)).balance, 0n);

    // The page's address before it was renamed leads to it.
    await page.goto("/console/operator/books");
    await page.waitForURL("**/console/operator/ledger");
    await page.getByText("The ledger balances").waitFor();
    await page.goto("/console/operator/audit");
    for (const act of [
      "Marked a payout as paid",
      "Created a payout",
      "Suspended an account",
      "Set a key's limits",
      "Granted credit",
    ]) {
      await page.getByText(act).first().waitFor();
    }
    await page.getByText("$12.50, a thank you").filter({ visible: true }).waitFor();
    await assertBalanced(platform);
  });

  test("no page complained", () => {
    assert.deepEqual(browser.complaints(), []);
  });
});
