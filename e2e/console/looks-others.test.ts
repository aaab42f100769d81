/** The pages for spending, hosting and operating, in both themes, on a telephone, a small screen and a desk. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { newDataDir, type Platform, removeDataDir, startPlatform } from "@tollgate/stage/dev.ts";
import { untilCounted } from "@tollgate/stage/ledger-check.ts";
import { chat } from "@tollgate/stage/requests.ts";
import type { Locator, Page } from "playwright-core";
import { ConsoleClient } from "../console-client.ts";
import {
  assertLooksRightEverywhere,
  buildConsole,
  NEEDS_CHROMIUM,
  openBrowser,
  openSession,
  takeScreen,
} from "./browser.ts";
import { assertFiguresOnOneLine } from "./layout.ts";

interface Look {
  path: string;
  heading: string;
  /** There once the page has its data. */
  there: string;
  /** What else is opened on it. */
  open?: (page: Page) => Promise<void>;
}

const row = async (page: Page, name: RegExp): Promise<void> => {
  await page.getByRole("button", { name }).first().click();
  await page.getByRole("dialog").waitFor();
};

const accountPage = async (page: Page, { of, has }: { of: RegExp; has: string }): Promise<void> => {
  await row(page, of);
  await page.getByRole("link", { name: /^Account page/ }).click();
  await page.getByRole("table", { name: has }).waitFor();
};

/** On a telephone: what a job earned is within the screen, and its filters are beside each other. */
async function assertJobsFit(page: Page, jobs: Locator): Promise<void> {
  const earned = await jobs.locator("th", { hasText: "Earned" }).boundingBox();
  const { width } = page.viewportSize() ?? assert.fail("the page has no size");
  assert.ok(earned !== null && earned.width > 0 && earned.x + earned.width <= width, "what a job earned is not seen");
  const card = page.locator("section").filter({ has: jobs }).last();
  const tops = await card.getByRole("combobox").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top));
  assert.equal(tops.length, 2);
  assert.equal(tops[0], tops[1], "the filters are below each other");
}

