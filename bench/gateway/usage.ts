/** Processor time and memory of processes, how busy the whole machine was, and how quick its disk is. From /proc: Linux only. */
import {
  closeSync,
  fdatasyncSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

/** Microseconds of the clock that all processes of the machine share. */
export const nowUs = (): number => Number(process.hrtime.bigint() / 1000n);

/** The kernel counts in hundredths of a second for everyone outside it. */
const TICK_US = 10_000;
const KIB_PER_MIB = 1024;

export interface Watched {
  pid: number;
  /** Its children belong to it: the workers of nginx, the backends of PostgreSQL. */
  withChildren: boolean;
}

/** Two counts of one thing: ticks remember threads that ended, the scheduler's count is exact and forgets them. */
export interface CpuCount {
  ticksUs: number;
  exactUs: number;
}

export function cpuOf(watched: Watched): CpuCount {
  const count = { ticksUs: 0, exactUs: 0 };
  for (const pid of processesOf(watched)) {
    const stat = readProc(`${pid}/stat`);
    if (stat === undefined) continue;
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // utime and stime, and of a tree also what ended children leave to their parent.
    const times = fields.slice(11, watched.withChildren ? 15 : 13).map(Number);
    count.ticksUs += times.reduce((sum, ticks) => sum + ticks, 0) * TICK_US;
    for (const thread of listProc(`${pid}/task`)) {
      const [ranNs] = readProc(`${pid}/task/${thread}/schedstat`)?.split(" ") ?? [];
      count.exactUs += Number(ranNs ?? 0) / 1000;
    }
  }
  return count;
}

export const spentUs = (before: CpuCount, after: CpuCount): number =>
  Math.max(after.ticksUs - before.ticksUs, after.exactUs - before.exactUs);

/** What a process was handed and handed on: how often it slept until something came, and its calls to read and to write. */
export interface HandOvers {
  wakeUps: number;
  reads: number;
  writes: number;
}

/** Of all its threads. */
export function handOversOf(watched: Watched): HandOvers {
  const count = { wakeUps: 0, reads: 0, writes: 0 };
  for (const pid of processesOf(watched)) {
    const io = readProc(`${pid}/io`) ?? "";
    count.reads += numberAfter(io, "syscr");
    count.writes += numberAfter(io, "syscw");
    for (const thread of listProc(`${pid}/task`))
      count.wakeUps += numberAfter(readProc(`${pid}/task/${thread}/status`) ?? "", "voluntary_ctxt_switches");
  }
  return count;
}

const numberAfter = (text: string, field: string): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0);

/** The most memory since `forgetPeak`, in MiB. Shared pages of a tree count once per process. */
export function peakMib(watched: Watched): number {
  return memoryMib(watched, "VmHWM");
}

export function residentMib(watched: Watched): number {
  return memoryMib(watched, "VmRSS");
}

/** What a tree has for itself and its part of what it shares: PostgreSQL's backends share most of their memory. */
export function proportionalMib(watched: Watched): number {
  let kib = 0;
  for (const pid of processesOf(watched)) kib += numberAfter(readProc(`${pid}/smaps_rollup`) ?? "", "Pss");
  return kib / KIB_PER_MIB;
}

export const processCount = (watched: Watched): number => processesOf(watched).length;

/** Needs to be the process's owner; elsewhere the peak is the one since it started. */
export function forgetPeak(watched: Watched): void {
  for (const pid of processesOf(watched)) {
    try {
      writeFileSync(`/proc/${pid}/clear_refs`, "5");
    } catch (error) {
      if (!["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(codeOf(error))) throw error;
    }
  }
}

/** Of all processors together: at work, and taken by other guests of the same hardware. */
export function machineUs(): { busy: number; stolen: number } {
  const [line = ""] = readFileSync("/proc/stat", "utf8").split("\n", 1);
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return { busy: (user + nice + system + irq + softirq) * TICK_US, stolen: steal * TICK_US };
}

function memoryMib(watched: Watched, field: string): number {
  let kib = 0;
  for (const pid of processesOf(watched)) {
    kib += numberAfter(readProc(`${pid}/status`) ?? "", field);
  }
  return kib / KIB_PER_MIB;
}

function processesOf({ pid, withChildren }: Watched): number[] {
  const found = [pid];
  if (!withChildren) return found;
  for (const parent of found) {
    for (const thread of listProc(`${parent}/task`)) {
      const children = readProc(`${parent}/task/${thread}/children`)?.trim() ?? "";
      if (children !== "") found.push(...children.split(" ").map(Number));
    }
  }
  return found;
}

/** Undefined for a process or thread that ended while we looked. */
function readProc(path: string): string | undefined {
  return whileItLives(() => readFileSync(`/proc/${path}`, "utf8"));
}

function listProc(path: string): string[] {
  return whileItLives(() => readdirSync(`/proc/${path}`)) ?? [];
}

function whileItLives<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes(codeOf(error))) return undefined;
    throw error;
  }
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? "";

const WRITES = 200;
const PAGE_BYTES = 8192;

/** How long the disk takes to make a small write durable, which every commit waits for: the median, in milliseconds. */
export function durableWriteMs(directory: string): number {
  const file = join(directory, "durable-write.tmp");
  const page = Buffer.alloc(PAGE_BYTES, 1);
  const descriptor = openSync(file, "w");
  const times: number[] = [];
  for (let i = 0; i < WRITES; i++) {
    const start = performance.now();
    writeSync(descriptor, page, 0, PAGE_BYTES, (i % 16) * PAGE_BYTES);
    fdatasyncSync(descriptor);
    times.push(performance.now() - start);
  }
  closeSync(descriptor);
  rmSync(file);
  return times.sort((a, b) => a - b)[WRITES / 2] ?? Number.NaN;
}
