/**
 * Finds the home of the private PostgreSQL server: the folder with its cluster, socket directory and log. The home is
 * `<data directory>/postgres`. If the gateway runs as root and PostgreSQL's user cannot reach that folder, the home is
 * a folder in `rootPlace` that this user can reach, and a note in the data directory contains its path. An existing
 * cluster is always found before a new one is created, because an empty database would look like lost money.
 */
import { createHash } from "node:crypto";
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  rmdir,
  stat,
  writeFile,
} from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";
import type { Log } from "../../base/log.ts";
import { PrivatePostgresError, readErrorCode, undefinedIfMissing, withPathInError } from "./errors.ts";
import { canWrite, chooseClusterOwner, choosePostgresUser, type ProcessUser, readOwnUid } from "./os-user.ts";

export const LOCATION_NOTE = "postgres-location.txt";

export interface ClusterHome {
  directory: string;
  /** PostgreSQL's data directory. */
  cluster: string;
  log: string;
  runAs: ProcessUser;
}

interface Places {
  /** The absolute path of the data directory, with links resolved. */
  dataDir: string;
  /** The folder in which root creates homes that PostgreSQL's user can reach. */
  rootPlace: string;
}

/** Creates the data directory and returns its real path. */
export function openDataDir(dataDir: string, log: Log): Promise<string> {
  const path = resolve(dataDir);
  return withPathInError("Data directory", path, async () => {
    if (await undefinedIfMissing(stat(path))) {
      await hideFromOthers(path, log);
    } else {
      await mkdir(dirname(path), { recursive: true });
      await makePassable(path);
    }
    return await realpath(path);
  });
}

/**
 * The mode of directories on the path to the cluster. PostgreSQL's user may traverse root's directories, but not list
 * them.
 */
function passableMode(): number {
  return readOwnUid() === 0 ? 0o711 : 0o700;
}

/**
 * Closes an empty data directory to other users. A directory with files keeps its mode, because it may be a home
 * directory or /tmp.
 */
async function hideFromOthers(path: string, log: Log): Promise<void> {
  const { mode, uid } = await stat(path);
  if ((mode & 0o006) === 0) return;
  const isOurs = uid === readOwnUid() && (await readdir(path)).length === 0;
  if (isOurs) await chmod(path, mode & 0o7771);
  else log.warn({ dataDir: path }, "other users can list the data directory; its files are private");
}

/** Finds the home of the existing cluster, or undefined if there is none. */
export async function findClusterHome(places: Places): Promise<ClusterHome | undefined> {
  const noted = await readNote(places.dataDir);
  if (noted !== undefined) {
    const home = await homeOfCluster(noted);
    if (home) return home;
    throw new PrivatePostgresError(
      `The file ${join(places.dataDir, LOCATION_NOTE)} says that the database cluster is in ${noted}, but it is not: ` +
        "restore the cluster there, or remove the file to start with an empty database.",
    );
  }
  const inPlace = await homeOfCluster(homeIn(places.dataDir));
  if (inPlace || readOwnUid() !== 0) return inPlace;
  const elsewhere = await homeOfCluster(homeAt(places));
  // A start may have been interrupted after it created this cluster and before it wrote the note.
  if (elsewhere) await writeLocationNote(places.dataDir, elsewhere);
  return elsewhere;
}

/** Creates the home for a new cluster, in the data directory if PostgreSQL's user can reach it. */
export async function makeClusterHome(places: Places): Promise<ClusterHome> {
  const runAs = await choosePostgresUser();
  const inPlace = homeIn(places.dataDir);
  const made = await withPathInError("Data directory", places.dataDir, () => makePassable(inPlace));
  if (!runAs || (await canWork(inPlace, runAs))) return homeOf(inPlace, runAs);
  if (made) await rmdir(inPlace);
  const elsewhere = homeAt(places);
  await withPathInError("Directory", elsewhere, async () => {
    await mkdir(dirname(places.rootPlace), { recursive: true });
    await makePassable(places.rootPlace);
    await makePassable(elsewhere);
  });
  if (await canWork(elsewhere, runAs)) return homeOf(elsewhere, runAs);
  throw new PrivatePostgresError(
    `${runAs.name}, the user that PostgreSQL runs as, can reach neither ${places.dataDir} nor ${elsewhere}: ` +
      "use a data directory that other users can traverse, or set DATABASE_URL.",
  );
}

