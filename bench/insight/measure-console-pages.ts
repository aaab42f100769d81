/**
 * Measures the console's pages on a long history in a real Chromium with cold caches: for every visit, gateway and
 * PostgreSQL are restarted and the browser has a new profile. The system's own cache of the database's files remains.
 */
import { cpus, loadavg } from "node:os";
import { type Platform, startPlatform } from "@tollgate/stage/dev-platform.ts";
import { PRIVATE_DATABASE_ENV } from "@tollgate/stage/stage-database.ts";
import { publicId, type Uuid } from "../../gateway/src/base/ids.ts";
import { type SessionCookies, signInForCookies, visitPage } from "../console/measure-pages.ts";
import { longHistoryPages, type MeasuredPage } from "../console/measured-pages.ts";
import { computePageFigures, type PageFigures } from "../console/page-figures.ts";
import { compareWithTarget, formatMedianAndRange, markdownTable, median } from "../console/report.ts";
import { cpuSpentUs, readCpuTime, type WatchedProcess } from "../gateway/process-resource-usage.ts";
import type { SeededAccounts } from "../history/seed-history.ts";

/** Part of a page's name: only matching pages are visited. Undefined: all pages. */
const ONLY = process.env.BENCH_PAGE;
/** API answers slower than this are listed one by one. */
const SLOW_MS = 100;

interface Visited extends PageFigures {
  /**
   * Processor time of the gateway and of PostgreSQL in ms, from before the visit to a second after the page was
   * complete.
   */
  gatewayMs: number;
  postgresMs: number;
}

type Sessions = Record<"builder" | "operator", SessionCookies>;
type Visits = [MeasuredPage, Visited[]][];

/** A platform's data directory with a history of this many requests. */
export interface LongHistory {
  rows: number;
  dataDir: string;
  cast: SeededAccounts;
}

/** Visits the pages on each history in alternation, and prints the figures of the others relative to the last one's. */
export async function measureConsolePages(histories: LongHistory[], rounds: number): Promise<void> {
  const measured = await Promise.all(
    histories.map(async (history) => ({ ...history, sessions: await signIn(history), visits: visitsOf(history) })),
  );
  const pages = measured[0]?.visits.length ?? 0;
  for (let round = 1; round <= rounds; round++) {
    for (let i = 0; i < pages; i++) {
      for (const { rows, dataDir, sessions, visits } of measured) {
        const [page, visited] = visits[i] as Visits[number];
        const figures = await visitCold(dataDir, sessions, page);
        visited.push(figures);
        const ms = [figures.interactiveMs, figures.taskMs, figures.gatewayMs, figures.postgresMs].map(Math.round);
        const [load] = loadavg() as [number, number, number];
        console.log(
          `${page.name}, ${rows} requests: ${ms.join(" ")} ms, shift ${figures.shift.toFixed(3)}, load ${load.toFixed(1)}`,
        );
      }
    }
    console.log(`round ${round} of ${rounds}`);
  }
  console.log(`\nMilliseconds, median (least–worst) of ${rounds}. ${cpus().length} processors.`);
  for (const { rows, visits } of measured) {
    console.log(`\n${rows} requests:\n\n${timesTable(visits)}`);
    console.log(`\nAnswers of ${SLOW_MS} ms and more, by the least:\n${slowAnswers(visits).join("\n") || "none"}`);
    const [first] = visits;
    if (first !== undefined) console.log(`\n${compareWithTarget(`${first[0].name}, ${first[0].cache}`, first[1])}`);
  }
  const last = measured.at(-1);
  for (const { rows, visits } of measured.slice(0, -1)) {
    console.log(`\n${rows} requests relative to ${last?.rows}:\n\n${ratiosTable(visits, last?.visits ?? [])}`);
  }
}

const visitsOf = ({ cast }: LongHistory): Visits =>
  longHistoryPages({
    builder: publicId("acc", cast.builder as Uuid),
    node: publicId("node", cast.nodes[0] as Uuid),
  })
    .filter(({ name }) => ONLY === undefined || name.includes(ONLY))
    .map((page) => [page, []]);

/**
 * Signs in. Makes the development platform's builder the owner of the accounts with the long history instead of its own
 * accounts.
 */
