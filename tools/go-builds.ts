/**
 * Builds servers of other projects with Go, where Go is installed, and caches them per platform outside of node_modules, which every
 * fresh install empties.
 */
import { execFile } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** A large one takes minutes the first time, and longer where others want the processors too. */
const BUILD_MS_MAX = 900_000;

export const cacheFolder = (name: string): string =>
  fileURLToPath(new URL(`../.cache/${name}/${process.platform}-${process.arch}/`, import.meta.url));

/** `make` builds `binary` into a folder. Returns why it could not. */
export async function buildOnce(
  path: string,
  binary: string,
  make: (folder: string) => Promise<string | undefined>,
): Promise<string | undefined> {
  if (existsSync(path)) return undefined;
  mkdirSync(dirname(path), { recursive: true });
  // Built beside its place and renamed: it is whole or absent, and another run may build it too.
  const unfinished = mkdtempSync(join(dirname(path), "building-"));
  try {
    const why = await make(unfinished);
    if (why === undefined) renameSync(join(unfinished, binary), path);
    return why;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** As its authors build it. */
export const install =
  (what: string) =>
  (folder: string): Promise<string | undefined> =>
    go(["install", what], { env: { GOBIN: folder } });

/** As a dependency of a module that has nothing else, for what `go install` refuses because its module file replaces parts. */
export const buildAsDependency =
  ({ module, version, command }: { module: string; version: string; command: string }) =>
  (folder: string): Promise<string | undefined> => {
    writeFileSync(join(folder, "go.mod"), `module tollgate.test/build\n\ngo 1.25\n\nrequire ${module} ${version}\n`);
    const args = ["build", "-mod=mod", "-ldflags=-s -w", "-o", folder, `${module}/${command}`];
    return go(args, { cwd: folder, env: { CGO_ENABLED: "0" } });
  };

/** Out of a copy of its sources that `change` may touch, for what needs files that its module has not. Returns why it could not. */
export const buildChanged =
  (
    { module, version, binary }: { module: string; version: string; binary: string },
    change: (sources: string) => void,
  ) =>
  async (folder: string): Promise<string | undefined> => {
    let place: { Dir: string } | undefined;
    const download = ["mod", "download", "-json", `${module}@${version}`];
    const missing = await go(download, { env: {}, cwd: folder, hear: (text) => (place = JSON.parse(text)) });
    if (missing !== undefined || place === undefined) return missing;
    const sources = copySources(place.Dir, folder);
    change(sources);
    const args = ["build", "-ldflags=-s -w", "-o", join(folder, binary), "."];
    return go(args, { cwd: sources, env: { CGO_ENABLED: "0" } });
  };

/**
 * Out of a changed copy too, but with every module held to the go.mod and go.sum in `pins`: for what Go's checksum database does not
 * know. What has no hash there is refused, and so is what has another. Returns why it could not.
 */
export const buildPinned =
  (
    { pins, module, command, binary }: { pins: string; module: string; command: string; binary: string },
    change: (sources: string) => void,
  ) =>
  async (folder: string): Promise<string | undefined> => {
    for (const name of ["go.mod", "go.sum"]) cpSync(join(pins, name), join(folder, name));
    const what = `${module}/${command}`;
    let place = "";
    // `-e`: it may lack files that `change` puts there. A hash that is not there, or another, still ends it.
    const find = ["list", "-e", "-mod=readonly", "-find", "-f", "{{.Module.Dir}}", what];
    const missing = await go(find, { env: {}, cwd: folder, hear: (text) => (place = text.trim()) });
    if (missing !== undefined) return missing;
    change(copySources(place, folder));
    appendFileSync(join(folder, "go.mod"), `\nreplace ${module} => ./${SOURCES}\n`);
    const args = ["build", "-mod=readonly", "-ldflags=-s -w", "-o", join(folder, binary), what];
    return go(args, { cwd: folder, env: { CGO_ENABLED: "1" } });
  };

const SOURCES = "sources";

/** Writable, which Go's own copy of a module is not. */
function copySources(module: string, folder: string): string {
  const sources = join(folder, SOURCES);
  cpSync(module, sources, { recursive: true });
  for (const entry of readdirSync(sources, { recursive: true, withFileTypes: true })) {
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644);
  }
  chmodSync(sources, 0o755);
  return sources;
}

interface GoOptions {
  env: Record<string, string>;
  cwd?: string;
  /** Takes what it printed. */
  hear?: (text: string) => void;
}

/** Why it failed. */
function go(args: string[], { env, cwd, hear }: GoOptions): Promise<string | undefined> {
  const options = { env: { ...process.env, ...env }, timeout: BUILD_MS_MAX, ...(cwd !== undefined && { cwd }) };
  return new Promise((resolve) => {
    execFile("go", args, options, (error, stdout, stderr) => {
      if (error === null) {
        hear?.(stdout);
        resolve(undefined);
      } else if ((error as NodeJS.ErrnoException).code === "ENOENT") resolve("Go is not installed to build it");
      else resolve(`Go could not build it: ${stderr.trim().split("\n").at(-1) || error.message}`);
    });
  });
}
