/** Measures one visit to a console page, and two user journeys: signing in, and filtering the list of requests. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Platform } from "@tollgate/stage/dev-platform.ts";
import type { Page } from "playwright-core";
import { type BrowserSession, openBrowser } from "../../e2e/console/console-browser.ts";
import { DEMO_USER } from "../../e2e/console/lifelike/demo-accounts.ts";
import { ConsoleClient } from "../../e2e/console-client.ts";
import {
  type MeasuredPage,
  OVERVIEW_PAGE,
  REQUESTS_PAGE,
  type RequiredElements,
  SIGN_IN_PAGE,
} from "./measured-pages.ts";
import {
  computePageFigures,
  findFirstIdleMoment,
  type LoadedFiles,
  type ObservedVisit,
  type PageFigures,
  type ProcessorUse,
  type VisitRecords,
} from "./page-figures.ts";

const IN_PAGE = readFileSync(fileURLToPath(new URL("in-page.js", import.meta.url)), "utf8");
const SCREEN = { width: 1280, height: 800 };

/** A session's cookies, in the form that the browser accepts. */
export type SessionCookies = { name: string; value: string; url: string }[];

export async function signInForCookies(
  platform: Platform,
  who: { email: string; password: string },
): Promise<SessionCookies> {
  const client = await new ConsoleClient(platform).signIn(who);
  return [...client.cookies].map(([name, value]) => ({ name, value, url: platform.ready.gateway_url }));
}

async function freshBrowser(platform: Platform, session: SessionCookies | undefined): Promise<BrowserSession> {
  const browser = await openBrowser({ baseUrl: platform.ready.gateway_url, ...SCREEN });
  await browser.context.addInitScript(IN_PAGE);
  if (session !== undefined) await browser.context.addCookies(session);
  return browser;
}

/** Resolves when all wanted elements are on the page. */
const expectOn = (page: Page, wanted: RequiredElements[]): Promise<ObservedVisit> =>
  page.evaluate(`tollgateBench.expect(${JSON.stringify(wanted)})`);

/** Runs a user's action and resolves when all wanted elements are on the page; times count from the action's event. */
async function expectAfter(
  page: Page,
  { event, act, wanted }: { event: string; act: () => Promise<unknown>; wanted: RequiredElements[] },
): Promise<ObservedVisit> {
  // Registers the listener before the action starts: two parallel calls would not guarantee that order.
  await page.evaluate(
    `void (tollgateBench.coming = tollgateBench.expect(${JSON.stringify(wanted)}, ${JSON.stringify(event)}))`,
  );
  await act();
  return await page.evaluate("tollgateBench.coming");
}

const loadedBy = (page: Page): Promise<LoadedFiles> => page.evaluate("tollgateBench.loaded()");

export type SessionsByRole = Record<MeasuredPage["who"], SessionCookies | undefined>;

/** Visits one page and measures the work of its main thread. */
export async function visitPage(
  platform: Platform,
  session: SessionCookies | undefined,
  measured: MeasuredPage,
): Promise<VisitRecords> {
  const { path, cache, wanted } = measured;
  const browser = await freshBrowser(platform, session);
  try {
    if (cache === "warm") {
      const before = await browser.context.newPage();
      await before.goto(`/console${path}`, { waitUntil: "commit" });
      await expectOn(before, wanted);
      await before.close();
    }
    const { page } = browser;
    const processor = await processorOf(page);
    await page.goto(`/console${path}`, { waitUntil: "commit" });
    const seen = await expectOn(page, wanted);
    return { seen, loaded: await loadedBy(page), processor: await processor() };
  } finally {
    await browser.close();
  }
}

export const measurePage = async (
  platform: Platform,
  sessions: SessionsByRole,
  measured: MeasuredPage,
): Promise<PageFigures> => computePageFigures(await visitPage(platform, sessions[measured.who], measured));

const METRICS = {
  TaskDuration: "taskMs",
  ScriptDuration: "scriptMs",
  LayoutDuration: "layoutMs",
  RecalcStyleDuration: "styleMs",
} as const;

/**
 * Returns a function that reads the page's use of processor and memory. Processor time is used instead of wall time,
 * because the machine is shared. The heap is measured after a garbage collection.
 */
async function processorOf(page: Page): Promise<() => Promise<ProcessorUse>> {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  return async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    const secondsOf = (name: string): number => metrics.find((metric) => metric.name === name)?.value ?? Number.NaN;
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize } = await session.send("Runtime.getHeapUsage");
    const times = Object.entries(METRICS).map(([name, as]) => [as, secondsOf(name) * 1_000]);
    return { ...(Object.fromEntries(times) as Omit<ProcessorUse, "heapBytes">), heapBytes: usedSize };
  };
}

export interface JourneyTimes {
  /**
   * Milliseconds from the user's action to the frame that shows the result, and to the moment when the page responds
   * again.
   */
  drawnMs: number;
  interactiveMs: number;
}

/** Measures the time from pressing the button of a loaded sign-in page to the first page with its data. */
export async function measureSignIn(platform: Platform): Promise<JourneyTimes> {
  const browser = await freshBrowser(platform, undefined);
  const { page } = browser;
  try {
    await page.goto("/console/sign-in", { waitUntil: "commit" });
    await expectOn(page, SIGN_IN_PAGE.wanted);
    await page.getByLabel("Email").fill(DEMO_USER.email);
    await page.getByLabel("Password", { exact: true }).fill(DEMO_USER.password);
    const act = () => page.keyboard.press("Enter");
    return journeyOf(await expectAfter(page, { event: "submit", act, wanted: OVERVIEW_PAGE.wanted }));
  } finally {
    await browser.close();
  }
}

/**
 * Measures, on a page with a hundred requests, the time from entering a filter by model to the frame that shows only its rows.
 */
export async function measureRequestFilter(platform: Platform, sessions: SessionsByRole): Promise<JourneyTimes> {
  const browser = await freshBrowser(platform, sessions.builder);
  const { page } = browser;
  const hundred = [{ css: 'table[aria-label="Requests"] tbody tr', least: 100 }];
  try {
    await page.goto("/console/requests", { waitUntil: "commit" });
    await expectOn(page, REQUESTS_PAGE.wanted);
    await page.getByRole("button", { name: "Load more" }).scrollIntoViewIfNeeded();
    await expectOn(page, hundred);
    const filtered = [{ css: 'table[aria-label="Requests"] tbody td:nth-child(2)', least: 20, text: "small-8b" }];
    await page.getByRole("combobox", { name: "Filter" }).fill("model:small-8b");
    const act = () => page.keyboard.press("Enter");
    return journeyOf(await expectAfter(page, { event: "keydown", act, wanted: filtered }));
  } finally {
    await browser.close();
  }
}

const journeyOf = ({ askedAt, drawnAt, tasks }: ObservedVisit): JourneyTimes => ({
  drawnMs: drawnAt - askedAt,
  interactiveMs: findFirstIdleMoment(drawnAt, tasks) - askedAt,
});
