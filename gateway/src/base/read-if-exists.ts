/** Reads files that may not exist. */
import { readdir, readFile } from "node:fs/promises";

/** Returns the file's text, or undefined when the file does not exist. Throws on other failures. */
export async function readIfExists(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Returns the names in a directory. Empty when the directory does not exist. */
export async function readdirIfExists(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
