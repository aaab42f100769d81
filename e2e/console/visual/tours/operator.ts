/** The operator's pages with their dialogs, and an account used with only the keyboard. */
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { openDialog, type Tour, type TourContext, type TourStop, visitPages } from "../page-tour.ts";

export const OPERATOR_PAGES: TourStop[] = [
  {
    path: "/operator",
    heading: "Platform",
    there: "Busy slots of all nodes",
    async open(page) {
      await page.getByRole("list", { name: "Incidents" }).getByRole("button").first().click();
      await page.getByRole("dialog", { name: "Post an update" }).waitFor();
    },
  },
  {
    path: "/operator/accounts",
    heading: "Accounts",
    there: "Fern Street Compute",
    open: (page) => openDialog(page, /^Lantern Notes/),
  },
  {
    path: "/operator/accounts?kind=builder",
    heading: "Accounts",
    there: "Lantern Notes",
    open: (page) => accountPage(page, { of: /^Lantern Notes/, has: "Statement" }),
  },
  {
    path: "/operator/accounts?kind=host",
    heading: "Accounts",
    there: "Fern Street Compute",
    open: (page) => accountPage(page, { of: /^Fern Street Compute/, has: "Payouts" }),
  },
  {
    path: "/operator/nodes",
    heading: "All nodes",
    there: "quarantined",
    open: (page) => openDialog(page, /^workshop/),
  },
  {
    path: "/operator/payouts",
    heading: "Payouts",
    there: "First week",
    open: (page) => openDialog(page, /Fourth week/),
  },
  { path: "/operator/requests", heading: "Find a request", there: "Paste a request ID" },
  { path: "/operator/ledger", heading: "Ledger", there: "The ledger balances" },
  { path: "/operator/audit", heading: "Audit log", there: "quarantined the node" },
];

/** The pages of one builder account and one host account, opened by the accounts' IDs. */
export const ACCOUNT_PAGES: TourStop[] = [
  { path: "/operator/accounts/acc_00000000000000000000000002", heading: "Lantern Notes", there: "Statement" },
  { path: "/operator/accounts/acc_00000000000000000000000003", heading: "Fern Street Compute", there: "Payouts" },
];

export const OPERATOR_TOURS: Tour[] = [
  {
    title: "the ledger page says that the check is running, which takes minutes with a large ledger",
    as: "operator",
    visit: openRunningCheck,
  },
  {
    title: "every page of the operator passes in both themes on every screen",
    as: "operator",
    visit: (touring) => visitPages(touring, OPERATOR_PAGES),
  },
  {
    title: "the keyboard alone opens an account, grants it credit and closes it again",
    as: "operator",
    visit: grantByKeyboard,
  },
];

async function openRunningCheck({ page, checkFit }: TourContext): Promise<void> {
  const { promise: isOver, resolve: ends } = Promise.withResolvers<void>();
  await page.route("**/console/api/operator/ledger/check", (route) => isOver.then(() => route.continue()));
  await page.goto("/console/operator/ledger");
  await page.getByText("This reads every record.").waitFor();
  await checkFit("the ledger page during a check");
  ends();
  await page.getByRole("status").getByText("The ledger balances").waitFor();
}

async function accountPage(page: Page, { of, has }: { of: RegExp; has: string }): Promise<void> {
  await openDialog(page, of);
  await page.getByRole("link", { name: /^Account page/ }).click();
  await page.getByRole("table", { name: has }).waitFor();
}

async function grantByKeyboard({ browser, page }: TourContext): Promise<void> {
  const focused = (): Promise<string> => page.evaluate("document.activeElement.textContent");
  const tabTo = async (words: RegExp): Promise<void> => {
    for (let i = 0; i < 40; i++) {
      await page.keyboard.press("Tab");
      if (words.test(await focused())) return;
    }
    assert.fail(`${words} was not reached by the tab key`);
  };
  await page.goto("/console/operator/accounts");
  await page.getByRole("button", { name: /^Lantern Notes/ }).waitFor();
  await tabTo(/^Lantern Notes/);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Grant credit" }).waitFor();
  await tabTo(/^Grant credit$/);
  await page.keyboard.press("Enter");
  await page.getByLabel("Amount ($)").and(page.locator(":focus")).waitFor();
  await page.keyboard.type("1.25");
  await page.keyboard.press("Tab");
  await page.keyboard.type("by keyboard");
  await page.keyboard.press("Enter");
  await page.getByText("Granted $1.25 to Lantern Notes").first().waitFor();
  await page.getByLabel("Amount ($)").waitFor({ state: "detached" });
  // The removed form had the focus, which returns to the button a moment later.
  await page.getByRole("button", { name: "Grant credit", exact: true }).and(page.locator(":focus")).waitFor();
  // The first Escape closes the notice, because it is above the drawer.
  await page.keyboard.press("Escape");
  await page.getByRole("listitem").filter({ hasText: "Granted" }).waitFor({ state: "detached" });
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page
    .getByRole("button", { name: /^Lantern Notes/ })
    .and(page.locator(":focus"))
    .waitFor();
  assert.deepEqual(browser.complaints(), []);
}
