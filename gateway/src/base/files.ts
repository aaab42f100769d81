/** Files that may not be there yet. */
import { readFile } from "node:fs/promises";

/** The file's text, or undefined when there is no such file. Any other trouble is an error. */
export async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
