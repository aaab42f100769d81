/** Measures the processor time of all processes of a session, and stops them. Uses Linux's /proc. */
import { readdirSync, readFileSync } from "node:fs";

const TICKS_PER_SECOND = 100;
/** The positions of fields in /proc/PID/stat, counted after the process name, which may contain any character. */
const [SESSION, USER_TICKS, SYSTEM_TICKS] = [3, 11, 12];

interface Member {
  pid: number;
  cpuSeconds: number;
}

function membersOf(session: number): Member[] {
  return readdirSync("/proc").flatMap((name) => {
    const fields = statOf(name);
    if (Number(fields?.[SESSION]) !== session) return [];
    const ticks = Number(fields?.[USER_TICKS]) + Number(fields?.[SYSTEM_TICKS]);
    return [{ pid: Number(name), cpuSeconds: ticks / TICKS_PER_SECOND }];
  });
}

function statOf(name: string): string[] | undefined {
  if (!/^\d+$/.test(name)) return undefined;
  try {
    const text = readFileSync(`/proc/${name}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch (error) {
    // The process ended before its file in /proc was read.
    if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

export function measureCpuSeconds(session: number): number {
  return membersOf(session).reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
}

export function endSession(session: number): void {
  for (const { pid } of membersOf(session)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}
