/**
 * An operator's journey in the browser: the live platform, accounts, quarantined nodes, payouts, the ledger and the
 * audit log.
 */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { keepModelBusy, sendScriptedChat } from "@tollgate/stage/builder-requests.ts";
import { createDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev-platform.ts";
import { assertBalanced, readHostAccount, waitUntilRolledUp } from "@tollgate/stage/ledger-check.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import type { Page } from "playwright-core";
import {
  type BrowserSession,
  buildConsole,
  countClicks,
  NEEDS_CHROMIUM,
  openBrowser,
  openSecondUser,
  openSession,
  signIn,
  triggerReload,
  waitUntilEqual,
} from "../console-browser.ts";

describe("an operator's journey", NEEDS_CHROMIUM, () => {
  let dataDir: string;
  let platform: Platform;
  let browser: BrowserSession;
  let page: Page;
  let hostBrowser: BrowserSession;
  let hostPage: Page;
  let clicks: () => number;

  before(async () => {
    buildConsole();
    dataDir = await createDataDir();
    platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", "tiny-3b"], {
      PROBATION_ANSWERS: "1",
    });
    const { gateway_url: baseUrl, operator, builder } = platform.ready;
    browser = await openBrowser({ baseUrl, still: true });
    page = browser.page;
    await openSession(page, operator);
    ({ clicks } = await countClicks(page));
    hostBrowser = await openSecondUser(browser, { baseUrl, still: true });
    hostPage = hostBrowser.page;
    await hostPage.clock.install();
    await openSession(hostPage, builder);
  });
  after(async () => {
    await hostBrowser?.close();
    await browser?.close();
    await platform?.stop();
    await removeDataDir(dataDir);
  });

  /** Follows a link in the navigation, without reloading the console. */
  const open = (name: string, from: Page = page): Promise<void> =>
    from.getByRole("navigation", { name: "Console" }).getByRole("link", { name, exact: true }).click();
  const closeDrawer = (): Promise<void> => page.getByRole("dialog").getByRole("button", { name: "Close" }).click();

  test("an operator signs in with 1 click, reads whether the platform serves, and ticks off a step of the set-up with 1 more", async (t) => {
    const { operator, gateway_url: baseUrl } = platform.ready;
    const { page: own, close } = await openSecondUser(browser, { baseUrl, still: true });
    t.after(close);
    const { clicks: ownClicks } = await countClicks(own);
    await signIn(own, operator);
    await own.getByRole("status", { name: "Verdict" }).getByText("Serving").waitFor();
    const steps = own.getByRole("list", { name: "Set-up" });
    const hrefs = await steps.getByRole("link").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
    assert.ok(hrefs.length >= 4, `steps: ${hrefs}`);
    for (const href of hrefs) assert.equal((await own.request.get(href ?? "")).status(), 200, `${href}`);
    const tick = steps.getByRole("checkbox", { name: "Back up the database: done" });
    await tick.click();
    await own.getByText(/^\d of 6 done$/).waitFor();
    assert.equal(ownClicks(), 2, "clicks from the sign-in page to a step that is done");
    await own.reload();
    await tick.and(own.locator(":checked")).waitFor();
  });

  test("the platform page shows a request in flight and its used slot without a reload", async () => {
    await page.goto("/console/operator");
    await page.getByText("live", { exact: true }).waitFor();
    await page.getByRole("status", { name: "Verdict" }).getByText("Serving").waitFor();
    const stop = await keepModelBusy(platform, "tiny-3b");
    await page.getByRole("row", { name: /tiny-3b.*1 of \d+ busy/ }).waitFor();
    const now = page.getByRole("term").filter({ hasText: "Requests in flight" }).locator("xpath=../dd");
    await now.getByText("1", { exact: true }).waitFor();
    await stop();
    await now.getByText("0", { exact: true }).waitFor();
  });

  test("the platform page shows four charts and the traffic of the time range in the URL, and runs a ledger check", async () => {
    await waitUntilRolledUp(platform);
    await page.goto("/console/operator?range=1h");
    const traffic = page.getByRole("table", { name: "Traffic by model" });
    await traffic.getByRole("row", { name: /tiny-3b/ }).waitFor();
    for (const name of ["Request rate", "Errors", "First token, p95", "Slots in use"]) {
      await page.getByRole("figure", { name: `${name} in the last hour` }).waitFor();
    }
    await page.getByText(/Busy slots of all nodes: \d+ of \d+\./).waitFor();
    await page
      .getByRole("button", { name: "7d" })
      .or(page.getByRole("radio", { name: "7d" }))
      .first()
      .click();
    await page.waitForURL(/range=7d/);
    await page.getByRole("figure", { name: "Errors in the last 7 days" }).waitFor();
    await page.reload();
    await page.getByRole("figure", { name: "Errors in the last 7 days" }).waitFor();
    await page.getByText("The ledger has not been checked yet").waitFor();
    await page.getByRole("button", { name: "Check now" }).click();
    await page.getByText(`by ${platform.ready.operator.email}`).waitFor();
    await page.getByText("The ledger balances").waitFor();
  });

  test("an operator finds a builder's request by its ID with 1 click, and the look-up is in the audit log", async () => {
    const before = clicks();
    const response = await sendScriptedChat(platform, { tokens: 5 });
    const [, suffix = ""] = /"id":"chatcmpl-(\w+)"/.exec(await response.text()) ?? [];
    await open("Find a request");
    await page.getByRole("searchbox", { name: "Find a request by ID" }).fill(`chatcmpl-${suffix}`);
    await page.getByText(`req_${suffix}`, { exact: true }).first().waitFor();
    assert.equal(clicks() - before, 1);
    await page
      .getByRole("table", { name: "Ledger" })
      .getByRole("row", { name: /Platform's share/ })
      .waitFor();
    await open("Audit log");
    await page.getByText("looked up the request").first().waitFor();
  });

  test("an operator finds an account, grants it credit, limits a key, suspends and restores it", async () => {
    await open("Accounts");
    await page.getByRole("searchbox", { name: "Search accounts" }).fill("local build");
    await page.waitForURL(/q=local/);
    await page.getByRole("button", { name: /^Local builder/ }).click();
    await page.getByRole("button", { name: "Grant credit" }).click();
    const grant = page.getByRole("dialog", { name: "Grant credit to Local builder" });
    await grant.getByLabel("Amount ($)").fill("12.50");
    await grant.getByLabel("Reason").fill("a thank you");
    await grant.getByRole("button", { name: "Grant", exact: true }).click();
    await page.getByText("Granted $12.50 to Local builder").first().waitFor();

    await page.getByRole("button", { name: "Limits of local" }).click();
    await page.getByLabel("Requests per minute").fill("7");
    await page.getByRole("button", { name: "Save limits" }).click();
    await page.getByText("7 requests/min").waitFor();
    // The limits that were not changed keep their defaults, and an emptied field returns to its default.
    await page.getByRole("button", { name: "Limits of local" }).click();
    const requests = page.getByLabel("Requests per minute");
    await waitUntilEqual("the limits", () => requests.inputValue(), "7");
    assert.equal(await page.getByLabel("Concurrent requests").inputValue(), "");
    assert.equal(await requests.getAttribute("placeholder"), "600 (default)");
    await requests.fill("");
    await page.getByRole("button", { name: "Save limits" }).click();
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
      await eventually(
        `the key is answered ${status}`,
        async () => (await sendScriptedChat(platform, {})).status === status,
      );
    }
  });

  test("an account's page shows its activity, statement, keys, team and audit log", async () => {
    await closeDrawer();
    await page.getByRole("link", { name: "Page of Local builder" }).click();
    await page.waitForURL(/operator\/accounts\/acc_/);
    await page.getByRole("heading", { name: "Local builder" }).waitFor();
    await page.getByRole("figure", { name: "Spend in the last 30 days" }).waitFor();
    await page.getByRole("row", { name: /grant.*a thank you.*\+\$12\.50/ }).waitFor();
    await page.getByRole("row", { name: /UTC.*usage/ }).waitFor();
    await page.getByRole("list", { name: "API keys" }).getByText("local").first().waitFor();
    await page.getByRole("list", { name: "Team" }).getByText(platform.ready.builder.email).waitFor();
    const acts = page.getByRole("list", { name: "Audit log" });
    await acts.getByText(/granted \$12\.50 to/).waitFor();
    await acts
      .getByText(/set the limits of the key/)
      .first()
      .waitFor();
    await page.getByRole("button", { name: "Grant credit" }).click();
    const grant = page.getByRole("dialog", { name: "Grant credit to Local builder" });
    await grant.getByLabel("Amount ($)").fill("1");
    await grant.getByLabel("Reason").fill("from its page");
    await grant.getByRole("button", { name: "Grant", exact: true }).click();
    await acts.getByText(/granted \$1\.00 to/).waitFor();
    await page.getByRole("row", { name: /from its page/ }).waitFor();

    await page.goto("/console/operator/accounts?kind=host");
    await page.getByRole("button", { name: /^Local host/ }).click();
    await page.getByRole("link", { name: /^Account page/ }).click();
    await page.getByRole("figure", { name: "Earnings in the last 30 days" }).waitFor();
    await page.getByRole("button", { name: /^local-1/ }).waitFor();
    await page.getByText("No payouts yet").waitFor();
  });

  test("the list of nodes can be searched by name and state, and the search is in the URL", async () => {
    await page.goto("/console/operator/nodes?state=online");
    await page.getByRole("button", { name: /^local-1/ }).waitFor();
    await page.getByRole("searchbox", { name: "Search nodes" }).fill("no such node");
    await page.waitForURL(/q=no/);
    await page.getByRole("button", { name: /^local-1/ }).waitFor({ state: "detached" });
    await page.goto("/console/operator/nodes?q=LOCAL");
    await page.getByRole("button", { name: /^local-1/ }).waitFor();
  });

  test("an operator quarantines a node with 3 clicks: it serves no requests, and its host sees the reason", async () => {
    const before = clicks();
    await page.getByRole("button", { name: /^local-1/ }).click();
    await page.getByRole("button", { name: "Quarantine" }).click();
    const dialog = page.getByRole("dialog", { name: "Quarantine local-1?" });
    await dialog.getByLabel("Reason").fill("odd answers");
    await dialog.getByRole("button", { name: "Quarantine" }).click();
    await page.getByText("Quarantined by an operator: odd answers").first().waitFor();
    assert.equal(clicks() - before, 3);
    const refused = await sendScriptedChat(platform, { text: "nobody" });
    assert.equal(refused.status, 503, await refused.text());
    await hostPage.goto("/console/host");
    await hostPage.getByText("local-1 is quarantined").waitFor();
    await hostPage.getByText("Quarantined by an operator: odd answers").waitFor();
    await hostPage.getByRole("link", { name: "Open local-1" }).click();
    await hostPage.getByText("Contact the platform's operators.").waitFor();
    await hostPage.getByRole("button", { name: "Resume" }).waitFor({ state: "detached" });
  });

  test("a new node of a host with a quarantined node receives no requests until an operator clears it", async () => {
    const registered = await fetch(`${platform.ready.gateway_url}/node/v1/nodes`, {
      method: "POST",
      headers: { authorization: `Bearer ${platform.ready.host_token}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "shed" }),
    });
    assert.equal(registered.status, 200);
    await open("Nodes", hostPage);
    await triggerReload(hostPage);
    await hostPage.getByText("shed receives no requests").waitFor();
    await closeDrawer();
    await open("All nodes");
    await page.getByRole("button", { name: /^shed/ }).click();
    await page.getByText("This node was registered while another node of the same host was quarantined.").waitFor();
    await page.getByRole("button", { name: "Clear node" }).click();
    await page.getByText("shed is cleared", { exact: true }).waitFor();
    await page.getByText("shed receives no requests").waitFor({ state: "detached" });
    await triggerReload(hostPage);
    await hostPage.getByText("shed receives no requests").waitFor({ state: "detached" });
    await hostPage.getByRole("link", { name: "Open local-1" }).click();
    await closeDrawer();
    await page.getByRole("button", { name: /^local-1/ }).click();
  });

  test("a node that is released from quarantine is paused, and serves again once its host resumes it", async () => {
    await page.getByRole("button", { name: "Release" }).click();
    await page.getByRole("dialog", { name: "Release local-1?" }).getByRole("button", { name: "Release" }).click();
    await page.getByText("The node receives no requests until its host resumes it.").waitFor();
    await triggerReload(hostPage);
    await hostPage.getByRole("button", { name: "Resume" }).click();
    await hostPage.getByText("Connected and accepting requests.").waitFor();
    await eventually("it serves", async () => (await sendScriptedChat(platform, { text: "back" })).status === 200);
  });

  test("an operator creates, exports and marks a payout as paid with 6 clicks; the ledger balances and the audit log has every action", async () => {
    // Waits until all requests are counted, so that no earnings arrive after the payout is created.
    await waitUntilRolledUp(platform);
    await closeDrawer();
    await hostPage.goto("/console/host/payouts");
    await hostPage.getByRole("button", { name: "Enter payout method" }).click();
    const entering = hostPage.getByRole("dialog", { name: "Payout method" });
    await entering.getByLabel("Kind").selectOption({ label: "PayPal" });
    await entering.getByLabel("Name on the account").fill("Henry Host");
    await entering.getByLabel("Email address of the PayPal account").fill("henry@example.com");
    await entering.getByRole("button", { name: "Save payout method" }).click();
    await hostPage.getByText("PayPal h…@example.com").waitFor();
    const before = clicks();
    await open("Payouts");
    await page.getByRole("button", { name: "Create payout" }).first().click();
    await page.getByLabel("Note").fill("November");
    await page.getByRole("dialog").getByRole("button", { name: "Create payout" }).click();
    const drawer = page.getByRole("dialog", { name: "Payout" });
    await drawer.getByText("Local host").waitFor();
    await drawer.getByText("henry@example.com", { exact: true }).waitFor();
    const owed = (await readHostAccount(platform)).balance;
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      drawer.getByRole("button", { name: "Export CSV" }).click(),
    ]);
    assert.match(
      await readFile(await download.path(), "utf8"),
      /^payout,account,name,owners,.*,method,holder,number,.*\r\npay_\w+,acc_.*,paypal,Henry Host,henry@example\.com,/,
    );
    await drawer.getByRole("button", { name: "Mark as paid" }).click();
    await page
      .getByRole("dialog", { name: "Mark this payout as paid?" })
      .getByRole("button", { name: "Mark as paid" })
      .click();
    await drawer.getByText("paid", { exact: true }).waitFor();
    assert.equal(clicks() - before, 6);
    assert.ok(owed > 0n);
    assert.equal((await readHostAccount(platform)).balance, 0n);
    await hostPage.reload();
    const history = hostPage.getByRole("table", { name: "Payout history" });
    await history.getByRole("row", { name: /paid.*PayPal h…@example\.com/ }).waitFor();

    // The old URL of this page redirects.
    await page.goto("/console/operator/books");
    await page.waitForURL("**/console/operator/ledger");
    await page.getByText("The ledger balances").waitFor();
    await open("Audit log");
    const log = page.getByRole("table", { name: "Audit log" });
    for (const act of [
      /marked the payout November \(pay_\w+\) as paid/,
      /created a payout: November/,
      /set the payout method of Local host \(acc_\w+\)/,
      /suspended Local builder \(acc_\w+\): a check/,
      /set the limits of the key local \(key_\w+\) of Local builder/,
      /granted \$12\.50 to Local builder \(acc_\w+\): a thank you/,
    ]) {
      await log.getByRole("row", { name: act }).first().waitFor();
    }
    // Filters are in the URL, and the exported file contains the same rows as the page.
    await page.getByLabel("Action").selectOption({ label: "Grant credit" });
    await page.waitForURL(/action=account.grant/);
    await log
      .getByRole("row", { name: /suspended/ })
      .first()
      .waitFor({ state: "detached" });
    await page.reload();
    await log.getByRole("row", { name: /a thank you/ }).waitFor();
    const [record] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export CSV" }).click(),
    ]);
    const lines = (await readFile(await record.path(), "utf8")).trimEnd().split("\r\n");
    assert.equal(lines[0], "at,operator,action,subject,subject_name,outcome,details");
    assert.equal(lines.length, 3);
    assert.ok(lines.slice(1).every((line) => /,account\.grant,acc_\w+,Local builder,done,/.test(line)));
    await log.getByRole("link", { name: "Local builder" }).first().click();
    await page.getByRole("heading", { name: "Local builder" }).waitFor();
    await assertBalanced(platform);
  });

  test("no page logs an error or requests anything from another origin", () => {
    assert.deepEqual([...browser.complaints(), ...hostBrowser.complaints()], []);
  });
});
