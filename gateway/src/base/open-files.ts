/**
 * The file descriptors of this process: connections, files, sockets. Where they are used up, the system resets new connections without a
 * word, and neither the database nor the spool can be opened. So requests are refused before, with an answer.
 */
import { readdirSync, readFileSync } from "node:fs";
import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";
import { sparingLog } from "./sparing-log.ts";

const COUNT_EVERY_MS = 1_000;

export interface OpenFiles {
  count(): number;
  max: number;
}

/** Undefined where the system does not say. */
export function systemOpenFiles(): OpenFiles | undefined {
  try {
    const [, max] = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return max === undefined ? undefined : { count: () => readdirSync("/proc/self/fd").length, max: Number(max) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Pure. An eighth, up to 256, stays free for connections to the database and the plane, and for the spool. */
export const filesAreShort = (state: { open: number; max: number }): boolean => exceeds(state, 1);

/** Pure. Half of that eighth is in use. */
export const filesAreAlmostGone = (state: { open: number; max: number }): boolean => exceeds(state, 1 / 2);

const exceeds = ({ open, max }: { open: number; max: number }, share: number): boolean =>
  open > max - Math.min(256, Math.ceil(max / 8)) * share;

export interface FileWatch {
  /** A client's connection began; call the returned function when it has ended. */
  connected(): () => void;
  /** Whether a request that comes now is to be refused. */
  refuses(): boolean;
  /** Whether a connection that comes now is to be closed before it asks anything. */
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
  const sparing = sparingLog(log, clock);
  const { max } = files;
  let counted = files.count();
  /** Connections that began less those that ended since they were counted. */
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
