/**
 * The NATS servers that tests run on: the newest release, and one of the oldest supported series. Debian's version is
 * of that series; missing ones are built with Go, if it is installed, and cached. Only this file names both versions.
 */
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { buildOnce, cacheFolder, goInstall } from "./go-builds.ts";

const NEWEST = "2.15.2";
const OLDEST = "2.9.10";

interface NatsRelease {
  version: string;
  /** The path of its binary. */
  path: string;
}

const CACHE = cacheFolder("nats-servers");
const MODULE = "github.com/nats-io/nats-server/v2";

/** The newest available release, and the oldest if it differs; empty if there is none. */
export function natsReleases(): NatsRelease[] {
  return newestAndOldest([onPath(), built(NEWEST), built(OLDEST)].filter((release) => release !== undefined));
}

/** The newest and the oldest of the releases, or a single one if they are the same. */
export function newestAndOldest(releases: NatsRelease[]): NatsRelease[] {
  const inOrder = releases.toSorted((a, b) => compare(b.version, a.version));
  const [newest, oldest] = [inOrder[0], inOrder.at(-1)];
  if (newest === undefined || oldest === undefined) return [];
  return newest.version === oldest.version ? [newest] : [newest, oldest];
}

export const natsBuilder = {
  /**
   * Starts the build at once, because it takes a minute the first time. Returns a line that says what is left out, if
   * anything.
   */
  newest: (): Promise<string[]> => {
    const installed = onPath();
    if (installed !== undefined && compare(installed.version, NEWEST) >= 0) return Promise.resolve([]);
    return build(NEWEST, "the newest NATS");
  },
  /** Called after Debian's server was installed, which may be old enough. */
  oldest: (): Promise<string[]> => {
    const installed = onPath();
    if (installed !== undefined && series(installed.version) === series(OLDEST)) return Promise.resolve([]);
    return build(OLDEST, "the oldest NATS that is supported");
  },
};

async function build(version: string, what: string): Promise<string[]> {
  const why = await buildOnce(binaryOf(version), "nats-server", goInstall(`${MODULE}@v${version}`));
  return why === undefined ? [] : [`left out: the dispatch plane on ${what}, ${version} (${why})`];
}

const binaryOf = (version: string): string => join(CACHE, `nats-server-${version}`);

function built(version: string): NatsRelease | undefined {
  const path = binaryOf(version);
  return existsSync(path) ? { version, path } : undefined;
}

function onPath(): NatsRelease | undefined {
  const path = (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "nats-server"))
    .find((file) => isExecutable(file));
  if (path === undefined) return undefined;
  const said = spawnSync(path, ["--version"], { encoding: "utf8" }).stdout;
  return { path, version: /v(\d+\.\d+\.\d+)/.exec(said ?? "")?.[1] ?? "0.0.0" };
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const series = (version: string): string => version.split(".").slice(0, 2).join(".");

function compare(a: string, b: string): number {
  const [one, other] = [a.split(".").map(Number), b.split(".").map(Number)];
  const at = one.findIndex((part, i) => part !== other[i]);
  return at < 0 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
}
