/**
 * The database freezes, is killed and comes back while pages are open. Each page says what is unreachable and since
 * when, and how old its figures are. These notices disappear when the database is back.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sendScriptedChat } from "@tollgate/stage/builder-requests.ts";
import { createDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev-platform.ts";
import { openDatabase } from "@tollgate/stage/stage-database.ts";
import type { Page } from "playwright-core";
import { type DatabaseProxy, openDatabaseProxy } from "../../gateway/src/db/testing/database-proxy.ts";
import {
  type BrowserSession,
  buildConsole,
  NEEDS_CHROMIUM,
  openBrowser,
  openSecondUser,
  openSession,
} from "./console-browser.ts";
import { checkVisuals } from "./visual/page-checks.ts";

/** The text that each page shows before the outage. */
const BUILDER_PAGES = {
  "/console/overview": "Overview",
  "/console/requests": "Requests",
  "/console/keys": "API keys",
  "/console/credits": "Credits",
  "/console/performance": "Performance",
};
/** The same person has a host account. */
const HOST_PAGES = {
  "/console/host": "Nodes",
  "/console/host/earnings": "Earnings",
  "/console/host/payouts": "Payouts",
};
const OPERATOR_PAGES = { "/console/operator": "Platform", "/console/operator/payouts": "Payouts" };

describe("pages that are open while the database is unreachable", NEEDS_CHROMIUM, () => {
  let dataDir: string;
  let proxy: DatabaseProxy;
  let platform: Platform;
  let browser: BrowserSession;
  let operator: BrowserSession;
  const pages = new Map<string, Page>();

  before(async () => {
    buildConsole();
    dataDir = await createDataDir();
    const { DATABASE_URL: connectionString } = await openDatabase(dataDir);
    proxy = await openDatabaseProxy({ connectionString });
    const flags = ["--engine", "scripted", "--models", "tiny-3b"];
    platform = await startPlatform(dataDir, flags, { DATABASE_URL: proxy.connection.connectionString });
    await (await sendScriptedChat(platform, { tokens: 5 })).text();
    const at = { baseUrl: platform.ready.gateway_url };
    browser = await openBrowser(at);
    await openSession(browser.page, platform.ready.builder);
    for (const [path, heading] of Object.entries({ ...BUILDER_PAGES, ...HOST_PAGES }))
      await open(browser, path, heading);
    operator = await openSecondUser(browser, at);
    await openSession(operator.page, platform.ready.operator);
    for (const [path, heading] of Object.entries(OPERATOR_PAGES)) await open(operator, path, heading);
  });
  after(async () => {
    await browser?.close();
    await proxy?.resume();
    await platform?.stop();
    await proxy?.close();
    await removeDataDir(dataDir);
  });

  const open = async ({ context }: BrowserSession, path: string, heading: string): Promise<void> => {
    const page = await context.newPage();
    await page.goto(path);
    await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
    pages.set(path, page);
  };
  const banner = (page: Page) =>
    page.getByRole("status").filter({
      hasText: /The platform's database is unreachable since \d\d:\d\d:\d\d\. Showing data from \d\d:\d\d:\d\d/,
    });
  const page = (path: string): Page => pages.get(path) ?? assert.fail(`${path} is not open`);

  for (const [name, leave] of [
    ["hangs", async () => proxy.hang()],
    ["refuses connections", () => proxy.refuse()],
  ] as const) {
    test(`while the database ${name}, open pages show since when and how old their data are, and recover without a reload`, async () => {
      for (const one of pages.values()) await banner(one).waitFor({ state: "detached" });
      await leave();
      for (const one of pages.values()) await banner(one).waitFor();
      for (const one of pages.values()) {
        await one
          .getByText(/^As of \d\d:\d\d:\d\d$/)
          .first()
          .waitFor();
      }
      const looked = { ...browser, page: page("/console/overview"), complaints: () => [] };
      await checkVisuals(looked, `the overview while the database ${name}`);
      const verdict = page("/console/operator").getByRole("status", { name: "Verdict" });
      await verdict.getByText(/^Down: the database is unreachable/).waitFor();
      await proxy.resume();
      for (const one of pages.values()) await banner(one).waitFor({ state: "detached" });
      await page("/console/overview")
        .getByText(/^As of /)
        .first()
        .waitFor({ state: "detached" });
    });
  }

  test("a page that is opened during the outage says what is unreachable, and shows its data once the database is back", async () => {
    const keys = page("/console/keys");
    await proxy.refuse();
    await banner(keys).waitFor();
    await keys
      .getByRole("navigation", { name: "Console" })
      .getByRole("link", { name: "Team", exact: true })
      .first()
      .click();
    await keys.getByRole("heading", { level: 1, name: "Team", exact: true }).waitFor();
    await keys.getByText(/The platform's database is unreachable since/).waitFor();
    await proxy.resume();
    await keys.getByText(/The platform's database is unreachable since/).waitFor({ state: "detached" });
    await keys.getByText(platform.ready.builder.email).first().waitFor();
  });
});
