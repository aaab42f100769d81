/**
 * Checks the current page in both themes and on every screen: axe (an accessibility checker) reports nothing above
 * minor, nothing scrolls sideways, no amount is broken over two lines, and the page logged no errors.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { type BrowserSession, type Theme, waitUntilEqual } from "../console-browser.ts";
import { findBrokenAmounts, findUnevenDecimals, findWideTables } from "./layout-checks.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The screen sizes of a phone, a laptop and a desktop monitor. */
export const SCREENS = [
  { width: 375, height: 740 },
  { width: 1280, height: 800 },
  { width: 1920, height: 1080 },
] as const;

/**
 * The narrowest phone, and the width at which the navigation takes the largest share. Only the layout is checked on
 * these.
 */
const TIGHT = [
  { width: 360, height: 740 },
  { width: 1024, height: 768 },
] as const;

/**
 * Sets the screen size for loading page number `index`, so that each screen is used equally often. Later checks show
 * the page on the other screens.
 */
export async function setScreen({ page }: BrowserSession, index: number): Promise<void> {
  await page.setViewportSize(SCREENS[index % SCREENS.length] ?? SCREENS[0]);
}

/** The axe rules whose findings depend on colors. */
const COLOUR_RULES = ["color-contrast", "link-in-text-block"];

interface Findings {
  said: string[];
  /** The HTML of the page's body. It contains neither the theme nor links for prefetched code. */
  tree: string;
}

/** Returns axe's findings on the current page, each with its elements. Minor findings are left out. */
export async function runAxe(page: Page): Promise<string[]> {
  return (await findings(page)).said;
}

/** Runs axe. If the HTML equals that of `before`, which had another theme, only the color rules run. */
async function findings(page: Page, before?: Findings): Promise<Findings> {
  const session = await page.context().newCDPSession(page);
  try {
    // Ends fade-in animations, because their colors are not final. Endless animations, such as a skeleton's, continue.
    // Does not wait for the end, because animations outside the viewport do not advance.
    await page.evaluate(`document.getAnimations()
      .filter(({ effect }) => effect.getComputedTiming().iterations !== Infinity)
      .forEach((animation) => animation.finish())`);
    // axe is loaded through the debugger, because the page's content security policy allows no other script.
    const { result: loaded } = await session.send("Runtime.evaluate", { expression: "typeof axe" });
    if (loaded.value === "undefined") await session.send("Runtime.evaluate", { expression: AXE });
    const tree = String(
      (await session.send("Runtime.evaluate", { expression: "document.body.outerHTML" })).result.value,
    );
    const rules = tree === before?.tree ? `, runOnly: ${JSON.stringify(COLOUR_RULES)}` : "";
    // `preload` is off: it would read every stylesheet again, for a rule that is disabled.
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

/** The number of pixels by which the page is wider than the screen. */
const pixelsBeyond = (page: Page): Promise<number> =>
  page.evaluate<number>("document.documentElement.scrollWidth - document.documentElement.clientWidth");

/**
 * Waits until nothing scrolls sideways, no table is wider than its card, no amount is broken over two lines, and all
 * amounts have the same number of decimals. After a change of the width, the page's scripts adapt to it a moment later.
 */
async function untilFits(page: Page, where: string): Promise<void> {
  await waitUntilEqual(`${where}: pixels to scroll sideways`, () => pixelsBeyond(page), 0);
  await waitUntilEqual(`${where}: tables wider than their card`, () => findWideTables(page), []);
  await waitUntilEqual(`${where}: amounts broken in two`, () => findBrokenAmounts(page), []);
  await waitUntilEqual(`${where}: amounts with other decimals than the rest`, () => findUnevenDecimals(page), []);
}

/**
 * Checks the current page in both themes: axe reports nothing above minor, nothing scrolls sideways, no amount is
 * broken over two lines, all amounts have the same number of decimals, and the page logged no errors.
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

/** Runs `checkVisuals` on every screen. At the end the page must still fit the screen on which it was loaded. */
export async function checkVisualsOnEveryScreen(browser: BrowserSession, where: string): Promise<void> {
  await runOnEveryScreen(browser.page, (width) => checkVisuals(browser, `${where}, ${width} pixels wide`));
  await untilFits(browser.page, `${where}, back on its own screen`);
  await checkFitOnTightScreens(browser.page, where);
}

/**
 * Checks on every screen that nothing scrolls sideways, no amount is split over two lines, all amounts have the same
 * number of decimals, and the page logged no errors.
 */
export async function checkFitOnEveryScreen({ page, complaints }: BrowserSession, where: string): Promise<void> {
  await runOnEveryScreen(page, (width) => untilFits(page, `${where}, ${width} pixels wide`));
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

/** Calls `look` on every screen. Begins with the one on which the page was loaded, and returns to it at the end. */
export async function runOnEveryScreen(page: Page, look: (width: number) => Promise<void>): Promise<void> {
  const own = page.viewportSize() ?? assert.fail("the page has no size");
  const isOther = ({ width }: { width: number }): number => Number(width !== own.width);
  for (const screen of SCREENS.toSorted((a, b) => isOther(a) - isOther(b))) {
    await turn(page, screen);
    await look(screen.width);
  }
  await turn(page, own);
}

/** Sets the screen size and waits two frames: then scripts that draw by width have the new width. */
async function turn(page: Page, screen: { width: number; height: number }): Promise<void> {
  await page.setViewportSize(screen);
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))");
}
