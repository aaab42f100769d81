/**
 * Creates and checks the cluster, PostgreSQL's data directory. initdb writes to a temporary sibling folder that is
 * renamed when complete, so an interrupted first start leaves no partial cluster.
 */
import { chmod, chown, mkdtemp, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../../base/log.ts";
import type { ClusterHome } from "./cluster-home.ts";
import { PrivatePostgresError, readFirstLine, undefinedIfMissing, withPathInError } from "./errors.ts";
import { readOwnUid, runToCompletion } from "./os-user.ts";
import { findBinary, type PostgresBinaries } from "./postgres-binaries.ts";

const UNFINISHED = "cluster.new-";
const INITDB_MS_MAX = 300_000;

/** PostgreSQL's superuser. The gateway itself connects as an ordinary user. */
export const SUPERUSER = "postgres";

export async function createCluster(
  home: ClusterHome,
  binaries: PostgresBinaries,
  options: { sync: boolean },
): Promise<void> {
  const unfinished = await withPathInError("Directory", home.directory, () => makeUnfinished(home));
  try {
    await initialise(unfinished, home, binaries, options.sync);
    await withPathInError("Directory", home.directory, () => putInPlace(unfinished, home));
  } catch (error) {
    // If a cluster exists now, another starting gateway created it first. The data directory's lock decides which
    // gateway continues.
    if (!(await undefinedIfMissing(stat(join(home.cluster, "PG_VERSION"))))) throw error;
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

async function makeUnfinished(home: ClusterHome): Promise<string> {
  const unfinished = await mkdtemp(join(home.directory, UNFINISHED));
  if (home.runAs) await chown(unfinished, home.runAs.uid, home.runAs.gid);
  return unfinished;
}

async function initialise(
  directory: string,
  home: ClusterHome,
  binaries: PostgresBinaries,
  sync: boolean,
): Promise<void> {
  const args = [
    `--pgdata=${directory}`,
    `--username=${SUPERUSER}`,
    "--encoding=UTF8",
    ...locale(binaries.major),
    "--data-checksums",
    // No password is needed, because the socket directory is private and nothing listens on TCP.
    "--auth-local=trust",
    "--auth-host=reject",
    "--no-instructions",
    ...(sync ? [] : ["--no-sync"]),
  ];
  const end = await runToCompletion(findBinary(binaries, "initdb"), args, home.runAs, INITDB_MS_MAX);
  if (end.code === 0) return;
  const output = `${end.stdout}\n${end.stderr}`.trim();
  throw new PrivatePostgresError(whyInitdbFailed(home, output, end.stderr), {
    cause: new Error(output, { cause: end.error }),
  });
}

/** The options for sorting text by code point, which gives the same order on every system. */
function locale(major: number): string[] {
  if (major < 17) return ["--locale=C.UTF-8"];
  return ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"];
}

function whyInitdbFailed(home: ClusterHome, output: string, stderr: string): string {
  if (/No space left on device|Disk quota exceeded/.test(output)) {
    return `The disk of ${home.directory} is full: PostgreSQL needs about 100 MB to start.`;
  }
  if (/could not look up effective user ID/.test(output)) {
    const uid = home.runAs?.uid ?? readOwnUid();
    return `The user id ${uid} has no entry in /etc/passwd, which initdb needs: add one, or set DATABASE_URL.`;
  }
  return `The database cluster ${home.cluster} could not be created: ${readFirstLine(stderr) || "initdb failed without an error message"}.`;
}

async function putInPlace(unfinished: string, home: ClusterHome): Promise<void> {
  await rename(unfinished, home.cluster);
  // Syncs the directory, so that the renamed cluster survives a power failure.
  const parent = await open(home.directory, "r");
  try {
    await parent.sync();
  } finally {
    await parent.close();
  }
}

/** Refuses a cluster that this version of PostgreSQL cannot serve, before a server is started on it. */
export async function checkCluster(home: ClusterHome, binaries: PostgresBinaries): Promise<void> {
  await withPathInError("The database cluster", home.cluster, async () => {
    const version = (await undefinedIfMissing(readFile(join(home.cluster, "PG_VERSION"), "utf8")))?.trim();
    if (version === undefined) {
      throw new PrivatePostgresError(
        `The directory ${home.cluster} is not a database cluster: move it away or restore it from a backup.`,
      );
    }
    if (version !== String(binaries.major)) {
      throw new PrivatePostgresError(
        `The database cluster ${home.cluster} was created by PostgreSQL ${readFirstLine(version)} ` +
          `but Tollgate uses PostgreSQL ${binaries.major}: ` +
          `move the data with pg_dump, or run PostgreSQL ${readFirstLine(version)} on it and set DATABASE_URL.`,
      );
    }
    // Removes permissions of other users, which a copy or restore may have added. PostgreSQL refuses a data directory
    // that others can read.
    const { mode } = await stat(home.cluster);
    if (mode & 0o077) await chmod(home.cluster, 0o700);
  });
}

/** Removes leftovers of interrupted first starts. Only the holder of the data directory's lock may call it. */
export async function removeUnfinishedClusters(home: ClusterHome, log: Log): Promise<void> {
  for (const name of await readdir(home.directory)) {
    if (!name.startsWith(UNFINISHED)) continue;
    try {
      await rm(join(home.directory, name), { recursive: true, force: true });
    } catch (error) {
      // The initdb process of a killed gateway may still write to these files. The next start tries again.
      log.warn({ err: error, name }, "could not remove the files of PostgreSQL's interrupted first start");
    }
  }
}
