/**
 * Other versions of the sources beside these, so that an upgrade has a "from" and a "to". A version is a directory that ends with
 * this process; packages are those that are installed here where its lock file asks for the same ones, and installed for it
 * where it does not.
 */
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { cp, lstat, mkdir, mkdtemp, readdir, readFile, readlink, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** These sources. */
export const ROOT: string = fileURLToPath(new URL("../", import.meta.url));
/** The packages of gateways and agents. */
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

export type Found = { commit: string } | { why: string };

export function findCommit(revision: string): Found {
  const commit = git("rev-parse", "--verify", "--quiet", `${revision}^{commit}`);
  return commit === "" ? { why: `there is no ${revision} in the history of this checkout` } : { commit };
}

export function git(...args: string[]): string {
  return spawnSync("git", args, { cwd: ROOT, encoding: "utf8" }).stdout?.trim() ?? "";
}

/** Gives where it is. */
export async function unpackVersion(commit: string): Promise<string> {
  const directory = await newDirectory();
  const archive = execFileSync("git", ["archive", commit], { cwd: ROOT, maxBuffer: 1 << 30 });
  execFileSync("tar", ["-x", "-C", directory], { input: archive });
  if ((await packagesOf(ROOT)) === (await packagesOf(directory))) await linkAll(directory);
  else await promisify(execFile)("npm", INSTALL, { cwd: directory });
  return directory;
}

/** These sources as they lie here, to be changed there. */
export async function copyVersion(): Promise<string> {
  const directory = await newDirectory();
  for (const part of [...PARTS, "package.json"]) {
    await cp(join(ROOT, part), join(directory, part), {
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

/** Everything that the lock file installs for them, by place and version: who asks for the same can share it. */
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
      // As Node looks for it: beside the package, then further up.
      for (let at = place; ; at = at.slice(0, Math.max(0, at.lastIndexOf("/")))) {
        const inside = `${at === "" ? "" : `${at}/`}node_modules/${name}`;
        if (packages[inside] !== undefined) add(inside);
        if (packages[inside] !== undefined || at === "") break;
      }
    }
  };
  for (const part of PARTS) add(part);
  // The workspace's own parts are linked and not installed.
  const installed = [...found].filter(([place]) => place.includes("node_modules/") && !packages[place]?.link);
  return JSON.stringify(installed.sort());
}

async function linkAll(directory: string): Promise<void> {
  for (const part of [".", ...PARTS]) {
    await linkPackages(join(ROOT, part, "node_modules"), join(directory, part, "node_modules"));
  }
}

/** Packages are linked; the workspace's own are links already, and lead to the sources beside them: here those of the version. */
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
