/**
 * Errors that keep the private PostgreSQL server from running. Every message is one line that says what to do. Details
 * (a system error, the end of a log) are in `cause`.
 */

export class PrivatePostgresError extends Error {
  override name = "PrivatePostgresError";
}

/** Another gateway uses this data directory. Its server must keep running. */
export class DataDirectoryInUse extends PrivatePostgresError {
  override name = "DataDirectoryInUse";
  readonly dataDir: string;
  readonly holderPid: number | undefined;

  constructor(dataDir: string, holderPid: number | undefined) {
    const holder = holderPid === undefined ? "another process" : `process ${holderPid}`;
    super(`Data directory ${dataDir} is in use by ${holder}: stop that process first, or use another data directory.`);
    this.dataDir = dataDir;
    this.holderPid = holderPid;
  }
}

const REASONS: Record<string, string> = {
  EACCES: "permission denied",
  EPERM: "operation not permitted",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is exceeded",
  ENOTDIR: "a part of the path is not a directory",
  EEXIST: "a file with this name exists and is not a directory",
  ELOOP: "the path is a symbolic link, or leads through too many symbolic links",
  ENAMETOOLONG: "the path is too long",
};

export function readErrorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** Describes a system error in words, such as "permission denied". */
function reasonOf(error: unknown): string {
  const code = readErrorCode(error);
  return (code && REASONS[code]) ?? (error instanceof Error ? readFirstLine(error.message) : String(error));
}

export function readFirstLine(text: string): string {
  return text.trim().split("\n", 1)[0] ?? "";
}

/** Runs `work` on files of `path`. Its failure becomes an error of one line with the path and the reason. */
export async function withPathInError<T>(what: string, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PrivatePostgresError) throw error;
    throw new PrivatePostgresError(`${what} ${path} cannot be used: ${reasonOf(error)}.`, { cause: error });
  }
}

/** Returns the result of `work`, or undefined if its file does not exist. */
export async function undefinedIfMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (readErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
