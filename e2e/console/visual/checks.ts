/**
 * Checks of a page as it stands, in both themes and on every screen: axe finds nothing but trifles, nothing scrolls sideways, no amount
 * is broken in two, and the page logged no errors.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { type BrowserSession, type Theme, untilIs } from "../browser.ts";
import { brokenAmounts } from "./layout.ts";

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

/** Which screen a page is loaded on when it is one of many: each gets its share, and is then turned into the others. */
export async function takeScreen({ page }: BrowserSession, index: number): Promise<void> {
  await page.setViewportSize(SCREENS[index % SCREENS.length] ?? SCREENS[0]);
}

/** The rules whose findings depend on colours. */
const COLOUR_RULES = ["color-contrast", "link-in-text-block"];

interface Findings {
  said: string[];
  /** The page's body: its theme is named outside, and code that is fetched ahead adds links to the head. */
  tree: string;
}

/** What axe finds on the page as it stands, but for trifles, each with the elements it is about. */
export async function axeFindings(page: Page): Promise<string[]> {
  return (await findings(page)).said;
}

/** Where the page is the same as when it was looked at `before`, in another theme, only what colours can change is looked for. */
async function findings(page: Page, before?: Findings): Promise<Findings> {
  const session = await page.context().newCDPSession(page);
  try {
    // What still fades in has not its colours yet, so it is brought to its end; what never ends (a skeleton's breathing) is
    // left alone. Not waited for: what is out of sight does not move on by itself.
    await page.evaluate(`document.getAnimations()
      .filter(({ effect }) => effect.getComputedTiming().iterations !== Infinity)
      .forEach((animation) => animation.finish())`);
    // Through the debugger: the page's own policy lets no other script in.
    const { result: loaded } = await session.send("Runtime.evaluate", { expression: "typeof axe" });
    if (loaded.value === "undefined") await session.send("Runtime.evaluate", { expression: AXE });
    const tree = String(
      (await session.send("Runtime.evaluate", { expression: "document.body.outerHTML" })).result.value,
    );
    const rules = tree === before?.tree ? `, runOnly: ${JSON.stringify(COLOUR_RULES)}` : "";
    // `preload` reads every stylesheet again, for a rule that is off by default.
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

/** Nothing to scroll sideways and no amount in two, once what follows the screen's width by a script has followed. */
async function untilFits(page: Page, where: string): Promise<void> {
  await untilIs(`${where}: pixels to scroll sideways`, () => pixelsBeyond(page), 0);
  await untilIs(`${where}: amounts broken in two`, () => brokenAmounts(page), []);
}

/** The page as it stands, in both themes: nothing but trifles for axe, nothing to scroll sideways, no amount in two, no complaints. */
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

/** The same on every screen. The page still fits its own screen after it was shown on wider ones. */
export async function checkVisualsOnEveryScreen(browser: BrowserSession, where: string): Promise<void> {
  await onEveryScreen(browser.page, (width) => checkVisuals(browser, `${where}, ${width} pixels wide`));
  await untilFits(browser.page, `${where}, back on its own screen`);
  await checkFitOnTightScreens(browser.page, where);
}

/** Nothing to scroll sideways and no amount in two on any screen, and no complaints. */
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

/** First the one that the page was loaded on, and that again when all is done. */
export async function onEveryScreen(page: Page, look: (width: number) => Promise<void>): Promise<void> {
  const own = page.viewportSize() ?? assert.fail("the page has no size");
  const isOther = ({ width }: { width: number }): number => Number(width !== own.width);
  for (const screen of SCREENS.toSorted((a, b) => isOther(a) - isOther(b))) {
    await turn(page, screen);
    await look(screen.width);
  }
  await turn(page, own);
}

/** What the page draws by a script has been told of its new width when two frames have passed. */
async function turn(page: Page, screen: { width: number; height: number }): Promise<void> {
  await page.setViewportSize(screen);
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))");
}
