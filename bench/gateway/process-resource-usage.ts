/**
 * Measures processor time and memory of processes, the load of the whole machine, and the speed of its disk. The
 * figures come from /proc, so it works on Linux only.
 */
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

/** Microseconds by the clock that all processes of the machine share. */
export const nowUs = (): number => Number(process.hrtime.bigint() / 1000n);

/** The kernel reports processor time to user space in hundredths of a second. */
const TICK_US = 10_000;
const KIB_PER_MIB = 1024;

export interface WatchedProcess {
  pid: number;
  /** Whether child processes count too, such as nginx's workers and PostgreSQL's backends. */
  withChildren: boolean;
}

/**
 * Two measures of the same processor time: the kernel's ticks include threads that have ended; the scheduler's count is
 * exact but without those threads.
 */
export interface CpuTimeReading {
  ticksUs: number;
  exactUs: number;
}

export function readCpuTime(watched: WatchedProcess): CpuTimeReading {
  const count = { ticksUs: 0, exactUs: 0 };
  for (const pid of listProcesses(watched)) {
    const stat = readProc(`${pid}/stat`);
    if (stat === undefined) continue;
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // The fields utime and stime; with child processes also cutime and cstime, the times of children that have ended.
    const times = fields.slice(11, watched.withChildren ? 15 : 13).map(Number);
    count.ticksUs += times.reduce((sum, ticks) => sum + ticks, 0) * TICK_US;
    for (const thread of listProc(`${pid}/task`)) {
      const [ranNs] = readProc(`${pid}/task/${thread}/schedstat`)?.split(" ") ?? [];
      count.exactUs += Number(ranNs ?? 0) / 1000;
    }
  }
  return count;
}

export const cpuSpentUs = (before: CpuTimeReading, after: CpuTimeReading): number =>
  Math.max(after.ticksUs - before.ticksUs, after.exactUs - before.exactUs);

/** How often a process was woken, called read and called write. */
export interface SystemCallCounts {
  wakeUps: number;
  reads: number;
  writes: number;
}

/** Returns the sums over all threads. */
export function countSystemCalls(watched: WatchedProcess): SystemCallCounts {
  const count = { wakeUps: 0, reads: 0, writes: 0 };
  for (const pid of listProcesses(watched)) {
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

/**
 * Returns the maximum memory since `resetPeakMemory`, in MiB. Memory that several processes share counts once for each.
 */
export function readPeakMemoryMib(watched: WatchedProcess): number {
  return memoryMib(watched, "VmHWM");
}

export function readResidentMemoryMib(watched: WatchedProcess): number {
  return memoryMib(watched, "VmRSS");
}

/**
 * Returns the processes' own memory and their part of shared memory, in MiB: PostgreSQL's backends share most of
 * theirs.
 */
export function readProportionalMemoryMib(watched: WatchedProcess): number {
  let kib = 0;
  for (const pid of listProcesses(watched)) kib += numberAfter(readProc(`${pid}/smaps_rollup`) ?? "", "Pss");
  return kib / KIB_PER_MIB;
}

export const countProcesses = (watched: WatchedProcess): number => listProcesses(watched).length;

/** Resets the peak. Works only for the process's owner; otherwise the peak counts from the start of the process. */
export function resetPeakMemory(watched: WatchedProcess): void {
  for (const pid of listProcesses(watched)) {
    try {
      writeFileSync(`/proc/${pid}/clear_refs`, "5");
    } catch (error) {
      if (!["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(codeOf(error))) throw error;
    }
  }
}

/**
 * Returns the processor time of all processors together: used by this machine, and taken by other virtual machines on
 * the hardware.
 */
export function readMachineCpuUs(): { busy: number; stolen: number } {
  const [line = ""] = readFileSync("/proc/stat", "utf8").split("\n", 1);
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return { busy: (user + nice + system + irq + softirq) * TICK_US, stolen: steal * TICK_US };
}

function memoryMib(watched: WatchedProcess, field: string): number {
  let kib = 0;
  for (const pid of listProcesses(watched)) {
    kib += numberAfter(readProc(`${pid}/status`) ?? "", field);
  }
  return kib / KIB_PER_MIB;
}

function listProcesses({ pid, withChildren }: WatchedProcess): number[] {
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

/** Returns the file's text, or undefined if the process or thread has ended. */
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

/** The median time in milliseconds to make a small write durable, which every commit waits for. */
export function measureDurableWriteMs(directory: string): number {
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
