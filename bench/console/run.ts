/**
 * What the console costs in a real Chromium, on this machine against a whole platform with lifelike data. Every round visits every
 * page once, so that a busy minute of the machine hits all alike; BENCH_ROUNDS=3 makes it shorter.
 */
import { cpus, loadavg } from "node:os";
import { buildConsole, CHROMIUM } from "../../e2e/console/browser.ts";
import { PERSON } from "../../e2e/console/lifelike/cast.ts";
import { openStage } from "../../e2e/console/lifelike/stage.ts";
import type { Figures } from "./figures.ts";
import { type Journey, measureFilter, measurePage, measureSignIn, PAGES, type Sessions, sessionOf } from "./measure.ts";

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 7);
const FIRST_PAGE = "overview, cold";

/** For the first page. */
const AIM_MS = 1_000;

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] as number;
const spread = (values: number[], digits = 0): string =>
  `${median(values).toFixed(digits)} (${Math.min(...values).toFixed(digits)}–${Math.max(...values).toFixed(digits)})`;
const kilobytes = (values: number[]): string => (median(values) / 1_000).toFixed(1);

type Of = (pick: (figures: Figures) => number) => number[];

const TIMES: Record<string, (of: Of) => string> = {
  "First paint": (of) => spread(of(({ fcpMs }) => fcpMs)),
  "Largest paint": (of) => spread(of(({ lcpMs }) => lcpMs)),
  Interactive: (of) => spread(of(({ interactiveMs }) => interactiveMs)),
  Blocked: (of) => spread(of(({ blockedMs }) => blockedMs)),
  Shift: (of) =>
    spread(
      of(({ shift }) => shift),
      3,
    ),
  Document: (of) =>
    spread(
      of(({ serverMs }) => serverMs),
      1,
    ),
};
const COSTS: Record<string, (of: Of) => string> = {
  Requests: (of) => String(median(of(({ requests }) => requests))),
  "JS, KB": (of) => kilobytes(of(({ scriptBytes }) => scriptBytes)),
  "JS gzip, KB": (of) => kilobytes(of(({ scriptGzipBytes }) => scriptGzipBytes)),
  "CSS, KB": (of) => kilobytes(of(({ styleBytes }) => styleBytes)),
  "All, KB": (of) => kilobytes(of(({ allBytes }) => allBytes)),
  "Heap, MB": (of) => (median(of(({ heapBytes }) => heapBytes)) / 1e6).toFixed(1),
  "Processor, ms": (of) => spread(of(({ taskMs }) => taskMs)),
  Script: (of) => spread(of(({ scriptMs }) => scriptMs)),
  Layout: (of) => spread(of(({ layoutMs }) => layoutMs)),
  Style: (of) => spread(of(({ styleMs }) => styleMs)),
};

function pagesTables(rounds: Map<string, Figures[]>): string {
  return [TIMES, COSTS]
    .map((columns) => {
      const lines = [...rounds].map(([name, figures]) => {
        const of: Of = (pick) => figures.map(pick);
        return [name, ...Object.values(columns).map((cell) => cell(of))];
      });
      return table(["Page", ...Object.keys(columns)], lines);
    })
    .join("\n\n");
}

function journeysTable(rounds: Map<string, Journey[]>): string {
  const lines = [...rounds].map(([name, journeys]) => [
    name,
    spread(journeys.map(({ drawnMs }) => drawnMs)),
    spread(journeys.map(({ interactiveMs }) => interactiveMs)),
  ]);
  return table(["Journey", "On the screen", "Interactive"], lines);
}

/** By the median, and by the least, to which others' work on the machine has added the least. */
function verdict(name: string, figures: Figures[]): string {
  const times = figures.map(({ interactiveMs }) => interactiveMs);
  const judged = (by: string, ms: number): string =>
    `${ms < AIM_MS ? "met" : "NOT MET"} by the ${by} (${ms.toFixed(0)} ms)`;
  const both = `${judged("median", median(times))}, ${judged("least", Math.min(...times))}`;
  return `The aim, ${name} interactive in under ${AIM_MS} ms: ${both}.`;
}

const table = (heads: string[], lines: string[][]): string =>
  [heads, heads.map(() => "---"), ...lines].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

if (CHROMIUM === undefined) throw new Error("Chromium is not installed (Debian: apt-get install chromium)");
buildConsole();
console.log("Making a platform with a month of use …");
const { platform, close } = await openStage();
try {
  const sessions: Sessions = {
    nobody: undefined,
    builder: await sessionOf(platform, PERSON),
    operator: await sessionOf(platform, platform.ready.operator),
  };
  const pages = new Map<string, Figures[]>();
  const journeys = new Map<string, Journey[]>();
  const keep = <Kind>(all: Map<string, Kind[]>, name: string, one: Kind): void => {
    all.set(name, [...(all.get(name) ?? []), one]);
  };
  // The first round warms the gateway up and is not counted.
  for (let round = 0; round <= ROUNDS; round++) {
    const counted = round > 0;
    for (const measured of PAGES) {
      const figures = await measurePage(platform, sessions, measured);
      if (counted) keep(pages, `${measured.name}, ${measured.cache}`, figures);
    }
    const [signIn, filter] = [await measureSignIn(platform), await measureFilter(platform, sessions)];
    if (!counted) continue;
    keep(journeys, "sign in → overview", signIn);
    keep(journeys, "filter of 100 requests → rows", filter);
    console.log(`round ${round} of ${ROUNDS}`);
  }
  const [load] = loadavg() as [number, number, number];
  console.log(
    `\nMilliseconds, median (least–worst) of ${ROUNDS}. ${cpus().length} processors, load ${load.toFixed(1)} at the end.\n`,
  );
  console.log(`${pagesTables(pages)}\n\n${journeysTable(journeys)}\n`);
  console.log(verdict(FIRST_PAGE, pages.get(FIRST_PAGE) as Figures[]));
} finally {
  await close();
}
