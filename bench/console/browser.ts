/** A browser for one measurement: a fresh profile, the observers in every page, and a way to be signed in without the form. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { type BrowserSession, openBrowser } from "../../e2e/console/browser.ts";
import { ConsoleClient } from "../../e2e/console-client.ts";
import type { Platform } from "../../e2e/platform.ts";
import type { Wanted } from "./pages.ts";

const IN_PAGE = readFileSync(fileURLToPath(new URL("in-page.js", import.meta.url)), "utf8");
const SCREEN = { width: 1280, height: 800 };

/** Its cookies, as a browser takes them. */
export type Session = { name: string; value: string; url: string }[];

export async function sessionOf(platform: Platform, who: { email: string; password: string }): Promise<Session> {
  const client = await new ConsoleClient(platform).signIn(who);
  return [...client.cookies].map(([name, value]) => ({ name, value, url: platform.ready.base_url }));
}

export async function freshBrowser(platform: Platform, session: Session | undefined): Promise<BrowserSession> {
  const browser = await openBrowser({ baseUrl: platform.ready.base_url, ...SCREEN });
  await browser.context.addInitScript(IN_PAGE);
  if (session !== undefined) await browser.context.addCookies(session);
  return browser;
}

/** What the observers saw; times are milliseconds since the page was asked for. */
export interface Seen {
  fcp: number | null;
  lcp: number | null;
  shifts: { at: number; value: number }[];
  tasks: { from: number; to: number }[];
  askedAt: number;
  drawnAt: number;
}

/** Everything that was asked for is there. */
export const expectOn = (page: Page, wanted: Wanted[]): Promise<Seen> =>
  page.evaluate(`tollgateBench.expect(${JSON.stringify(wanted)})`);

/** The same after an act of the person, whose event begins the time. */
export async function expectAfter(
  page: Page,
  { event, act, wanted }: { event: string; act: () => Promise<unknown>; wanted: Wanted[] },
): Promise<Seen> {
  // It has to listen before the act, which two calls at once would not promise.
  await page.evaluate(
    `void (tollgateBench.coming = tollgateBench.expect(${JSON.stringify(wanted)}, ${JSON.stringify(event)}))`,
  );
  await act();
  return await page.evaluate("tollgateBench.coming");
}

export interface Loaded {
  serverMs: number;
  files: { name: string; transferSize: number; encodedBodySize: number }[];
}

export const loadedBy = (page: Page): Promise<Loaded> => page.evaluate("tollgateBench.loaded()");
