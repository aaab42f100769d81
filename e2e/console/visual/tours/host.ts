/** The host's pages, and one node's page with its dialogs. */
import assert from "node:assert/strict";
import type { Locator, Page } from "playwright-core";
import { assertFiguresOnOneLine } from "../layout-checks.ts";
import { setScreen } from "../page-checks.ts";
import { openDialog, type Tour, type TourContext, type TourStop, visitPages } from "../page-tour.ts";

export const HOST_PAGES: TourStop[] = [
  { path: "/host", heading: "Nodes", there: "workshop is quarantined" },
  { path: "/host/add", heading: "Add a node", there: "tollgate-host up" },
  { path: "/host/earnings", heading: "Earnings", there: "Show as table" },
  {
    path: "/host/payouts",
    heading: "Payouts",
    there: "IBAN DE… 3000",
    open: (page) => openDialog(page, /Change payout method/),
  },
  { path: "/host/market", heading: "Market", there: "Actual earnings are lower" },
  {
    path: "/host/tokens",
    heading: "Host tokens",
    there: "tht_live_",
    open: (page) => openDialog(page, /Create token/),
  },
  { path: "/host/team", heading: "Team", there: "Recent changes", open: (page) => openDialog(page, /Invite/) },
];

/** The page of the node "attic", by its ID. */
export const NODE_PAGE: TourStop = {
  path: "/host/nodes/node_00000000000000000000000005",
  heading: "attic",
  there: "Machine",
};

export const HOST_TOURS: Tour[] = [
  {
    title: "every page of the host passes in both themes on every screen",
    as: "builder",
    visit: (touring) => visitPages(touring, HOST_PAGES),
  },
  {
    title: "a node, one of its jobs and its choice of models pass in both themes on every screen",
    as: "builder",
    visit: openNode,
  },
];

async function openNode({ browser, page, check }: TourContext): Promise<void> {
  await setScreen(browser, 0);
  await page.goto("/console/host");
  await page.getByRole("button", { name: /^attic/ }).click();
  await page.getByRole("heading", { name: "Machine" }).waitFor();
  await page.locator("figure svg[role=application]").nth(5).waitFor();
  await check("a node");
  const jobs = page.getByRole("table", { name: "Jobs" });
  await assertJobsFit(page, jobs);
  await page.setViewportSize({ width: 1024, height: 768 });
  assert.equal(await page.locator("dl[aria-label^='In the last'] > div").count(), 5);
  await assertFiguresOnOneLine(page, "a node on a small screen");
  await setScreen(browser, 0);
  await jobs.getByRole("button").first().click();
  await page.getByRole("dialog", { name: "Job" }).waitFor();
  await check("a job");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Choose models" }).click();
  await page.getByRole("checkbox", { name: /tiny-3b/ }).waitFor();
  await check("the choice of models");
}

/** Checks on the smallest screen that a job's earnings are visible and that the filters fit in one row. */
async function assertJobsFit(page: Page, jobs: Locator): Promise<void> {
  const earned = await jobs.locator("th", { hasText: "Earned" }).boundingBox();
  const { width } = page.viewportSize() ?? assert.fail("the page has no size");
  assert.ok(earned !== null && earned.width > 0 && earned.x + earned.width <= width, "what a job earned is not seen");
  const card = page.locator("section").filter({ has: jobs }).last();
  const tops = await card.getByRole("combobox").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top));
  assert.equal(tops.length, 2);
  assert.equal(tops[0], tops[1], "the filters are below each other");
}