async function signIn({ dataDir, cast: { builder, host } }: LongHistory): Promise<Sessions> {
  const platform = await start(dataDir);
  try {
    const { builder: person, operator } = platform.ready;
    await platform.query(
      `update account_owner o set account_id = $2 from identity i, account a
        where i.email = $1 and o.identity_id = i.id and o.account_id = a.id and a.kind = 'builder' and a.id <> $2`,
      [person.email, builder],
    );
    await platform.query(
      `insert into account_owner (identity_id, account_id) select id, $2 from identity where email = $1
       on conflict do nothing`,
      [person.email, host],
    );
    await platform.query(
      `delete from account_owner o using identity i, account a
        where i.email = $1 and o.identity_id = i.id and o.account_id = a.id and a.kind = 'host' and a.id <> $2`,
      [person.email, host],
    );
    return { builder: await signInForCookies(platform, person), operator: await signInForCookies(platform, operator) };
  } finally {
    await platform.stop();
  }
}

/**
 * The settings of a production platform, which opens database connections for the console in advance; test suites do
 * not.
 */
const AS_SHIPPED = { ...PRIVATE_DATABASE_ENV, DATABASE_POOL_MIN: "6" };
const start = (dataDir: string): Promise<Platform> => startPlatform(dataDir, ["--no-node"], AS_SHIPPED);

async function visitCold(dataDir: string, sessions: Sessions, page: MeasuredPage): Promise<Visited> {
  const platform = await start(dataDir);
  try {
    const { gateway_url: url, pids } = platform.ready;
    const session = page.who === "nobody" ? undefined : sessions[page.who].map((cookie) => ({ ...cookie, url }));
    await untilAtRest(pids.gateway);
    const gateway = spending({ pid: pids.gateway, withChildren: false });
    const postgres = spending({ pid: pids.postgres as number, withChildren: true });
    const visited = await visitPage(platform, session, page);
    const spent = { gatewayMs: gateway(), postgresMs: postgres() };
    return { ...(await computePageFigures(visited)), ...spent };
  } finally {
    await platform.stop();
  }
}

const REST_MS = 500;
const REST_CPU_MS_MAX = 20;

/** Waits until the gateway is idle: deferred work continues for a moment after the gateway reports that it is ready. */
async function untilAtRest(pid: number): Promise<void> {
  for (;;) {
    const spent = spending({ pid, withChildren: false });
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    if (spent() <= REST_CPU_MS_MAX) return;
  }
}

/** Returns a function that returns the processor time since this call, in milliseconds. */
function spending(watched: WatchedProcess): () => number {
  const before = readCpuTime(watched);
  return () => cpuSpentUs(before, readCpuTime(watched)) / 1_000;
}

const COLUMNS: Record<string, (visited: Visited) => number> = {
  "First paint": ({ fcpMs }) => fcpMs,
  "All numbers": ({ drawnMs }) => drawnMs,
  Interactive: ({ interactiveMs }) => interactiveMs,
  "Slowest answer": ({ answersMs }) => Math.max(...answersMs.values()),
  "Page's processor": ({ taskMs }) => taskMs,
  "Gateway's processor": ({ gatewayMs }) => gatewayMs,
  "PostgreSQL's processor": ({ postgresMs }) => postgresMs,
};

const timesTable = (visits: Visits): string =>
  markdownTable(
    ["Page", ...Object.keys(COLUMNS)],
    visits.map(([{ name }, visited]) => [
      name,
      ...Object.values(COLUMNS).map((of) => formatMedianAndRange(visited.map(of))),
    ]),
  );

const ratiosTable = (visits: Visits, others: Visits): string =>
  markdownTable(
    ["Page", ...Object.keys(COLUMNS)],
    visits.map(([{ name }, visited], i) => [
      name,
      ...Object.values(COLUMNS).map((of) => {
        const [, beside] = others[i] as Visits[number];
        return (median(visited.map(of)) / median(beside.map(of))).toFixed(2);
      }),
    ]),
  );

function slowAnswers(visits: Visits): string[] {
  return visits.flatMap(([{ name }, visited]) => {
    const questions = new Set(visited.flatMap(({ answersMs }) => [...answersMs.keys()]));
    return [...questions].flatMap((question) => {
      const times = visited.flatMap(({ answersMs }) => answersMs.get(question) ?? []);
      return Math.min(...times) < SLOW_MS ? [] : [`${name}: ${question} ${formatMedianAndRange(times)}`];
    });
  });
}
