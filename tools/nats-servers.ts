/**
 * Provides the NATS servers that tests run on: the newest release, and one of the oldest supported series, which is the
 * series in Debian. Missing ones are built with Go, if it is installed, and cached. Both versions are set in this file
 * only.
 */
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { buildBinaryOnce, cacheFolder, goInstall } from "./go-builds.ts";

const NEWEST = "2.15.2";
const OLDEST = "2.9.10";

interface NatsRelease {
  version: string;
  /** The path of the release's binary. */
  path: string;
}

const CACHE = cacheFolder("nats-servers");
const MODULE = "github.com/nats-io/nats-server/v2";

/** Returns the newest available release, and the oldest if it is another one; an empty list if none is available. */
export function natsReleases(): NatsRelease[] {
  return pickNewestAndOldest([onPath(), built(NEWEST), built(OLDEST)].filter((release) => release !== undefined));
}

/** Returns the newest and the oldest of the releases, or a single one if both are the same. */
export function pickNewestAndOldest(releases: NatsRelease[]): NatsRelease[] {
  const inOrder = releases.toSorted((a, b) => compare(b.version, a.version));
  const [newest, oldest] = [inOrder[0], inOrder.at(-1)];
  if (newest === undefined || oldest === undefined) return [];
  return newest.version === oldest.version ? [newest] : [newest, oldest];
}

export const natsBuilder = {
  /**
   * Starts the build of the newest release at once, because it takes a minute the first time. If it fails, the result
   * describes which tests are left out.
   */
  newest: (): Promise<string[]> => {
    const installed = onPath();
    if (installed !== undefined && compare(installed.version, NEWEST) >= 0) return Promise.resolve([]);
    return build(NEWEST, "the newest NATS");
  },
  /**
   * Builds the oldest release if necessary. Called after the installation of Debian's server, which may be old enough.
   */
  oldest: (): Promise<string[]> => {
    const installed = onPath();
    if (installed !== undefined && series(installed.version) === series(OLDEST)) return Promise.resolve([]);
    return build(OLDEST, "the oldest NATS that is supported");
  },
};

async function build(version: string, what: string): Promise<string[]> {
  const why = await buildBinaryOnce(binaryOf(version), "nats-server", goInstall(`${MODULE}@v${version}`));
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
