/** The pages that are measured, and what has to be there before somebody can use them; one visit to a page, and two journeys. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { openBrowser, type Visit } from "../../e2e/console/browser.ts";
import { PERSON } from "../../e2e/console/lifelike/cast.ts";
import type { Platform } from "../../e2e/platform.ts";
import { Visitor } from "../../e2e/visitor.ts";
import { type Figures, figuresOf, freeFrom, type Loaded, type Processor, type Seen } from "./figures.ts";

/** In the page's own terms: so many elements, each with this text where one is given. */
interface Wanted {
  css: string;
  least?: number;
  text?: string;
}

interface MeasuredPage {
  name: string;
  path: string;
  who: "nobody" | "builder" | "operator";
  /** With an empty cache in a fresh profile, or after a first visit with the same one. */
  cache: "cold" | "warm";
  wanted: Wanted[];
}

const rows = (table: string, least = 1): Wanted => ({ css: `table[aria-label="${table}"] tbody tr`, least });
const CHART = { css: "figure svg.recharts-surface" };

const REQUESTS_PAGE = [{ css: "h1", text: "Requests" }, rows("Requests", 50), { css: "select", least: 3 }];
const OVERVIEW = [{ css: "h1", text: "Overview" }, rows("Latest requests"), CHART];
const SIGN_IN = [{ css: "input[name=email]" }, { css: "input[name=password]" }, { css: "button[type=submit]" }];

export const PAGES: MeasuredPage[] = [
  { name: "sign-in", path: "/sign-in", who: "nobody", cache: "cold", wanted: SIGN_IN },
  { name: "overview", path: "/overview", who: "builder", cache: "cold", wanted: OVERVIEW },
  { name: "overview", path: "/overview", who: "builder", cache: "warm", wanted: OVERVIEW },
  { name: "requests", path: "/requests", who: "builder", cache: "warm", wanted: REQUESTS_PAGE },
  {
    name: "playground",
    path: "/playground",
    who: "builder",
    cache: "warm",
    wanted: [
      { css: "h1", text: "Playground" },
      { css: "select option" },
      { css: "section[aria-label=Conversation] button" },
    ],
  },
  {
    name: "operator's platform",
    path: "/operator",
    who: "operator",
    cache: "warm",
    wanted: [
      { css: "h1", text: "Platform" },
      { css: "table tbody tr", least: 6 },
      { ...CHART, least: 2 },
    ],
  },
];

const IN_PAGE = readFileSync(fileURLToPath(new URL("in-page.js", import.meta.url)), "utf8");
const SCREEN = { width: 1280, height: 800 };

/** Its cookies, as a browser takes them. */
type Session = { name: string; value: string; url: string }[];

export async function sessionOf(platform: Platform, who: { email: string; password: string }): Promise<Session> {
  const visitor = await new Visitor(platform).signIn(who);
  return [...visitor.cookies].map(([name, value]) => ({ name, value, url: platform.ready.base_url }));
}

async function freshBrowser(platform: Platform, session: Session | undefined): Promise<Visit> {
  const visit = await openBrowser({ baseUrl: platform.ready.base_url, ...SCREEN });
  await visit.context.addInitScript(IN_PAGE);
  if (session !== undefined) await visit.context.addCookies(session);
  return visit;
}

/** Everything that was asked for is there. */
const expectOn = (page: Page, wanted: Wanted[]): Promise<Seen> =>
  page.evaluate(`tollgateBench.expect(${JSON.stringify(wanted)})`);

/** The same after an act of the person, whose event begins the time. */
async function expectAfter(
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

const loadedBy = (page: Page): Promise<Loaded> => page.evaluate("tollgateBench.loaded()");

export type Sessions = Record<MeasuredPage["who"], Session | undefined>;

export async function measurePage(platform: Platform, sessions: Sessions, measured: MeasuredPage): Promise<Figures> {
  const { path, who, cache, wanted } = measured;
  const browser = await freshBrowser(platform, sessions[who]);
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
    return await figuresOf(seen, await loadedBy(page), await processor());
  } finally {
    await browser.close();
  }
}

const METRICS = {
  TaskDuration: "taskMs",
  ScriptDuration: "scriptMs",
  LayoutDuration: "layoutMs",
  RecalcStyleDuration: "styleMs",
} as const;

/** Processor time, not time by the clock: the machine is shared. The heap is what is left after a collection. */
async function processorOf(page: Page): Promise<() => Promise<Processor>> {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  return async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    const secondsOf = (name: string): number => metrics.find((metric) => metric.name === name)?.value ?? Number.NaN;
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize } = await session.send("Runtime.getHeapUsage");
    const times = Object.entries(METRICS).map(([name, as]) => [as, secondsOf(name) * 1_000]);
    return { ...(Object.fromEntries(times) as Omit<Processor, "heapBytes">), heapBytes: usedSize };
  };
}

export interface Journey {
  /** From the person's act to the frame that shows what was asked for, and to the moment the page is free again. */
  drawnMs: number;
  interactiveMs: number;
}

/** From pressing the button of the sign-in page, which is there already, to the first page with its data. */
export async function measureSignIn(platform: Platform): Promise<Journey> {
  const browser = await freshBrowser(platform, undefined);
  const { page } = browser;
  try {
    await page.goto("/console/sign-in", { waitUntil: "commit" });
    await expectOn(page, SIGN_IN);
    await page.getByLabel("E-mail").fill(PERSON.email);
    await page.getByLabel("Password", { exact: true }).fill(PERSON.password);
    const act = () => page.keyboard.press("Enter");
    return journeyOf(await expectAfter(page, { event: "submit", act, wanted: OVERVIEW }));
  } finally {
    await browser.close();
  }
}

/** On a page of a hundred requests: from choosing a model to its rows on the screen. */
export async function measureFilter(platform: Platform, sessions: Sessions): Promise<Journey> {
  const browser = await freshBrowser(platform, sessions.builder);
  const { page } = browser;
  const hundred = [{ css: 'table[aria-label="Requests"] tbody tr', least: 100 }];
  try {
    await page.goto("/console/requests", { waitUntil: "commit" });
    await expectOn(page, REQUESTS_PAGE);
    await page.getByRole("button", { name: "Load more" }).scrollIntoViewIfNeeded();
    await expectOn(page, hundred);
    const filtered = [{ css: 'table[aria-label="Requests"] tbody td:nth-child(2)', least: 20, text: "small-8b" }];
    const act = () => page.getByLabel("Model", { exact: true }).selectOption("small-8b");
    return journeyOf(await expectAfter(page, { event: "change", act, wanted: filtered }));
  } finally {
    await browser.close();
  }
}

const journeyOf = ({ askedAt, drawnAt, tasks }: Seen): Journey => ({
  drawnMs: drawnAt - askedAt,
  interactiveMs: freeFrom(drawnAt, tasks) - askedAt,
});
