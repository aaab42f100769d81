/**
 * Who had the processors: how long a gateway's main thread ran and how long it was ready and had to wait, and how much of the
 * machine went to processes that do not belong to the measurement. As the kernel says; where it does not, all of it is zero.
 */
import { existsSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

/** The kernel counts processor time in hundredths of a second. */
const TICK_MS = 10;

interface MachineUse {
  at: number;
  ranMs: number;
  waitedMs: number;
  othersMs: number;
}

/** `own`: the processes of the measurement, the gateway among them. */
export function machineUse(gateway: number, own: number[]): MachineUse {
  const at = performance.now();
  if (!existsSync("/proc/self/schedstat")) return { at, ranMs: 0, waitedMs: 0, othersMs: 0 };
  const [ran, waited] = numbersIn(`/proc/${gateway}/task/${gateway}/schedstat`) as [number, number];
  const ownTicks = own.reduce((sum, pid) => sum + ticksOf(pid), 0);
  return { at, ranMs: ran / 1e6, waitedMs: waited / 1e6, othersMs: (allTicks() - ownTicks) * TICK_MS };
}

/** `waitShare`: how many times as long as it ran the gateway waited. `othersShare`: of all processors. */
export function useBetween(from: MachineUse, to: MachineUse): { waitShare: number; othersShare: number } {
  const waitShare = (to.waitedMs - from.waitedMs) / Math.max(1, to.ranMs - from.ranMs);
  const othersShare = (to.othersMs - from.othersMs) / ((to.at - from.at) * availableParallelism());
  return { waitShare, othersShare };
}

/** Of user, nice, system, interrupts and what was stolen; not of idling. */
function allTicks(): number {
  const [line = ""] = readFileSync("/proc/stat", "utf8").split("\n", 1);
  const [user = 0, nice = 0, system = 0, , , irq = 0, soft = 0, steal = 0] = line
    .replace(/^cpu\s+/, "")
    .split(/\s+/)
    .map(Number);
  return user + nice + system + irq + soft + steal;
}

/** Of user and system. What stands before is the command's name, which may hold anything, in brackets. */
function ticksOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = text
    .slice(text.lastIndexOf(")") + 2)
    .split(" ")
    .map(Number);
  return (fields[11] ?? 0) + (fields[12] ?? 0);
}

const numbersIn = (file: string): number[] => readFileSync(file, "utf8").trim().split(/\s+/).map(Number);
