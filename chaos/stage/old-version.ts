/** The sources of an older commit beside these, with the packages that are installed here, so that a rolling upgrade has a "from". */
import { execFileSync, spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { lstat, mkdir, mkdtemp, readdir, readlink, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ROOT } from "./gateway.ts";

/** Until there are tags: the last commit before the gateway learned to drain. */
const LAST_RELEASE = "85c0197999c15c7e07364a14472c0ca822d050c6";

type Found = { commit: string } | { why: string };

/** The commit to upgrade from: the one that is named, else the newest tag, else the one above. */
export function findOldVersion(named: string | undefined): Found {
  const tags = git("tag", "--sort=-creatordate").split("\n");
  const revision = named ?? (tags[0] || LAST_RELEASE);
  const commit = git("rev-parse", "--verify", "--quiet", `${revision}^{commit}`);
  if (commit === "") return { why: `there is no ${revision} in the history of this checkout` };
  if (commit === git("rev-parse", "HEAD")) return { why: `${revision} is what is checked out` };
  return { commit };
}

function git(...args: string[]): string {
  return spawnSync("git", args, { cwd: ROOT, encoding: "utf8" }).stdout?.trim() ?? "";
}

/** Gives where it is: a directory that ends with this process. */
export async function unpackVersion(commit: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "tollgate-chaos-old-"));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  const archive = execFileSync("git", ["archive", commit], { cwd: ROOT, maxBuffer: 1 << 30 });
  execFileSync("tar", ["-x", "-C", directory], { input: archive });
  for (const part of [".", "gateway", "host", "api", "protocol"]) {
    await linkPackages(join(ROOT, part, "node_modules"), join(directory, part, "node_modules"));
  }
  return directory;
}

/** Packages are linked; the workspace's own are links already, and lead to the sources beside them: here those of the commit. */
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
