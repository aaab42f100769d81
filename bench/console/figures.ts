/** What a visit comes to: the figures people know from other tools, worked out from what the observers saw. */

const LONG_MS = 50;
/** Shifts that follow one another within a second, for at most five, belong together; the worst such group counts. */
const SHIFT_GAP_MS = 1_000;
const SHIFT_GROUP_MS = 5_000;

/** What the observers saw; times are milliseconds since the page was asked for. */
export interface Seen {
  fcp: number | null;
  lcp: number | null;
  shifts: { at: number; value: number }[];
  tasks: { from: number; to: number }[];
  askedAt: number;
  drawnAt: number;
}

export interface Loaded {
  serverMs: number;
  files: { name: string; transferSize: number; encodedBodySize: number }[];
}

export interface Processor {
  /** Of the page's main thread, in milliseconds of processor time. */
  taskMs: number;
  scriptMs: number;
  layoutMs: number;
  styleMs: number;
  heapBytes: number;
}

export interface Figures extends Processor {
  fcpMs: number;
  lcpMs: number;
  shift: number;
  blockedMs: number;
  interactiveMs: number;
  serverMs: number;
  requests: number;
  scriptBytes: number;
  /** The same scripts for a client that takes gzip and nothing better. */
  scriptGzipBytes: number;
  styleBytes: number;
  allBytes: number;
}

export async function figuresOf(seen: Seen, { serverMs, files }: Loaded, processor: Processor): Promise<Figures> {
  if (seen.fcp === null || seen.lcp === null) throw new Error("the page painted nothing");
  const interactiveMs = freeFrom(Math.max(seen.drawnAt, seen.fcp), seen.tasks);
  const fetched = files.filter(({ transferSize }) => transferSize > 0);
  const bytes = (ending: string): number =>
    sum(fetched.filter(({ name }) => name.endsWith(ending)).map(({ transferSize }) => transferSize));
  const scripts = fetched.filter(({ name }) => name.endsWith(".js"));
  return {
    ...processor,
    fcpMs: seen.fcp,
    lcpMs: seen.lcp,
    shift: worstShift(seen.shifts),
    blockedMs: blocked(seen.tasks, seen.fcp, interactiveMs),
    interactiveMs,
    serverMs,
    requests: fetched.length,
    scriptBytes: bytes(".js"),
    scriptGzipBytes: sum(await Promise.all(scripts.map(({ name }) => gzipBytes(name)))),
    styleBytes: bytes(".css"),
    allBytes: sum(fetched.map(({ transferSize }) => transferSize)),
  };
}

type Task = Seen["tasks"][number];

/** The first moment from `at` on that lies in no long task. */
export function freeFrom(at: number, tasks: Task[]): number {
  let free = at;
  for (const { from, to } of tasks.toSorted((a, b) => a.from - b.from)) if (from <= free && free < to) free = to;
  return free;
}

/** What was more than 50 ms of each task between the first paint and the moment the page could be used. */
export function blocked(tasks: Task[], from: number, to: number): number {
  return sum(tasks.map((task) => Math.max(0, Math.min(task.to, to) - Math.max(task.from, from) - LONG_MS)));
}

export function worstShift(shifts: Seen["shifts"]): number {
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
