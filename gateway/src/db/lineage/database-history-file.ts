/**
 * Stores the latest database history that the gateways of one directory have seen, in a file beside their spools. A
 * starting gateway compares it with the database. The file is written atomically. Each worker process writes its own
 * file but reads all of them. The reason: after a failover, it also replays lost changes from the journals of the other
 * workers.
 */
import { mkdir, open, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { readIfExists } from "../../base/read-if-exists.ts";
import type { DatabaseHistory } from "./history-rules.ts";

export const DATABASE_HISTORY_FILE_NAME = "history.json";

const StoredHistory = z.strictObject({
  system: z.string(),
  timeline: z.int(),
  epoch: z.uuid(),
  position: z.int(),
  /**
   * Each failover begins an epoch. This is the last one for which the commits in this directory's journals were entered
   * into the database again.
   */
  entered: z.uuid(),
});
export interface StoredHistory extends DatabaseHistory {
  entered: string;
}

export interface DatabaseHistoryStore {
  /** Reads the latest history. Undefined if none is stored. Rejects with the reason if the file is damaged. */
  read(): Promise<StoredHistory | undefined>;
  write(remembered: StoredHistory): Promise<void>;
}

/** `directories` lists the directories of all worker processes. By default there is a single process. */
export function openDatabaseHistoryFile(
  directory: string,
  directories = async (): Promise<string[]> => [directory],
): DatabaseHistoryStore {
  const path = join(directory, DATABASE_HISTORY_FILE_NAME);
  let writing: Promise<void> = Promise.resolve();
  return {
    async read() {
      let furthest: StoredHistory | undefined;
      for (const each of await directories()) {
        const found = await readHistory(join(each, DATABASE_HISTORY_FILE_NAME));
        if (furthest === undefined || (found !== undefined && isFurther(found, furthest))) furthest = found;
      }
      return furthest;
    },
    write(remembered) {
      const written = writing.then(() => replaceFile(path, remembered));
      // Only the caller gets the error. The next call writes again.
      writing = written.catch(() => undefined);
      return written;
    },
  };
}

async function replaceFile(path: string, remembered: StoredHistory): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  // The process ID keeps the temporary file unique, because several gateways may share the directory.
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

async function readHistory(path: string): Promise<StoredHistory | undefined> {
  const text = await readIfExists(path);
  if (text === undefined) return undefined;
  try {
    return StoredHistory.parse(JSON.parse(text));
  } catch (cause) {
    throw new Error(`${path} is damaged and cannot be read. If DATABASE_URL is the right database, remove the file`, {
      cause,
    });
  }
}

/** Whether one history is later. Epoch IDs contain their start time and sort by it. */
const isFurther = (one: StoredHistory, other: StoredHistory): boolean =>
  one.epoch === other.epoch ? one.position > other.position : one.epoch > other.epoch;
