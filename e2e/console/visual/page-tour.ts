/**
 * A tour visits pages as one role and checks each of them. Tests run tours on recorded responses; the recorder runs
 * them on a platform.
 */
import type { Page } from "playwright-core";
import type { BrowserSession } from "../console-browser.ts";
import { setScreen } from "./page-checks.ts";
import type { Role } from "./recording-files.ts";

export interface TourContext {
  browser: BrowserSession;
  page: Page;
  /** Runs all visual checks of the current page, on every screen. */
  check(where: string): Promise<void>;
  /** Runs only the layout checks, for long pages that have the same components as others. */
  checkFit(where: string): Promise<void>;
}

export interface Tour {
  /** The end of the test's title. */
  title: string;
  as: Role;
  visit: (touring: TourContext) => Promise<void>;
}

export interface TourStop {
  path: string;
  heading: string;
  /** A visible text, or an accessible name (of a chart or an icon button), that appears once the page has its data. */
  there?: string | RegExp;
  /** Opens a dialog or another part of the page. */
  open?: (page: Page) => Promise<void>;
}

/** Waits for a page's heading and its data. */
export async function waitForPage(page: Page, { heading, there }: TourStop): Promise<void> {
  await page.getByRole("heading", { name: heading, exact: true }).waitFor();
  if (there === undefined) return;
  const named = page.getByText(there).or(page.getByLabel(there));
  await named.filter({ visible: true }).first().waitFor();
}

/** Checks each page of the console, and again after `open` has opened further parts. */
export async function visitPages({ browser, page, check }: TourContext, stops: TourStop[]): Promise<void> {
  for (const [index, stop] of stops.entries()) {
    const { path, open } = stop;
    // Uses the smallest screen for dialogs and drawers, where something is most likely to cover them.
    await setScreen(browser, open === undefined ? index : 0);
    await page.goto(`/console${path}`);
    await waitForPage(page, stop);
    await check(path);
    await open?.(page);
    if (open !== undefined) await check(`${path}, opened`);
  }
}

/** Clicks a button that opens a dialog. */
export async function openDialog(page: Page, button: RegExp): Promise<void> {
  await page.getByRole("button", { name: button }).first().click();
  await page.getByRole("dialog").waitFor();
}
