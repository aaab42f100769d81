/**
 * Stores the furthest history that the gateways of one directory have seen, in a file beside their spools, which a starting gateway
 * compares with the database. Written atomically. Each worker process writes its own file and reads all of them, because it also enters the
 * journals of its siblings.
 */
import { mkdir, open, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { readIfExists } from "../../base/files.ts";
import type { History } from "./rules.ts";

export const HISTORY_FILE = "history.json";

const RememberedHistory = z.strictObject({
  system: z.string(),
  timeline: z.int(),
  epoch: z.uuid(),
  position: z.int(),
  /** The last epoch for which this directory's journals were entered. */
  entered: z.uuid(),
});
export interface RememberedHistory extends History {
  entered: string;
}

export interface HistoryStore {
  /** Undefined before the first history. Rejects with the reason if the file is damaged. */
  read(): Promise<RememberedHistory | undefined>;
  write(remembered: RememberedHistory): Promise<void>;
}

/** `directories`: the directories of all workers; absent for a single process. */
export function historyFile(directory: string, directories = async (): Promise<string[]> => [directory]): HistoryStore {
  const path = join(directory, HISTORY_FILE);
  let writing: Promise<void> = Promise.resolve();
  return {
    async read() {
      let furthest: RememberedHistory | undefined;
      for (const each of await directories()) {
        const found = await readHistory(join(each, HISTORY_FILE));
        if (furthest === undefined || (found !== undefined && isFurther(found, furthest))) furthest = found;
      }
      return furthest;
    },
    write(remembered) {
      const written = writing.then(() => replaceFile(path, remembered));
      // The caller gets the error, and the next call writes again.
      writing = written.catch(() => undefined);
      return written;
    },
  };
}

async function replaceFile(path: string, remembered: RememberedHistory): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  // Several gateways may share the directory.
  const draft = `${path}.${process.pid}`;
  const file = await open(draft, "w", 0o600);
  try {
    await file.writeFile(`${JSON.stringify(remembered)}\n`);
    await file.datasync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
}

async function readHistory(path: string): Promise<RememberedHistory | undefined> {
  const text = await readIfExists(path);
  if (text === undefined) return undefined;
  try {
    return RememberedHistory.parse(JSON.parse(text));
  } catch (cause) {
    throw new Error(`${path} is damaged and cannot be read. If DATABASE_URL is the right database, remove the file`, {
      cause,
    });
  }
}

/** Epoch IDs contain their start time, which orders them. */
const isFurther = (one: RememberedHistory, other: RememberedHistory): boolean =>
  one.epoch === other.epoch ? one.position > other.position : one.epoch > other.epoch;
