/** Files that commands keep between runs in the user's configuration directory, readable only by the user. */
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
  // XDG says that a relative path must be ignored.
  if (named !== undefined && path.isAbsolute(named)) return path.join(named, "tollgate");
  if (platform === "darwin") return path.join(home, "Library", "Application Support", "tollgate");
  if (platform === "win32") return path.join(env.APPDATA ?? path.join(home, "AppData", "Roaming"), "tollgate");
  return path.join(home, ".config", "tollgate");
}

/** Undefined if the file does not exist. */
export const readPrivateFile = (path: string): Promise<string | undefined> => ifThere(readFile(path, "utf8"));

/** Replaces the whole file, and makes it and its directory readable for this user only. */
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

/** Returns whether the file existed. */
export async function removePrivateFile(path: string): Promise<boolean> {
  const there = (await ifThere(stat(path))) !== undefined;
  await rm(path, { force: true });
  return there;
}

export async function ifThere<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
