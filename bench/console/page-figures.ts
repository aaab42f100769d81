/** Computes the figures of a page visit from the records of the browser's performance observers. */

const LONG_MS = 50;
/** Layout shifts less than a second apart, within at most five seconds, form a group; the worst group counts. */
const SHIFT_GAP_MS = 1_000;
const SHIFT_GROUP_MS = 5_000;

/** Records of the page's performance observers; times are milliseconds since the navigation began. */
export interface ObservedVisit {
  fcp: number | null;
  lcp: number | null;
  shifts: { at: number; value: number }[];
  tasks: { from: number; to: number }[];
  askedAt: number;
  drawnAt: number;
}

export interface LoadedFiles {
  serverMs: number;
  files: { name: string; transferSize: number; encodedBodySize: number; tookMs: number }[];
}

export interface ProcessorUse {
  /** Processor time of the page's main thread in milliseconds. */
  taskMs: number;
  scriptMs: number;
  layoutMs: number;
  styleMs: number;
  heapBytes: number;
}

export interface VisitRecords {
  seen: ObservedVisit;
  loaded: LoadedFiles;
  processor: ProcessorUse;
}

export interface PageFigures extends ProcessorUse {
  fcpMs: number;
  lcpMs: number;
  shift: number;
  blockedMs: number;
  /** When the browser drew the frame that shows all wanted elements. */
  drawnMs: number;
  interactiveMs: number;
  serverMs: number;
  requests: number;
  /** The response times of the console's API, by URL path. */
  answersMs: Map<string, number>;
  scriptBytes: number;
  /** The size of the page's scripts for a client that accepts only gzip. */
  scriptGzipBytes: number;
  styleBytes: number;
  allBytes: number;
}

export async function computePageFigures({
  seen,
  loaded: { serverMs, files },
  processor,
}: VisitRecords): Promise<PageFigures> {
  if (seen.fcp === null || seen.lcp === null) throw new Error("the page painted nothing");
  const drawnMs = Math.max(seen.drawnAt, seen.fcp);
  const interactiveMs = findFirstIdleMoment(drawnMs, seen.tasks);
  const fetched = files.filter(({ transferSize }) => transferSize > 0);
  const bytes = (ending: string): number =>
    sum(fetched.filter(({ name }) => name.endsWith(ending)).map(({ transferSize }) => transferSize));
  const scripts = fetched.filter(({ name }) => name.endsWith(".js"));
  return {
    ...processor,
    fcpMs: seen.fcp,
    lcpMs: seen.lcp,
    shift: computeWorstLayoutShift(seen.shifts),
    blockedMs: totalBlockingTime(seen.tasks, seen.fcp, interactiveMs),
    drawnMs,
    interactiveMs,
    serverMs,
    requests: fetched.length,
    answersMs: new Map(files.filter(isAnswer).map(({ name, tookMs }) => [questionOf(name), tookMs])),
    scriptBytes: bytes(".js"),
    scriptGzipBytes: sum(await Promise.all(scripts.map(({ name }) => gzipBytes(name)))),
    styleBytes: bytes(".css"),
    allBytes: sum(fetched.map(({ transferSize }) => transferSize)),
  };
}

const API = "/console/api/";
const isAnswer = ({ name }: LoadedFiles["files"][number]): boolean => new URL(name).pathname.startsWith(API);

/** Returns the API request without its parameter `from`, which differs in every run. */
function questionOf(address: string): string {
  const { pathname, searchParams } = new URL(address);
  const asked = [...searchParams].filter(([field]) => field !== "from").map((pair) => pair.join("="));
  return [pathname.slice(API.length), ...asked].join(" ");
}

type Task = ObservedVisit["tasks"][number];

/** The first moment from `at` on that is not within a long task. */
export function findFirstIdleMoment(at: number, tasks: Task[]): number {
  let free = at;
  for (const { from, to } of tasks.toSorted((a, b) => a.from - b.from)) if (from <= free && free < to) free = to;
  return free;
}

/** The sum of each task's time above 50 ms, between the first paint and the moment when the page is usable. */
export function totalBlockingTime(tasks: Task[], from: number, to: number): number {
  return sum(tasks.map((task) => Math.max(0, Math.min(task.to, to) - Math.max(task.from, from) - LONG_MS)));
}

export function computeWorstLayoutShift(shifts: ObservedVisit["shifts"]): number {
  let [worst, group, begun, last] = [0, 0, 0, Number.NEGATIVE_INFINITY];
  for (const { at, value } of shifts) {
    const joins = at - last < SHIFT_GAP_MS && at - begun < SHIFT_GROUP_MS;
    group = joins ? group + value : value;
    if (!joins) begun = at;
    last = at;
    worst = Math.max(worst, group);
  }
  return worst;
}

async function gzipBytes(url: string): Promise<number> {
  const response = await fetch(url, { headers: { "accept-encoding": "gzip" } });
  await response.bytes();
  return Number(response.headers.get("content-length"));
}

const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);
