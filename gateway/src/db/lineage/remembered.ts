/**
 * The furthest history that the gateways of one directory have seen, in a file beside their spools. A gateway that starts compares the
 * database with it. The file is replaced whole, so that a crash leaves the old one or the new one.
 */
import { mkdir, open, readFile, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import type { History } from "./rules.ts";

export const HISTORY_FILE = "history.json";

const Remembered = z.strictObject({
  system: z.string(),
  timeline: z.int(),
  epoch: z.uuid(),
  position: z.int(),
  /** The last epoch for which the journals of this directory were entered. */
  entered: z.uuid(),
});
export interface Remembered extends History {
  entered: string;
}

export interface Memory {
  /** Undefined: nothing was seen yet. Rejects with what is wrong with the file. */
  read(): Promise<Remembered | undefined>;
  write(remembered: Remembered): Promise<void>;
}

export function historyFile(directory: string): Memory {
  const path = join(directory, HISTORY_FILE);
  return {
    async read() {
      let text: string;
      try {
        text = await readFile(path, "utf8");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
      try {
        return Remembered.parse(JSON.parse(text));
      } catch (cause) {
        throw new Error(`${path} cannot be read: it is damaged. Remove it if DATABASE_URL is the right database`, {
          cause,
        });
      }
    },
    async write(remembered) {
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
    },
  };
}
