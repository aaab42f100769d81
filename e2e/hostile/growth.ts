/** What an attack leaves behind: the gateway's memory at its highest, and its log. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import type { Stage } from "./stage.ts";

const LOOK_EVERY_MS = 50;
const MIB = 1024 * 1024;

interface Growth {
  /** The highest it rose above where it stood. */
  residentMib: number;
  logBytes: number;
}

/** As the kernel has it: a gateway that hangs still answers this way. */
function residentMib(pid: number): number {
  if (!existsSync("/proc/self/status")) return Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)])) / 1024;
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

export async function growthDuring(stage: Stage, run: () => Promise<unknown>): Promise<Growth> {
  const [resident, logBytes] = [residentMib(stage.pid), await stage.logBytes()];
  let highest = resident;
  const timer = setInterval(() => {
    highest = Math.max(highest, residentMib(stage.pid));
  }, LOOK_EVERY_MS);
  try {
    await run();
  } finally {
    clearInterval(timer);
  }
  highest = Math.max(highest, residentMib(stage.pid));
  return { residentMib: Math.round(highest - resident), logBytes: (await stage.logBytes()) - logBytes };
}

export function assertBounded(growth: Growth, max: { residentMib: number; logBytes: number }): void {
  const { residentMib: mib, logBytes } = growth;
  assert.ok(mib <= max.residentMib, `the gateway grew by ${mib} MiB; ${max.residentMib} are allowed`);
  assert.ok(logBytes <= max.logBytes, `the log grew by ${(logBytes / MIB).toFixed(2)} MiB`);
}