const PAGES: { who: "builder" | "operator"; looks: Look[] }[] = [
  {
    who: "builder",
    looks: [
      { path: "/models", heading: "Models and prices", there: "tiny-3b" },
      { path: "/credits", heading: "Credits", there: "$500.00" },
      { path: "/credits?purchase=cancelled&checkout=pay_x", heading: "Credits", there: "Nothing was charged." },
      {
        path: "/playground",
        heading: "Playground",
        there: "No messages yet",
        open: async (page) => {
          await page.getByLabel("Message", { exact: true }).fill('#script {"text":"hello","reasoning":"hm"}');
          await page.getByRole("button", { name: "Send" }).click();
          await page.getByTestId("cost").waitFor();
        },
      },
      { path: "/host", heading: "Nodes", there: "attic is quarantined" },
      { path: "/host/add", heading: "Add a node", there: "tollgate-host up" },
      { path: "/host/earnings", heading: "Earnings", there: "Show as table" },
      { path: "/host/market", heading: "Market", there: "It is no promise" },
      {
        path: "/host/tokens",
        heading: "Host tokens",
        there: "tht_live_",
        open: (page) => row(page, /Create token/),
      },
      { path: "/host/team", heading: "Team", there: "Recent changes", open: (page) => row(page, /Invite/) },
    ],
  },
  {
    who: "operator",
    looks: [
      { path: "/operator", heading: "Platform", there: "All nodes together" },
      {
        path: "/operator/accounts",
        heading: "Accounts",
        there: "Local host",
        open: (page) => row(page, /^Local builder/),
      },
      {
        path: "/operator/accounts?kind=builder",
        heading: "Accounts",
        there: "Local builder",
        open: (page) => accountPage(page, { of: /^Local builder/, has: "Statement" }),
      },
      {
        path: "/operator/accounts?kind=host",
        heading: "Accounts",
        there: "Local host",
        open: (page) => accountPage(page, { of: /^Local host/, has: "Payouts" }),
      },
      { path: "/operator/nodes", heading: "All nodes", there: "quarantined", open: (page) => row(page, /^attic/) },
      { path: "/operator/payouts", heading: "Payouts", there: "November", open: (page) => row(page, /November/) },
      { path: "/operator/ledger", heading: "Ledger", there: "The ledger balances" },
      { path: "/operator/audit", heading: "Audit log", there: "quarantined the node" },
    ],
  },
];
describe("how the other pages look", NEEDS_CHROMIUM, () => {
  let dataDir: string;
  let platform: Platform;

  before(async () => {
    buildConsole();
    dataDir = await newDataDir();
    platform = await startPlatform(dataDir, ["--engine", "scripted", "--models", "tiny-3b", "--payments", "demo"]);
    for (const orders of [{ tokens: 40 }, { fail_after: 5 }]) await (await chat(platform, orders)).text();
    // What is paid out below has been earned by then.
    await untilCounted(platform);
    const { base_url, host_token, operator } = platform.ready;
    const registered = await fetch(`${base_url}/node/v1/nodes`, {
      method: "POST",
      headers: { authorization: `Bearer ${host_token}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "attic", hardware: { cpu: "a processor", cores: 8, gpus: [{ name: "a card" }] } }),
    });
    const { id } = (await registered.json()) as { id: string };
    const api = await new ConsoleClient(platform).signIn(operator);
    await api.send("POST", `operator/nodes/${id}/quarantine`, { reason: "odd answers" });
    await api.send("POST", "operator/payouts", { note: "November" });
  });
  after(async () => {
    await platform?.stop();
    await removeDataDir(dataDir);
  });

  for (const { who, looks } of PAGES) {
    test(`the pages of the ${who}`, async () => {
      const browser = await openBrowser({ baseUrl: platform.ready.base_url });
      const { page } = browser;
      const judge = (where: string): Promise<void> => assertLooksRightEverywhere(browser, where);
      try {
        await openSession(page, platform.ready[who]);
        for (const [index, { path, heading, there, open }] of looks.entries()) {
          // What opens is opened on the telephone, where something else is most easily in the way.
          await takeScreen(browser, open === undefined ? index : 0);
          await page.goto(`/console${path}`);
          await page.getByRole("heading", { name: heading, exact: true }).waitFor();
          await page.getByText(there).filter({ visible: true }).first().waitFor();
          await judge(path);
          await open?.(page);
          if (open !== undefined) await judge(`${path}, opened`);
        }
        if (who !== "builder") return;
        await takeScreen(browser, 0);
        await page.goto("/console/host");
        await page.getByRole("button", { name: /^local-1/ }).click();
        await page.getByRole("heading", { name: "Machine" }).waitFor();
        await page.locator("figure svg[role=application]").nth(5).waitFor();
        await judge("a node");
        const jobs = page.getByRole("table", { name: "Jobs" });
        await assertJobsFit(page, jobs);
        await takeScreen(browser, 1);
        assert.equal(await page.locator("dl[aria-label^='In the last'] > div").count(), 5);
        await assertFiguresOnOneLine(page, "a node on a small screen");
        await takeScreen(browser, 0);
        await jobs.getByRole("button").first().click();
        await page.getByRole("dialog", { name: "Job" }).waitFor();
        await judge("a job");
        await page.keyboard.press("Escape");
        await page.getByRole("button", { name: "Choose models" }).click();
        await page.getByRole("checkbox", { name: /tiny-3b/ }).waitFor();
        await judge("the choice of models");
      } finally {
        await browser.close();
      }
    });
  }

  test("without a mouse: an account is opened, given credit and closed again", async () => {
    const browser = await openBrowser({ baseUrl: platform.ready.base_url });
    const { page } = browser;
    const focused = (): Promise<string> => page.evaluate("document.activeElement.textContent");
    const tabTo = async (words: RegExp): Promise<void> => {
      for (let i = 0; i < 40; i++) {
        await page.keyboard.press("Tab");
        if (words.test(await focused())) return;
      }
      assert.fail(`${words} was not reached by the tab key`);
    };
    try {
      await openSession(page, platform.ready.operator);
      await page.goto("/console/operator/accounts");
      await page.getByRole("button", { name: /^Local builder/ }).waitFor();
      await tabTo(/^Local builder/);
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Grant credit" }).waitFor();
      await tabTo(/^Grant credit$/);
      await page.keyboard.press("Enter");
      await page.getByLabel("Amount in dollars").and(page.locator(":focus")).waitFor();
      await page.keyboard.type("1.25");
      await page.keyboard.press("Tab");
      await page.keyboard.type("by keyboard");
      await page.keyboard.press("Enter");
      await page.getByText("Granted $1.25 to Local builder").first().waitFor();
      await page.getByLabel("Amount in dollars").waitFor({ state: "detached" });
      // The focus comes back a moment after what had it is gone.
      await page.getByRole("button", { name: "Grant credit", exact: true }).and(page.locator(":focus")).waitFor();
      // The news lies above the drawer, and goes first.
      await page.keyboard.press("Escape");
      await page.getByRole("listitem").filter({ hasText: "Granted" }).waitFor({ state: "detached" });
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page
        .getByRole("button", { name: /^Local builder/ })
        .and(page.locator(":focus"))
        .waitFor();
      assert.deepEqual(browser.complaints(), []);
    } finally {
      await browser.close();
    }
  });
});
