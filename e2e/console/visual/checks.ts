/**
 * Checks the current page in both themes and on every screen: axe finds nothing above minor, nothing scrolls sideways,
 * no amount is broken over two lines, and the page logged no errors.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { type BrowserSession, type Theme, untilIs } from "../browser.ts";
import { brokenAmounts, unevenAmounts } from "./layout.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** A telephone, a laptop, a desk. */
export const SCREENS = [
  { width: 375, height: 740 },
  { width: 1280, height: 800 },
  { width: 1920, height: 1080 },
] as const;

/** The narrowest telephone, and a screen on which the navigation takes most room; only the layout is checked there. */
const TIGHT = [
  { width: 360, height: 740 },
  { width: 1024, height: 768 },
] as const;

/**
 * Chooses the screen on which one of many pages is loaded, so that each screen is used equally often; then the page is
 * shown on the others.
 */
export async function takeScreen({ page }: BrowserSession, index: number): Promise<void> {
  await page.setViewportSize(SCREENS[index % SCREENS.length] ?? SCREENS[0]);
}

/** The rules whose findings depend on colours. */
const COLOUR_RULES = ["color-contrast", "link-in-text-block"];

interface Findings {
  said: string[];
  /** The HTML of the page's body, which does not contain the theme or the links for code that is fetched ahead. */
  tree: string;
}

/** What axe finds on the current page, except minor findings, each with its elements. */
export async function axeFindings(page: Page): Promise<string[]> {
  return (await findings(page)).said;
}

/** If the page is the same as `before` in another theme, only the rules about colours run. */
async function findings(page: Page, before?: Findings): Promise<Findings> {
  const session = await page.context().newCDPSession(page);
  try {
    // Ends fade-in animations, whose colours are not final; endless ones, such as a skeleton's, are left alone. Does
    // not wait, because animations out of sight do not advance.
    await page.evaluate(`document.getAnimations()
      .filter(({ effect }) => effect.getComputedTiming().iterations !== Infinity)
      .forEach((animation) => animation.finish())`);
    // Loaded through the debugger, because the page's policy allows no other script.
    const { result: loaded } = await session.send("Runtime.evaluate", { expression: "typeof axe" });
    if (loaded.value === "undefined") await session.send("Runtime.evaluate", { expression: AXE });
    const tree = String(
      (await session.send("Runtime.evaluate", { expression: "document.body.outerHTML" })).result.value,
    );
    const rules = tree === before?.tree ? `, runOnly: ${JSON.stringify(COLOUR_RULES)}` : "";
    // `preload` is off, because it would read every stylesheet again for a rule that is disabled.
    const { result } = await session.send("Runtime.evaluate", {
      expression: `axe.run({ resultTypes: ["violations"], preload: false${rules} }).then((found) => JSON.stringify(found.violations
        .filter(({ impact }) => impact !== "minor")
        .map(({ id, help, nodes }) => id + " (" + help + "): " + nodes.map(({ target }) => target.join(" ")).join(", "))))`,
      awaitPromise: true,
    });
    return { said: JSON.parse(String(result.value)), tree };
  } finally {
    await session.detach();
  }
}

/** How many pixels the page is wider than the screen. */
const pixelsBeyond = (page: Page): Promise<number> =>
  page.evaluate<number>("document.documentElement.scrollWidth - document.documentElement.clientWidth");

/** Waits until nothing scrolls sideways and no amount is broken, because scripts adapt to the width a moment later. */
async function untilFits(page: Page, where: string): Promise<void> {
  await untilIs(`${where}: pixels to scroll sideways`, () => pixelsBeyond(page), 0);
  await untilIs(`${where}: amounts broken in two`, () => brokenAmounts(page), []);
  await untilIs(`${where}: amounts with other decimals than the rest`, () => unevenAmounts(page), []);
}

/**
 * Checks the current page in both themes: axe finds nothing above minor, nothing scrolls sideways, no amount is broken, all
 * amounts have the same number of decimals, no complaints.
 */
export async function checkVisuals({ page, complaints }: BrowserSession, where: string): Promise<void> {
  let before: Findings | undefined;
  for (const theme of ["light", "dark"] satisfies Theme[]) {
    await page.emulateMedia({ colorScheme: theme });
    await page.locator(`html[data-theme=${theme}]`).waitFor();
    const found = await findings(page, before);
    assert.deepEqual(found.said, [], `${where}, ${theme}: axe`);
    await untilFits(page, `${where}, ${theme}`);
    before = found;
  }
  assert.deepEqual(complaints(), [], where);
}

/** The same on every screen. At the end the page must still fit its own screen. */
export async function checkVisualsOnEveryScreen(browser: BrowserSession, where: string): Promise<void> {
  await onEveryScreen(browser.page, (width) => checkVisuals(browser, `${where}, ${width} pixels wide`));
  await untilFits(browser.page, `${where}, back on its own screen`);
  await checkFitOnTightScreens(browser.page, where);
}

/** Checks on every screen that nothing scrolls sideways, no amount is broken, and there are no complaints. */
export async function checkFitOnEveryScreen({ page, complaints }: BrowserSession, where: string): Promise<void> {
  await onEveryScreen(page, (width) => untilFits(page, `${where}, ${width} pixels wide`));
  await checkFitOnTightScreens(page, where);
  assert.deepEqual(complaints(), [], where);
}

async function checkFitOnTightScreens(page: Page, where: string): Promise<void> {
  const own = page.viewportSize() ?? assert.fail("the page has no size");
  for (const screen of TIGHT) {
    await turn(page, screen);
    await untilFits(page, `${where}, ${screen.width} pixels wide`);
  }
  await turn(page, own);
}

/** Begins with the screen on which the page was loaded, and returns to it at the end. */
export async function onEveryScreen(page: Page, look: (width: number) => Promise<void>): Promise<void> {
  const own = page.viewportSize() ?? assert.fail("the page has no size");
  const isOther = ({ width }: { width: number }): number => Number(width !== own.width);
  for (const screen of SCREENS.toSorted((a, b) => isOther(a) - isOther(b))) {
    await turn(page, screen);
    await look(screen.width);
  }
  await turn(page, own);
}

/** After two frames, scripts that draw by width know the new width. */
async function turn(page: Page, screen: { width: number; height: number }): Promise<void> {
  await page.setViewportSize(screen);
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))");
}
