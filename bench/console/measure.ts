/** One visit to a page, and the two journeys inside the console. */
import type { Page } from "playwright-core";
import { PERSON } from "../../e2e/console/lifelike/cast.ts";
import type { Platform } from "../../e2e/platform.ts";
import { expectAfter, expectOn, freshBrowser, loadedBy, type Seen, type Session } from "./browser.ts";
import { type Figures, figuresOf, freeFrom, type Processor } from "./figures.ts";
import { type MeasuredPage, OVERVIEW, REQUESTS_PAGE, SIGN_IN } from "./pages.ts";

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
