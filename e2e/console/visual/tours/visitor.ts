/** Pages that need no session: the console before sign-in, the gateway's own pages, the docs. */
import assert from "node:assert/strict";
import { copyWithButton } from "../../console-browser.ts";
import { setScreen } from "../page-checks.ts";
import { type Tour, type TourContext, type TourStop, visitPages } from "../page-tour.ts";

export const BEFORE_SIGN_IN: TourStop[] = [
  { path: "/sign-in", heading: "Sign in" },
  { path: "/sign-up", heading: "Create account" },
  { path: "/forgot-password", heading: "Reset password" },
  { path: "/reset-password#token=x", heading: "Set a new password" },
  { path: "/sign-in/code", heading: "Enter your code" },
  { path: "/join#token=x", heading: "You are invited to a team" },
  { path: "/no-such-page", heading: "Page not found" },
];

/**
 * The gateway's own pages. For the pages in the second list only the layout is checked: they are long, and have the
 * same components as the others.
 */
const OWN = {
  inDetail: [
    "/",
    "/docs",
    "/status",
    "/docs/guide",
    "/docs/guide/operators/quickstart",
    "/docs/guide/operators/settings",
  ],
  layoutOnly: [
    ...["/docs/node", "/docs/console", "/docs/guide/console", "/docs/guide/builders/clients", "/docs/guide/threats"],
    ...["/docs/guide/changelog", "/docs/guide/examples/python/chat.py"],
  ],
};

export const VISITOR_TOURS: Tour[] = [
  {
    title: "the console's pages before the sign-in pass in both themes on every screen",
    as: "visitor",
    visit: (touring) => visitPages(touring, BEFORE_SIGN_IN),
  },
  {
    title: "the gateway's own pages pass in both themes on every screen",
    as: "visitor",
    visit: visitOwnPages,
  },
  {
    title: "the guide opens from the start page, follows its headings, copies code and leads back to docs and console",
    as: "builder",
    visit: visitGuide,
  },
  {
    title: "the docs and the status page show everything without a script, and no control that needs one",
    as: "visitor",
    visit: visitWithoutScript,
  },
  {
    title: "the theme follows the system until somebody chooses one, and the choice is remembered",
    as: "visitor",
    visit: chooseTheme,
  },
];

async function visitOwnPages({ browser, page, check, checkFit }: TourContext): Promise<void> {
  for (const [index, path] of [...OWN.inDetail, ...OWN.layoutOnly].entries()) {
    await setScreen(browser, index);
    await page.goto(path);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await (OWN.inDetail.includes(path) ? check(path) : checkFit(path));
  }
  await setScreen(browser, 0);
  await page.goto("/status");
  const incidents = page.getByRole("region", { name: "Past incidents" });
  assert.ok((await incidents.getByRole("article").filter({ hasText: "tiny-3b" }).count()) >= 2, "incidents are there");
  await incidents.getByText("A new primary takes over.").waitFor();
  const wider = await incidents.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
  assert.ok(wider <= 0, `incidents are ${wider} pixels wider than a telephone`);
}

async function visitGuide({ browser, page, check }: TourContext): Promise<void> {
  await page.goto("/");
  await page.getByRole("main").getByRole("link", { name: "Guide" }).click();
  await page.getByRole("main").getByRole("link", { name: "Quick start for operators" }).click();
  await page.getByRole("heading", { level: 1, name: "Run Tollgate on one machine" }).waitFor();
  const contents = page.getByRole("navigation", { name: "Contents" });
  await contents.locator('[aria-current="page"]').getByText("Quick start").waitFor();
  await contents.getByRole("link", { name: "3. Create the pepper" }).click();
  await contents.locator('[aria-current="location"]').getByText("3. Create the pepper").waitFor();
  const copied = await copyWithButton(page, page.getByRole("button", { name: "Copy: Shell, in 1. Install" }));
  assert.equal(copied, "npm run build");
  await page.getByRole("status").getByText("Copied: Shell").waitFor();
  await contents.getByText("Begin", { exact: true }).click();
  await contents.getByRole("link", { name: "The console" }).click();
  const picture = page.getByRole("img", { name: "Overview", exact: true });
  await picture.scrollIntoViewIfNeeded();
  await page.evaluate(`document.querySelector("img[src$='/overview.webp']").decode()`);
  await page.getByRole("navigation", { name: "Docs" }).getByRole("link", { name: "API reference" }).click();
  await page.getByRole("heading", { name: "Tollgate API" }).waitFor();
  await page.getByRole("link", { name: "Console", exact: true }).click();
  await page.getByRole("navigation", { name: "Console" }).getByRole("link", { name: "Guide" }).click();
  await page.getByRole("heading", { level: 1, name: "Tollgate guides" }).waitFor();
  assert.deepEqual(browser.complaints(), []);
  await page.goto("/docs/guide/no-such-page");
  await page.getByRole("heading", { level: 1, name: "Page not found" }).waitFor();
  // Chromium logs the 404 itself.
  assert.match(browser.complaints().join("\n"), /^error: [^\n]* 404 \(Not Found\)$/);
  await check("/docs/guide/no-such-page");
}

async function visitWithoutScript({ browser, page }: TourContext): Promise<void> {
  await setScreen(browser, 0);
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setScriptExecutionDisabled", { value: true });
  await page.goto("/docs");
  for (const language of ["curl", "python", "typescript"]) {
    await page.locator(`.samples figure[data-language=${language}]`).first().waitFor();
  }
  assert.equal(await page.locator("button:visible, select:visible").count(), 0);
  await page.getByRole("navigation", { name: "Contents" }).getByRole("link", { name: "Errors" }).waitFor();
  await page.goto("/status");
  const bars = page.getByRole("img", { name: /^Availability of tiny-3b/ });
  await bars.waitFor();
  assert.equal(await bars.locator("rect").count(), 90);
  await page.getByText("Daily history of tiny-3b").click();
  await page.getByRole("group", { name: "Days of tiny-3b" }).or(page.getByText("No data yet")).first().waitFor();
  const head = await page.request.head("/");
  assert.deepEqual([head.status(), await head.text()], [200, ""]);
}

async function chooseTheme({ page }: TourContext): Promise<void> {
  const untilTheme = (theme: string): Promise<void> => page.locator(`html[data-theme=${theme}]`).waitFor();
  await page.emulateMedia({ colorScheme: "dark" });
  await page.goto("/console/sign-in");
  await untilTheme("dark");
  await page.emulateMedia({ colorScheme: "light" });
  await untilTheme("light");
  await page.getByRole("button", { name: "Theme" }).click();
  await page.getByRole("menuitemradio", { name: "Dark" }).click();
  await untilTheme("dark");
  await page.reload();
  await untilTheme("dark");
  await page.getByRole("button", { name: "Theme" }).click();
  await page.getByRole("menuitemradio", { name: "System" }).click();
  await untilTheme("light");
}
