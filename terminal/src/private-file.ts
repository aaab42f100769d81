/**
 * Reads and writes files in the user's configuration directory, which commands keep between runs. Only the user can
 * read them.
 */
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, posix, win32 } from "node:path";

interface ConfigPlace {
  platform: NodeJS.Platform;
  home: string;
  env: { XDG_CONFIG_HOME?: string | undefined; APPDATA?: string | undefined };
}

export function configDirectory({ platform, home, env }: ConfigPlace): string {
  const path = platform === "win32" ? win32 : posix;
  const named = env.XDG_CONFIG_HOME;
  // The XDG specification requires that a relative path is ignored.
  if (named !== undefined && path.isAbsolute(named)) return path.join(named, "tollgate");
  if (platform === "darwin") return path.join(home, "Library", "Application Support", "tollgate");
  if (platform === "win32") return path.join(env.APPDATA ?? path.join(home, "AppData", "Roaming"), "tollgate");
  return path.join(home, ".config", "tollgate");
}

/** Reads a file. Undefined if it does not exist. */
export const readPrivateFile = (path: string): Promise<string | undefined> =>
  undefinedIfMissing(readFile(path, "utf8"));

/** Replaces the whole file, and makes the file and its directory readable only by the user. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const directory = dirname(path);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await chmod(directory, 0o700);
  const draft = `${path}.${process.pid}.new`;
  try {
    await writeFile(draft, text, { mode: 0o600, flag: "wx" });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Deletes a file. Returns whether it existed. */
export async function removePrivateFile(path: string): Promise<boolean> {
  const there = (await undefinedIfMissing(stat(path))) !== undefined;
  await rm(path, { force: true });
  return there;
}

export async function undefinedIfMissing<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
