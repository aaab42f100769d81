/**
 * Provides other versions of the sources, so that tests can upgrade from one to another. A version is a directory that
 * is removed when this process ends. If its lock file contains the same packages as this one, it uses the packages
 * installed here; otherwise they are installed for it.
 */
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { cp, lstat, mkdir, mkdtemp, readdir, readFile, readlink, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** The root directory of these sources. */
export const REPOSITORY_ROOT: string = fileURLToPath(new URL("../", import.meta.url));
/** The workspace packages that gateways and agents consist of. */
const PARTS = ["gateway", "host", "api", "protocol", "terminal", "demo-provider"];
const INSTALL = [
  "ci",
  "--omit=dev",
  "--ignore-scripts",
  "--no-audit",
  "--no-fund",
  "--workspace=gateway",
  "--workspace=host",
];

export type CommitLookup = { commit: string } | { why: string };

export function findCommit(revision: string): CommitLookup {
  const commit = runGit("rev-parse", "--verify", "--quiet", `${revision}^{commit}`);
  return commit === "" ? { why: `there is no ${revision} in the history of this checkout` } : { commit };
}

export function runGit(...args: string[]): string {
  return spawnSync("git", args, { cwd: REPOSITORY_ROOT, encoding: "utf8" }).stdout?.trim() ?? "";
}

/** Unpacks the sources of a commit and returns the path of their directory. */
export async function unpackVersion(commit: string): Promise<string> {
  const directory = await newDirectory();
  const archive = execFileSync("git", ["archive", commit], { cwd: REPOSITORY_ROOT, maxBuffer: 1 << 30 });
  execFileSync("tar", ["-x", "-C", directory], { input: archive });
  if ((await packagesOf(REPOSITORY_ROOT)) === (await packagesOf(directory))) await linkAll(directory);
  else await promisify(execFile)("npm", INSTALL, { cwd: directory });
  return directory;
}

/** Copies these sources, so that a test can change them, and returns the path of the copy. */
export async function copySources(): Promise<string> {
  const directory = await newDirectory();
  for (const part of [...PARTS, "package.json"]) {
    await cp(join(REPOSITORY_ROOT, part), join(directory, part), {
      recursive: true,
      filter: (source) => basename(source) !== "node_modules",
    });
  }
  await linkAll(directory);
  return directory;
}

async function newDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "tollgate-version-"));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

interface Locked {
  version?: string;
  resolved?: string;
  link?: true;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

/**
 * Returns the packages in the lock file that these parts need, by path and version. Versions with the same list can
 * share an installation.
 */
async function packagesOf(root: string): Promise<string> {
  const { packages } = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, Locked>;
  };
  const found = new Map<string, string>();
  const add = (place: string): void => {
    const locked = packages[place];
    if (locked === undefined || found.has(place)) return;
    found.set(place, locked.version ?? "");
    if (locked.link) add(locked.resolved ?? "");
    for (const name of Object.keys({ ...locked.dependencies, ...locked.optionalDependencies })) {
      // Searches like Node: beside the package first, then in the folders above.
      for (let at = place; ; at = at.slice(0, Math.max(0, at.lastIndexOf("/")))) {
        const inside = `${at === "" ? "" : `${at}/`}node_modules/${name}`;
        if (packages[inside] !== undefined) add(inside);
        if (packages[inside] !== undefined || at === "") break;
      }
    }
  };
  for (const part of PARTS) add(part);
  // The workspace's own parts are linked, not installed.
  const installed = [...found].filter(([place]) => place.includes("node_modules/") && !packages[place]?.link);
  return JSON.stringify(installed.sort());
}

async function linkAll(directory: string): Promise<void> {
  for (const part of [".", ...PARTS]) {
    await linkPackages(join(REPOSITORY_ROOT, part, "node_modules"), join(directory, part, "node_modules"));
  }
}

/**
 * Links the installed packages. The workspace's own parts are relative links to the sources beside them, so here they
 * lead to the version's own sources.
 */
async function linkPackages(from: string, to: string): Promise<void> {
  const names = await readdir(from).catch(() => []);
  for (const name of names) {
    const [source, target] = [join(from, name), join(to, name)];
    await mkdir(dirname(target), { recursive: true });
    if ((await lstat(source)).isSymbolicLink()) await symlink(await readlink(source), target);
    else if (name.startsWith("@")) await linkPackages(source, target);
    else await symlink(source, target);
  }
}
