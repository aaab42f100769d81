/**
 * Builds servers of other projects with Go, if it is installed. The builds are cached per platform outside of
 * node_modules, which every fresh install empties.
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

/** The maximum time of a build. A large build takes minutes, and longer while other work uses the processors. */
const BUILD_MS_MAX = 900_000;

export const cacheFolder = (name: string): string =>
  fileURLToPath(new URL(`../.cache/${name}/${process.platform}-${process.arch}/`, import.meta.url));

/** Calls `make` to build `binary` into a folder. Returns the reason if it fails. */
export async function buildBinaryOnce(
  path: string,
  binary: string,
  make: (folder: string) => Promise<string | undefined>,
): Promise<string | undefined> {
  if (existsSync(path)) return undefined;
  mkdirSync(dirname(path), { recursive: true });
  // Builds in a temporary folder and renames it, so that the result is complete or absent, even if another run builds
  // it too.
  const unfinished = mkdtempSync(join(dirname(path), "building-"));
  try {
    const why = await make(unfinished);
    if (why === undefined) renameSync(join(unfinished, binary), path);
    return why;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** Returns a build step that runs `go install`. */
export const goInstall =
  (what: string) =>
  (folder: string): Promise<string | undefined> =>
    go(["install", what], { env: { GOBIN: folder } });

/**
 * Returns a build step that builds a program as a dependency of an otherwise empty module: `go install` refuses modules
 * with replace directives.
 */
export const buildAsDependency =
  ({ module, version, command }: { module: string; version: string; command: string }) =>
  (folder: string): Promise<string | undefined> => {
    writeFileSync(join(folder, "go.mod"), `module tollgate.test/build\n\ngo 1.25\n\nrequire ${module} ${version}\n`);
    const args = ["build", "-mod=mod", "-ldflags=-s -w", "-o", folder, `${module}/${command}`];
    return go(args, { cwd: folder, env: { CGO_ENABLED: "0" } });
  };

/**
 * Returns a build step that uses a copy of the sources, which `change` may modify, for modules that lack files they
 * need. The step returns the reason if it fails.
 */
export const buildFromModifiedSources =
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
 * Returns a build step for a program that uses a modified copy of a module. Go's checksum database does not contain such
 * a copy, so the go.mod and go.sum in `pins` fix every module's version and hash; a missing or different hash ends the
 * build. The step returns the reason if it fails.
 */
export const createPinnedGoBuild =
  (
    { pins, module, command, binary }: { pins: string; module: string; command: string; binary: string },
    change: (sources: string) => void,
  ) =>
  async (folder: string): Promise<string | undefined> => {
    for (const name of ["go.mod", "go.sum"]) cpSync(join(pins, name), join(folder, name));
    const what = `${module}/${command}`;
    let place = "";
    // `-e` tolerates that files are missing which `change` adds later. A missing or wrong hash of the module still
    // fails.
    const find = ["list", "-e", "-mod=readonly", "-find", "-f", "{{.Module.Dir}}", what];
    const missing = await go(find, { env: {}, cwd: folder, hear: (text) => (place = text.trim()) });
    if (missing !== undefined) return missing;
    change(copySources(place, folder));
    appendFileSync(join(folder, "go.mod"), `\nreplace ${module} => ./${SOURCES}\n`);
    const args = ["build", "-mod=readonly", "-ldflags=-s -w", "-o", join(folder, binary), what];
    return go(args, { cwd: folder, env: { CGO_ENABLED: "1" } });
  };

const SOURCES = "sources";

/** Copies sources and makes them writable: Go's own copy of a module is read-only. */
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
  /** Called with the program's output. */
  hear?: (text: string) => void;
}

/** Runs Go. Returns the reason if it fails. */
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
