/** This machine's properties and programs, for the commands. Tests pass in a fake machine instead. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { arch, cpus, freemem, homedir, hostname, platform, totalmem, userInfo } from "node:os";

const RUN_MS_MAX = 10_000;
const OUTPUT_BYTES_MAX = 4 * 1024 * 1024;

export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly arch: string;
  readonly hostname: string;
  readonly home: string;
  readonly user: string;
  readonly isRoot: boolean;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryBytes: number;
  freeMemoryBytes(): number;
  freeDiskBytes(path: string): Promise<number>;
  exists(path: string): boolean;
  /** Runs a program to its end. Returns undefined if the program does not exist. */
  run(program: string, args: readonly string[], options?: { timeoutMs?: number }): Promise<ProgramResult | undefined>;
}

export interface ProgramResult {
  /** The exit code; -1 if the program was killed, for example at its time limit. */
  code: number;
  output: string;
  errors: string;
}

export function thisMachine(): Machine {
  const processors = cpus();
  return {
    platform: platform(),
    arch: arch(),
    hostname: hostname(),
    home: homedir(),
    /** The name is read only on demand, because reading fails for a user without an entry in the system's user list. */
    get user() {
      return userInfo().username;
    },
    isRoot: process.getuid?.() === 0,
    cpu: processors[0]?.model.trim() ?? "unknown",
    cores: processors.length,
    memoryBytes: totalmem(),
    freeMemoryBytes: () => process.availableMemory?.() ?? freemem(),
    async freeDiskBytes(path) {
      const { bavail, bsize } = await statfs(path);
      return bavail * bsize;
    },
    exists: existsSync,
    run: (program, args, { timeoutMs = RUN_MS_MAX } = {}) =>
      new Promise((resolve) => {
        const limits = { timeout: timeoutMs, maxBuffer: OUTPUT_BYTES_MAX, encoding: "utf8" as const };
        execFile(program, args, limits, (error, output, errors) => {
          if (error === null) resolve({ code: 0, output, errors });
          else if (error.code === "ENOENT" || error.code === "EACCES") resolve(undefined);
          else resolve({ code: typeof error.code === "number" ? error.code : -1, output, errors });
        });
      }),
  };
}
