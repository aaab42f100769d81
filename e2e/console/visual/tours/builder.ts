/** The builder's pages, with their dialogs and drawers. */

import assert from "node:assert/strict";
import { assertDrawerIsShaded } from "../layout-checks.ts";
import { setScreen } from "../page-checks.ts";
import { type Tour, type TourContext, type TourStop, visitPages } from "../page-tour.ts";

export const BUILDER_PAGES: TourStop[] = [
  { path: "/overview", heading: "Overview", there: "All requests" },
  { path: "/keys", heading: "API keys", there: /^Used / },
  { path: "/requests", heading: "Requests", there: "tiny-3b" },
  { path: "/models/tiny-3b?range=7d", heading: "tiny-3b", there: "Failed requests" },
  { path: "/models/embed-m3", heading: "embed-m3", there: "Embedding dimensions" },
  { path: "/models/large-70b", heading: "large-70b", there: "coming soon" },
  { path: "/performance", heading: "Performance", there: "Show as table" },
  { path: "/settings", heading: "Settings", there: "Active sessions" },
  { path: "/accounts", heading: "Accounts", there: "Your accounts" },
  { path: "/notifications", heading: "Notifications", there: "Automatic top-up was turned off" },
  { path: "/authorize", heading: "Give a script access", there: "Continue" },
  { path: "/team", heading: "Team", there: "Recent changes" },
  { path: "/models", heading: "Models and prices", there: "tiny-3b" },
  { path: "/credits", heading: "Credits", there: /^−\$0\.00/ },
  { path: "/credits?purchase=cancelled&checkout=pay_x", heading: "Credits", there: "Nothing was charged." },
  {
    path: "/playground",
    heading: "Playground",
    there: "No messages yet",
    open: async (page) => {
      // Runs a step and waits for the new price quote, which the page requests a moment after a change.
      const untilQuoted = (step: () => Promise<void>): Promise<unknown> =>
        Promise.all([page.waitForResponse(/\/quote$/), step()]);
      const message = page.getByLabel("Message", { exact: true });
      await untilQuoted(() => message.fill('#script {"text":"hello","reasoning":"hm"}'));
      await untilQuoted(() => page.getByRole("button", { name: "Send" }).click());
      await page.getByTestId("cost").waitFor();
    },
  },
];

export const BUILDER_TOURS: Tour[] = [
  {
    title: "the list of requests shows the chosen columns on 1,280 pixels, and offers none that does not fit",
    as: "builder",
    visit: chooseColumns,
  },
  {
    title: "every page of the builder passes in both themes on every screen",
    as: "builder",
    visit: (touring) => visitPages(touring, BUILDER_PAGES),
  },
  {
    title: "every item of a menu is on the screen, or can be scrolled to",
    as: "builder",
    visit: openMonths,
  },
  {
    title: "every drawer, dialog and palette of the builder passes in both themes on every screen",
    as: "builder",
    visit: openEverything,
  },
];

async function chooseColumns({ page, checkFit }: TourContext): Promise<void> {
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto("/console/requests");
  const table = page.getByRole("table", { name: "Requests" });
  await table.waitFor();
  await page.getByRole("button", { name: "Columns" }).click();
  const column = (name: string) => page.getByRole("menuitemcheckbox", { name, exact: true });
  for (const name of ["Tokens", "Duration"]) await column(name).click();
  for (const name of ["Status", "Client"]) await column(name).click();
  await page.keyboard.press("Escape");
  for (const name of ["Status", "Client"]) await table.getByRole("columnheader", { name, exact: true }).waitFor();
  await checkFit("the list of requests with chosen columns");
  await page.getByRole("button", { name: "Columns" }).click();
  await column("Duration").click();
  await column("Endpoint").and(page.locator("[data-disabled]")).waitFor();
  await page.keyboard.press("Escape");
  await checkFit("the list of requests with as many columns as fit");
}

async function openMonths({ page }: TourContext): Promise<void> {
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto("/console/credits");
  await page.getByRole("table", { name: "Statement" }).waitFor();
  const button = page.getByRole("button", { name: "Invoice" });
  // In the middle of the screen, neither side has space for all twelve months.
  await button.evaluate((element) => element.scrollIntoView({ block: "center" }));
  await button.click();
  const oldest = page.getByRole("menuitem").last();
  await oldest.scrollIntoViewIfNeeded();
  const box = (await oldest.boundingBox()) ?? assert.fail("the oldest month is not shown");
  assert.ok(box.y >= 0 && box.y + box.height <= 800, `the oldest month is at ${box.y} of 800 pixels`);
}

/** Opens all dialogs on the smallest screen, where something is most likely to cover them. */
async function openEverything({ browser, page, check }: TourContext): Promise<void> {
  await setScreen(browser, 0);
  await page.goto("/console/requests");
  await page.getByRole("table", { name: "Requests" }).getByRole("row").nth(1).click();
  await page.getByRole("heading", { name: "Timeline" }).waitFor();
  await check("the details of a request");
  await page.goto("/console/requests?model=tiny-3b&outcome=ok");
  await page.getByTitle("Edit this filter").nth(1).waitFor();
  await page.getByRole("combobox", { name: "Filter" }).fill("out");
  await page.getByRole("option").first().waitFor();
  await check("the explorer's filters and completions");
  await page.goto("/console/keys");
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByText("Budget, expiry, models, limits").click();
  await page.getByLabel("Selected models").check();
  await check("the dialog for a new key");
  await page.goto("/console/keys");
  await page.getByRole("row", { name: /nightly summaries/ }).click();
  await page.getByRole("figure", { name: /Spend in the last 30 days/ }).waitFor();
  await check("the details of a key");
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Name").waitFor();
  await check("the dialog for a key's settings");
  await assertDrawerIsShaded(page);
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Rotate" }).click();
  await page.getByLabel("Old secret").waitFor();
  await check("the dialog for a new secret");
  await page.goto("/console/keys");
  await page
    .getByRole("button", { name: /^Search/ })
    .filter({ visible: true })
    .click();
  await page
    .getByRole("option", { name: /nightly summaries/ })
    .first()
    .waitFor();
  await check("the command palette");
}
