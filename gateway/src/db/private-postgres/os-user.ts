/**
 * Chooses the user that runs PostgreSQL, which refuses to run as root. A short process of that user tests which files
 * it can access, because mode bits do not show access lists, mount options or security modules.
 */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { PrivatePostgresError, readErrorCode, undefinedIfMissing } from "./errors.ts";

/** The user that a child process runs as. Undefined: the user of this process. */
export type ProcessUser = { uid: number; gid: number; name: string } | undefined;

/**
 * Users for a new cluster, in order of preference. PostgreSQL packages create all but the last. initdb requires a user
 * with a passwd entry.
 */
const CANDIDATES = ["postgres", "_postgres", "nobody"];

/** Replaces the gateway's environment, which contains secrets. */
const ENVIRONMENT = { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };

const OUTPUT_BYTES_MAX = 1 << 20;

export function readOwnUid(): number {
  const uid = process.getuid?.();
  if (uid === undefined) throw new PrivatePostgresError(describeUnsupportedPlatform());
  return uid;
}

export function describeUnsupportedPlatform(): string {
  const platform = `${process.platform}-${process.arch}`;
  return `The gateway's private PostgreSQL is not available for ${platform}: set DATABASE_URL to a PostgreSQL server.`;
}

interface PasswdEntry {
  name: string;
  uid: number;
  gid: number;
}

async function readPasswd(): Promise<PasswdEntry[]> {
  const text = (await undefinedIfMissing(readFile("/etc/passwd", "utf8"))) ?? "";
  return text.split("\n").flatMap((line) => {
    const [name, , uid, gid] = line.split(":");
    if (!name || !/^\d+$/.test(uid ?? "") || !/^\d+$/.test(gid ?? "")) return [];
    return [{ name, uid: Number(uid), gid: Number(gid) }];
  });
}

async function nameOf(uid: number): Promise<string> {
  const entry = (await readPasswd()).find((candidate) => candidate.uid === uid);
  return entry?.name ?? `user id ${uid}`;
}

/** Chooses the user for a new cluster. An existing cluster keeps its owner (`chooseClusterOwner`). */
export async function choosePostgresUser(): Promise<ProcessUser> {
  if (readOwnUid() !== 0) return undefined;
  const entries = await readPasswd();
  for (const name of CANDIDATES) {
    const entry = entries.find((candidate) => candidate.name === name && candidate.uid > 0);
    if (!entry) continue;
    await mustBecome(entry);
    return entry;
  }
  throw new PrivatePostgresError(
    `PostgreSQL cannot run as root, and none of the users ${CANDIDATES.join(", ")} exists: ` +
      "run the gateway as an ordinary user, or set DATABASE_URL.",
  );
}

/**
 * Returns the user as whom PostgreSQL must run an existing cluster: the cluster's owner. Undefined: the current user.
 * Root can run any owner's cluster; an ordinary user only its own.
 */
export async function chooseClusterOwner(cluster: string, owner: { uid: number; gid: number }): Promise<ProcessUser> {
  const uid = readOwnUid();
  if (owner.uid === uid && uid !== 0) return undefined;
  const name = await nameOf(owner.uid);
  if (uid !== 0) {
    throw new PrivatePostgresError(
      `The database cluster ${cluster} belongs to the user ${name}: run the gateway as that user or as root.`,
    );
  }
  if (owner.uid === 0) {
    throw new PrivatePostgresError(
      `The database cluster ${cluster} belongs to root, and PostgreSQL cannot run as root: ` +
        "give it to an ordinary user with chown -R.",
    );
  }
  const runAs = { uid: owner.uid, gid: owner.gid, name };
  await mustBecome(runAs);
  return runAs;
}

/** Throws if this process cannot switch to another user. In some containers, not even root can. */
async function mustBecome(runAs: { uid: number; gid: number; name: string }): Promise<void> {
  const end = await runToCompletion("/bin/sh", ["-c", ":"], runAs);
  if (end.code === 0) return;
  throw new PrivatePostgresError(
    `PostgreSQL cannot run as root, and this process cannot switch to the user ${runAs.name}: ` +
      "run the gateway as an ordinary user, or set DATABASE_URL.",
    { cause: end.error },
  );
}

/** The options for starting a child process as that user. */
export function spawnOptions(runAs: ProcessUser) {
  // Started in `/`, because the user may be unable to enter the current directory.
  const common = { cwd: "/", env: ENVIRONMENT };
  return runAs ? { ...common, uid: runAs.uid, gid: runAs.gid } : common;
}

interface End {
  /** The exit status, or the system's error code if the process could not start or was killed. */
  code: number | string;
  stdout: string;
  stderr: string;
  error: Error | undefined;
}

/** Runs a short command until it ends. Never rejects: the result contains any error. */
export function runToCompletion(command: string, args: string[], runAs: ProcessUser, timeoutMs = 30_000): Promise<End> {
  return new Promise((resolve) => {
    const options = { ...spawnOptions(runAs), timeout: timeoutMs, maxBuffer: OUTPUT_BYTES_MAX };
    const done = (error: Error | null, stdout: string, stderr: string): void => {
      const code = error ? (exitStatus(error) ?? readErrorCode(error) ?? "killed") : 0;
      resolve({ code, stdout, stderr, error: error ?? undefined });
    };
    try {
      execFile(command, args, options, done);
    } catch (error) {
      // spawn throws at once for an invalid user ID or a binary that cannot be executed.
      done(error instanceof Error ? error : new Error(String(error)), "", "");
    }
  });
}

function exitStatus(error: Error): number | undefined {
  return "code" in error && typeof error.code === "number" ? error.code : undefined;
}

/** Whether the user can enter `directory` and create files in it, as tested by a process of that user. */
export async function canWrite(directory: string, runAs: ProcessUser): Promise<boolean> {
  const script = 'cd "$1" && test -r . && test -w .';
  return (await runToCompletion("/bin/sh", ["-c", script, "sh", directory], runAs)).code === 0;
}
