/** A tour visits pages as somebody and has each one checked. Tests run tours on recorded answers, the recorder on a platform. */
import type { Page } from "playwright-core";
import type { BrowserSession } from "../browser.ts";
import { takeScreen } from "./checks.ts";
import type { Role } from "./recording.ts";

export interface Touring {
  browser: BrowserSession;
  page: Page;
  /** All visual checks of the page as it stands, on every screen. */
  check(where: string): Promise<void>;
  /** Only those that measure the layout, for long pages made of the same parts as others. */
  checkFit(where: string): Promise<void>;
}

export interface Tour {
  /** Completes the test's title. */
  title: string;
  as: Role;
  visit: (touring: Touring) => Promise<void>;
}

export interface Stop {
  path: string;
  heading: string;
  /** A text, or what something is called (a chart, a button with an icon), that is visible once the page has its data. */
  there?: string | RegExp;
  /** What else is opened on it. */
  open?: (page: Page) => Promise<void>;
}

/** Waits for a page's heading and its data. */
export async function isThere(page: Page, { heading, there }: Stop): Promise<void> {
  await page.getByRole("heading", { name: heading, exact: true }).waitFor();
  if (there === undefined) return;
  const named = page.getByText(there).or(page.getByLabel(there));
  await named.filter({ visible: true }).first().waitFor();
}

/** Checks each page of the console, and again with what is opened on it. */
export async function visitAll({ browser, page, check }: Touring, stops: Stop[]): Promise<void> {
  for (const [index, stop] of stops.entries()) {
    const { path, open } = stop;
    // What opens is opened on the smallest screen, where something else is most easily in the way.
    await takeScreen(browser, open === undefined ? index : 0);
    await page.goto(`/console${path}`);
    await isThere(page, stop);
    await check(path);
    await open?.(page);
    if (open !== undefined) await check(`${path}, opened`);
  }
}

/** Clicks what opens a dialog. */
export async function openDialog(page: Page, button: RegExp): Promise<void> {
  await page.getByRole("button", { name: button }).first().click();
  await page.getByRole("dialog").waitFor();
}
