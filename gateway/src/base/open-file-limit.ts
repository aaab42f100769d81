/**
 * Counts the process's file descriptors: connections, files, sockets. When none is left, the system resets new
 * connections, and neither the database nor the spool (settlements waiting on disk) can be opened. So requests are
 * refused earlier, with a proper answer.
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

/** Undefined when the operating system does not report the number. */
export function systemOpenFiles(): OpenFiles | undefined {
  try {
    const [, max] = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return max === undefined ? undefined : { count: () => readdirSync("/proc/self/fd").length, max: Number(max) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * Whether the reserve is in use: less than an eighth of the file descriptors (at most 256) is free. The reserve is for
 * the database, the plane and the spool. Pure.
 */
export const isDescriptorReserveUsed = (state: { open: number; max: number }): boolean => exceeds(state, 1);

/** Whether half of the reserve of file descriptors is in use. Pure. */
export const isHalfDescriptorReserveUsed = (state: { open: number; max: number }): boolean => exceeds(state, 1 / 2);

const exceeds = ({ open, max }: { open: number; max: number }, share: number): boolean =>
  open > max - Math.min(256, Math.ceil(max / 8)) * share;

export interface OpenFileMonitor {
  /** Counts a client's connection. The returned function must be called when the client disconnects. */
  connected(): () => void;
  /** Whether new requests are refused. */
  refuses(): boolean;
  /** Whether new connections are closed before they send a request. */
  refusesConnections(): boolean;
  state(): { open: number; max: number };
  stop(): void;
}

interface FileWatchOptions {
  files: OpenFiles;
  clock: Clock;
  log: Log;
}

export function watchOpenFiles({ files, clock, log }: FileWatchOptions): OpenFileMonitor {
  const sparing = rateLimitedLog(log, clock);
  const { max } = files;
  let counted = files.count();
  /** The number of connections opened minus closed since the last count. */
  let since = 0;
  const stop = clock.every(COUNT_EVERY_MS, () => {
    counted = files.count();
    since = 0;
  });
  const state = () => ({ open: counted + since, max });
  const refuses = (): boolean => {
    if (!isDescriptorReserveUsed(state())) return false;
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
    refusesConnections: () => isHalfDescriptorReserveUsed(state()) && refuses(),
    state,
    stop,
  };
}