/** Writes the cluster's location to a note in the data directory, if the cluster is elsewhere. */
export async function writeLocationNote(dataDir: string, home: ClusterHome): Promise<void> {
  if (home.directory === homeIn(dataDir)) return;
  const text = `${home.directory}

The first line is the folder that contains the database of this data directory. The database is not here,
because PostgreSQL runs as ${home.runAs?.name ?? "another user"}, who cannot reach this directory.
Keep this file, and back up that folder too.
`;
  await withPathInError("Data directory", dataDir, () =>
    writeFile(join(dataDir, LOCATION_NOTE), text, { mode: 0o600 }),
  );
}

async function readNote(dataDir: string): Promise<string | undefined> {
  const path = join(dataDir, LOCATION_NOTE);
  const text = await withPathInError("File", path, () => undefinedIfMissing(readFile(path, "utf8")));
  if (text === undefined) return undefined;
  const directory = text.split("\n", 1)[0]?.trim() ?? "";
  if (isAbsolute(directory)) return directory;
  throw new PrivatePostgresError(`The first line of ${path} does not name the folder of the database: correct it.`);
}

const homeIn = (dataDir: string): string => join(dataDir, "postgres");
const homeAt = ({ dataDir, rootPlace }: Places): string => join(rootPlace, computeShortHash(dataDir));

export function computeShortHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

function homeOf(directory: string, runAs: ProcessUser): ClusterHome {
  return { directory, cluster: join(directory, "cluster"), log: join(directory, "postgres.log"), runAs };
}

async function homeOfCluster(directory: string): Promise<ClusterHome | undefined> {
  const cluster = join(directory, "cluster");
  const owner = await withPathInError("The database cluster", cluster, () => clusterOwner(cluster));
  if (!owner) return undefined;
  const runAs = await chooseClusterOwner(cluster, owner);
  // Refuses a cluster that its owner can no longer reach. Creating an empty cluster elsewhere instead would look like
  // lost money.
  if (runAs && !(await canWrite(cluster, runAs))) {
    throw new PrivatePostgresError(
      `The database cluster ${cluster} cannot be reached by its owner ${runAs.name}: ` +
        "make the directories above it traversable (chmod o+x).",
    );
  }
  return homeOf(directory, runAs);
}

/**
 * Returns the owner of an existing cluster. An empty directory does not count, because initdb's result may replace it.
 */
async function clusterOwner(cluster: string): Promise<{ uid: number; gid: number } | undefined> {
  const found = await undefinedIfMissing(stat(cluster));
  if (!found) return undefined;
  try {
    if ((await readdir(cluster)).length === 0) return undefined;
  } catch (error) {
    // EACCES: the directory belongs to another user, whose name the error should contain.
    if (readErrorCode(error) !== "EACCES") throw error;
  }
  return found;
}

/** Creates a directory that PostgreSQL's user can traverse. Returns false if it existed. */
async function makePassable(directory: string): Promise<boolean> {
  let made = true;
  try {
    // Not recursive, because mkdir would then report a read-only file system as a missing directory.
    await mkdir(directory);
  } catch (error) {
    if (readErrorCode(error) !== "EEXIST") throw error;
    made = false;
  }
  if ((await stat(directory)).uid === readOwnUid()) await chmod(directory, passableMode());
  return made;
}

/** Whether the user can create and use a directory inside `home`, as PostgreSQL requires. */
async function canWork(home: string, runAs: NonNullable<ProcessUser>): Promise<boolean> {
  const trial = await mkdtemp(join(home, "trial-"));
  try {
    await chown(trial, runAs.uid, runAs.gid);
    return await canWrite(trial, runAs);
  } finally {
    await rm(trial, { recursive: true, force: true });
  }
}
