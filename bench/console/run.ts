/**
 * Measures the console in a real Chromium, with a whole platform and realistic data on this machine.
 *
 * Every round visits every page once, so that a busy minute of the machine affects all pages alike; BENCH_ROUNDS=3
 * shortens the run.
 */
import { cpus, loadavg } from "node:os";
import { buildConsole, CHROMIUM } from "../../e2e/console/console-browser.ts";
import { DEMO_USER } from "../../e2e/console/lifelike/demo-accounts.ts";
import { openLifelikePlatform } from "../../e2e/console/lifelike/lifelike-platform.ts";
import {
  type JourneyTimes,
  measurePage,
  measureRequestFilter,
  measureSignIn,
  type SessionsByRole,
  signInForCookies,
} from "./measure-pages.ts";
import { MEASURED_PAGES } from "./measured-pages.ts";
import type { PageFigures } from "./page-figures.ts";
import { compareWithTarget, formatMedianAndRange, formatPageTables, markdownTable } from "./report.ts";

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 7);
const FIRST_PAGE = "overview, cold";

function journeysTable(rounds: Map<string, JourneyTimes[]>): string {
  const lines = [...rounds].map(([name, journeys]) => [
    name,
    formatMedianAndRange(journeys.map(({ drawnMs }) => drawnMs)),
    formatMedianAndRange(journeys.map(({ interactiveMs }) => interactiveMs)),
  ]);
  return markdownTable(["Journey", "On the screen", "Interactive"], lines);
}

if (CHROMIUM === undefined) throw new Error("Chromium is not installed (Debian: apt-get install chromium)");
buildConsole();
console.log("Making a platform with a month of use …");
const { platform, close } = await openLifelikePlatform();
try {
  const sessions: SessionsByRole = {
    nobody: undefined,
    builder: await signInForCookies(platform, DEMO_USER),
    operator: await signInForCookies(platform, platform.ready.operator),
  };
  const pages = new Map<string, PageFigures[]>();
  const journeys = new Map<string, JourneyTimes[]>();
  const keep = <Kind>(all: Map<string, Kind[]>, name: string, one: Kind): void => {
    all.set(name, [...(all.get(name) ?? []), one]);
  };
  // The first round warms the gateway up and is not counted.
  for (let round = 0; round <= ROUNDS; round++) {
    const counted = round > 0;
    for (const measured of MEASURED_PAGES) {
      const figures = await measurePage(platform, sessions, measured);
      if (counted) keep(pages, `${measured.name}, ${measured.cache}`, figures);
    }
    const [signIn, filter] = [await measureSignIn(platform), await measureRequestFilter(platform, sessions)];
    if (!counted) continue;
    keep(journeys, "sign in → overview", signIn);
    keep(journeys, "filter of 100 requests → rows", filter);
    console.log(`round ${round} of ${ROUNDS}`);
  }
  const [load] = loadavg() as [number, number, number];
  console.log(
    `\nMilliseconds, median (least–worst) of ${ROUNDS}. ${cpus().length} processors, load ${load.toFixed(1)} at the end.\n`,
  );
  console.log(`${formatPageTables(pages)}\n\n${journeysTable(journeys)}\n`);
  console.log(compareWithTarget(FIRST_PAGE, pages.get(FIRST_PAGE) as PageFigures[]));
} finally {
  await close();
}
