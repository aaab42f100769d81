/**
 * The process's file descriptors: connections, files, sockets. When none is left, the system resets new connections, and neither the
 * database nor the spool can be opened. So requests are refused earlier, with a proper answer.
 */
import { readdirSync, readFileSync } from "node:fs";
import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";
import { rateLimitedLog } from "./rate-limited-log.ts";

const COUNT_EVERY_MS = 1_000;

export interface OpenFiles {
  count(): number;
  max: number;
}

/** Undefined when the system does not report it. */
export function systemOpenFiles(): OpenFiles | undefined {
  try {
    const [, max] = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return max === undefined ? undefined : { count: () => readdirSync("/proc/self/fd").length, max: Number(max) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** True when less than an eighth of the file descriptors (at most 256) is free for the database, the plane and the spool. Pure. */
export const filesAreShort = (state: { open: number; max: number }): boolean => exceeds(state, 1);

/** True when half of that reserve is used. Pure. */
export const filesAreAlmostGone = (state: { open: number; max: number }): boolean => exceeds(state, 1 / 2);

const exceeds = ({ open, max }: { open: number; max: number }, share: number): boolean =>
  open > max - Math.min(256, Math.ceil(max / 8)) * share;

export interface FileWatch {
  /** A client connected; call the returned function when it disconnects. */
  connected(): () => void;
  /** Whether to refuse a new request. */
  refuses(): boolean;
  /** Whether to close a new connection before it sends a request. */
  refusesConnections(): boolean;
  state(): { open: number; max: number };
  stop(): void;
}

interface FileWatchOptions {
  files: OpenFiles;
  clock: Clock;
  log: Log;
}

export function watchOpenFiles({ files, clock, log }: FileWatchOptions): FileWatch {
  const sparing = rateLimitedLog(log, clock);
  const { max } = files;
  let counted = files.count();
  /** The change in connections since the last count. */
  let since = 0;
  const stop = clock.every(COUNT_EVERY_MS, () => {
    counted = files.count();
    since = 0;
  });
  const state = () => ({ open: counted + since, max });
  const refuses = (): boolean => {
    if (!filesAreShort(state())) return false;
    sparing.error("", state(), "file descriptors are running out: requests get 503 until some are free");
    return true;
  };
  return {
    connected() {
      since += 1;
      return () => {
        since -= 1;
      };
    },
    refuses,
    refusesConnections: () => filesAreAlmostGone(state()) && refuses(),
    state,
    stop,
  };
}
