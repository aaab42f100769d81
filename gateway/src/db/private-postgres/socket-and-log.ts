/** Opens the socket directory and the log file of a private PostgreSQL server. */
import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, rename } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ClusterHome, computeShortHash } from "./cluster-home.ts";
import { PrivatePostgresError, undefinedIfMissing, withPathInError } from "./errors.ts";
import { canWrite, type ProcessUser, readOwnUid } from "./os-user.ts";

/** Appears only in the name of the socket file, because nothing listens on TCP. */
export const SOCKET_PORT = 5432;
/** The maximum length of a socket path. Systems allow 104 bytes (macOS) or 108 bytes (Linux). */
const SOCKET_PATH_BYTES_MAX = 100;
const LOG_BYTES_MAX = 10 << 20;
const LOG_TAIL_BYTES = 4096;

/**
 * Opens the socket directory: inside the server's folder if that path is short enough for a socket, otherwise in the
 * system's temporary directory.
 */
export async function openSocketDir(home: ClusterHome): Promise<string> {
  const inHome = join(home.directory, "run");
  const name = `tollgate-${computeShortHash(home.cluster)}`;
  for (const path of [inHome, join(tmpdir(), name), join("/tmp", name)]) {
    if (Buffer.byteLength(join(path, `.s.PGSQL.${SOCKET_PORT}`)) > SOCKET_PATH_BYTES_MAX) continue;
    await withPathInError("Socket directory", path, () => makePrivate(path, home.runAs));
    if (await canWrite(path, home.runAs)) return path;
  }
  throw new PrivatePostgresError(
    `No directory for PostgreSQL's socket: ${inHome} is too long a path and /tmp cannot be used.`,
  );
}

/**
 * Creates a directory that only PostgreSQL's user can enter. In /tmp another user may already have a directory of that
 * name, which is refused.
 */
async function makePrivate(path: string, runAs: ProcessUser): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  const directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const owner = (await directory.stat()).uid;
    if (owner !== readOwnUid() && owner !== runAs?.uid) {
      throw new PrivatePostgresError(`The directory ${path} belongs to another user: remove it.`);
    }
    if (runAs) await directory.chown(runAs.uid, runAs.gid);
    await directory.chmod(0o700);
  } finally {
    await directory.close();
  }
}

/** Opens PostgreSQL's log. A large log is renamed first, and replaces the one old log that is kept. */
export function openServerLog(home: ClusterHome): Promise<FileHandle> {
  return withPathInError("PostgreSQL's log", home.log, async () => {
    const size = (await undefinedIfMissing(lstat(home.log)))?.size ?? 0;
    if (size > LOG_BYTES_MAX) await rename(home.log, `${home.log}.1`);
    const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
    const log = await open(home.log, flags, 0o600);
    if (home.runAs) await log.chown(home.runAs.uid, home.runAs.gid);
    return log;
  });
}

/** Empties a large log. It is not renamed, because the running server would keep writing to the renamed file. */
export async function trimServerLog(home: ClusterHome): Promise<void> {
  const size = (await undefinedIfMissing(lstat(home.log)))?.size ?? 0;
  if (size <= LOG_BYTES_MAX) return;
  await withPathInError("PostgreSQL's log", home.log, async () => {
    const log = await open(home.log, constants.O_WRONLY | constants.O_NOFOLLOW);
    await log.truncate(0).finally(() => log.close());
  });
}

export async function readLogTail(path: string, from = 0): Promise<string> {
  const log = await undefinedIfMissing(open(path, constants.O_RDONLY | constants.O_NOFOLLOW));
  if (!log) return "";
  try {
    const { size } = await log.stat();
    const start = Math.max(from, size - LOG_TAIL_BYTES, 0);
    const { buffer, bytesRead } = await log.read(Buffer.alloc(LOG_TAIL_BYTES), 0, LOG_TAIL_BYTES, start);
    return buffer.toString("utf8", 0, bytesRead).trim();
  } finally {
    await log.close();
  }
}
