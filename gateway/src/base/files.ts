/** Files that may not be there yet. */
import { readdir, readFile } from "node:fs/promises";

/** The file's text, or undefined when there is no such file. Any other trouble is an error. */
export async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** The names in a directory; none where there is no such directory. */
export async function readdirIfThere(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
