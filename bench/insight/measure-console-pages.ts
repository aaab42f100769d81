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
import { compareWithTarget, formatMedianAndRange, markdownTable } from "../console/report.ts";
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

export async function measureConsolePages(dataDir: string, cast: SeededAccounts, rounds: number): Promise<void> {
  const sessions = await signIn(dataDir, cast);
  const pages = longHistoryPages({
    builder: publicId("acc", cast.builder as Uuid),
    node: publicId("node", cast.nodes[0] as Uuid),
  }).filter(({ name }) => ONLY === undefined || name.includes(ONLY));
  const visits = new Map(pages.map((page): [MeasuredPage, Visited[]] => [page, []]));
  for (let round = 1; round <= rounds; round++) {
    for (const [page, visited] of visits) {
      const figures = await visitCold(dataDir, sessions, page);
      visited.push(figures);
      const ms = [figures.drawnMs, figures.taskMs, figures.gatewayMs, figures.postgresMs].map(Math.round).join(" ");
      console.log(`${page.name}: ${ms} ms, shift ${figures.shift.toFixed(3)}`);
    }
    console.log(`round ${round} of ${rounds}`);
  }
  const [load] = loadavg() as [number, number, number];
  console.log(
    `\nMilliseconds, median (least–worst) of ${rounds}. ${cpus().length} processors, load ${load.toFixed(1)} at the end.\n`,
  );
  console.log(timesTable([...visits]));
  console.log(`\nAnswers of ${SLOW_MS} ms and more, by the least:\n${slowAnswers([...visits]).join("\n") || "none"}\n`);
  const [[first, visited]] = visits as Iterable<[MeasuredPage, Visited[]]> as [[MeasuredPage, Visited[]]];
  console.log(compareWithTarget(`${first.name}, ${first.cache}`, visited));
}

/**
 * Signs in. Makes the development platform's builder the owner of the accounts with the long history instead of its own
 * accounts.
 */
async function signIn(dataDir: string, { builder, host }: SeededAccounts): Promise<Sessions> {
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

function timesTable(visits: [MeasuredPage, Visited[]][]): string {
  const columns: Record<string, (visited: Visited) => number> = {
    "First paint": ({ fcpMs }) => fcpMs,
    "All numbers": ({ drawnMs }) => drawnMs,
    Interactive: ({ interactiveMs }) => interactiveMs,
    "Slowest answer": ({ answersMs }) => Math.max(...answersMs.values()),
    "Page's processor": ({ taskMs }) => taskMs,
    "Gateway's processor": ({ gatewayMs }) => gatewayMs,
    "PostgreSQL's processor": ({ postgresMs }) => postgresMs,
  };
  return markdownTable(
    ["Page", ...Object.keys(columns)],
    visits.map(([{ name, cache }, visited]) => [
      `${name}, ${cache}`,
      ...Object.values(columns).map((of) => formatMedianAndRange(visited.map(of))),
    ]),
  );
}

function slowAnswers(visits: [MeasuredPage, Visited[]][]): string[] {
  return visits.flatMap(([{ name }, visited]) => {
    const questions = new Set(visited.flatMap(({ answersMs }) => [...answersMs.keys()]));
    return [...questions].flatMap((question) => {
      const times = visited.flatMap(({ answersMs }) => answersMs.get(question) ?? []);
      return Math.min(...times) < SLOW_MS ? [] : [`${name}: ${question} ${formatMedianAndRange(times)}`];
    });
  });
}
