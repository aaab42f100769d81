/** The list of pictures: which page each shows, what to wait for, and what to open on the page. */

import type { Platform } from "@tollgate/stage/dev-platform.ts";
import type { Page } from "playwright-core";
import { signIn } from "../console-browser.ts";
import { DEMO_USER } from "../lifelike/demo-accounts.ts";
import { showAnswer, showComparison } from "./playground-questions.ts";

export interface PageScreenshot {
  name: string;
  /** The path below /console. Without a path, the browser stays on the current page. */
  path?: string;
  /** The full path of a page outside the console. */
  outside?: string;
  /** Text that appears once the page has its data. */
  there: string | RegExp;
  open?: (page: Page, platform: Platform) => Promise<void>;
  /** The variants of the picture: dark, or for a narrow screen. */
  also?: ("-dark" | "-narrow")[];
}

interface PictureGroup {
  who: string;
  enter: (page: Page, platform: Platform) => Promise<void>;
  pictures: PageScreenshot[];
}

const chart = async (page: Page): Promise<void> => page.locator("figure svg[role=application]").first().waitFor();
const dialog = async (page: Page, row: RegExp): Promise<void> => {
  await page.getByRole("button", { name: row }).first().click();
  await page.getByRole("dialog").waitFor();
};

const OUTSIDE: PictureGroup = {
  who: "client",
  enter: async () => {},
  pictures: [
    { name: "sign-in", path: "/sign-in", there: "Forgot" },
    { name: "home", outside: "/", there: "Base URL" },
    { name: "docs", outside: "/docs", there: "Quick start" },
    { name: "status", outside: "/status", there: "Incidents", also: ["-dark", "-narrow"] },
  ],
};

const BUILDER: PictureGroup = {
  who: "builder and host",
  enter: (page) => signIn(page, DEMO_USER),
  pictures: [
    { name: "overview", path: "/overview", there: /reason-32b|small-8b/, open: chart, also: ["-dark", "-narrow"] },
    { name: "keys", path: "/keys", there: "nightly summaries", also: ["-narrow"] },
    { name: "key", path: "/keys", there: "nightly summaries", open: openKey, also: ["-narrow"] },
    { name: "requests", path: "/requests", there: "reason-32b", open: openRequest, also: ["-narrow"] },
    { name: "performance", path: "/performance?range=30d", there: "Tokens/s", open: chart, also: ["-dark"] },
    {
      name: "playground",
      path: "/playground?model=reason-32b",
      there: "Playground",
      open: showAnswer,
      also: ["-dark", "-narrow"],
    },
    { name: "playground-compare", path: "/playground?model=reason-32b", there: "Playground", open: showComparison },
    { name: "models", path: "/models", there: "reason-32b" },
    {
      name: "model",
      path: "/models/small-8b?range=30d",
      there: "Availability and speed",
      open: chart,
      also: ["-narrow"],
    },
    { name: "credits", path: "/credits", there: "$20", open: buy },
    { name: "team", path: "/team", there: "Ines Haddad" },
    { name: "nodes", path: "/host", there: "workshop is quarantined" },
    { name: "node", path: "/host", there: "attic", open: openNode },
    { name: "add-node", path: "/host/add", there: "Log in" },
    { name: "tokens", path: "/host/tokens", there: "tht_live_" },
    { name: "earnings", path: "/host/earnings", there: "attic", open: chart },
    { name: "host-payouts", path: "/host/payouts", there: "IBAN DE… 3000" },
    { name: "market", path: "/host/market", there: "Actual earnings are lower" },
    { name: "settings", path: "/settings", there: "Active sessions" },
    { name: "search", path: "/requests", there: "reason-32b", open: search },
    // The last picture, because the browser stays offline afterwards.
    { name: "away", path: "/overview", there: /reason-32b|small-8b/, open: goAway },
  ],
};

const OPERATOR: PictureGroup = {
  who: "operator",
  enter: (page, { ready }) => signIn(page, ready.operator),
  pictures: [
    { name: "platform", path: "/operator", there: "Nodes that need attention", open: liveChart, also: ["-dark"] },
    {
      name: "accounts",
      path: "/operator/accounts",
      there: "Lantern Notes",
      open: (page) => dialog(page, /^Lantern Notes/),
    },
    { name: "account", path: "/operator/accounts", there: "Lantern Notes", open: accountPage },
    { name: "all-nodes", path: "/operator/nodes", there: "workshop", open: (page) => dialog(page, /^workshop/) },
    { name: "payouts", path: "/operator/payouts", there: "First week", open: (page) => dialog(page, /Fourth week/) },
    { name: "ledger", path: "/operator/ledger", there: "The ledger balances" },
    { name: "audit", path: "/operator/audit", there: /suspended/ },
  ],
};

export const PICTURE_GROUPS: PictureGroup[] = [OUTSIDE, BUILDER, OPERATOR];

/** Waits until the live chart has eight samples or more, which make a line. */
async function liveChart(page: Page): Promise<void> {
  await chart(page);
  const summary = page.getByRole("figure", { name: /Requests in flight/ }).getByText(/^(\d{2,}|[89]) values/);
  await summary.waitFor({ state: "attached" });
}

async function accountPage(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Page of Lantern Notes" }).click();
  await page.getByRole("table", { name: "Statement" }).getByRole("row").nth(1).waitFor();
  await chart(page);
}

/** Opens a request that a reasoning model answered. Does nothing on a narrow screen, whose picture shows the list. */
async function openRequest(page: Page): Promise<void> {
  if ((page.viewportSize()?.width ?? 0) < 600) return;
  const rows = page.getByRole("table", { name: "Requests" }).getByRole("row");
  await rows
    .filter({ hasText: "reason-32b" })
    .filter({ hasText: /finished|ok/i })
    .first()
    .click();
  await page.getByRole("heading", { name: "Timeline" }).waitFor();
}

async function search(page: Page): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("o");
  await page.getByRole("option", { name: "Overview" }).waitFor();
}

async function goAway(page: Page): Promise<void> {
  await chart(page);
  await page.context().setOffline(true);
  await page.getByText(/Gateway unreachable since/).waitFor();
}

async function openKey(page: Page): Promise<void> {
  await page.getByRole("row", { name: /nightly summaries/ }).click();
  await chart(page);
}

/** Buys credit at the demo payment provider, and returns to the console. */
async function buy(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Buy $20 of credits", exact: true }).click();
  await page.getByRole("button", { name: "Pay", exact: true }).click();
  await page.getByText(/\$20\.00\d* of credit has been added/).waitFor();
  await page.getByRole("button", { name: "Dismiss" }).click();
  await page.getByRole("row", { name: /purchase/ }).waitFor();
}

async function openNode(page: Page): Promise<void> {
  await page.getByRole("button", { name: /^attic/ }).click();
  await page.getByRole("heading", { name: "Machine" }).waitFor();
  await chart(page);
}
