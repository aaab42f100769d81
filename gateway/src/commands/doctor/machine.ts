/** Checks this machine: writable directories, free disk space, and the limit of open files. */
import { constants } from "node:fs";
import { access, mkdtemp, readFile, rmdir, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type CheckResult, failedCheck, passedCheck, warningCheck } from "@tollgate/terminal/check-results.ts";
import type { Config } from "../../config.ts";

const MIB = 1024 ** 2;
const FREE_MIN = 256 * MIB;
const FREE_LOW = 2048 * MIB;
/** The minimum limit of open files: each connection of a client, a node or the database needs a file descriptor. */
const FILES_MIN = 1_024;
const FILES_LOW = 8_192;

export async function* machineChecks({ dataDir, spoolDir, retention }: Config): AsyncGenerator<CheckResult> {
  const { exportDir } = retention;
  yield await checkDirectory("data", "DATA_DIR", dataDir);
  if (!spoolDir.startsWith(`${dataDir}/`)) yield await checkDirectory("spool", "SPOOL_DIR", spoolDir);
  if (exportDir !== undefined) yield await checkDirectory("exports", "HISTORY_EXPORT_DIR", exportDir);
  const limits = await readFile("/proc/self/limits", "utf8").catch(() => undefined);
  if (limits !== undefined) yield checkOpenFileLimit(limits);
}

export async function checkDirectory(name: string, setting: string, directory: string): Promise<CheckResult> {
  const place = await nearest(directory);
  try {
    // Writes a directory, because for root an access check succeeds even on a read-only file system.
    if (place === directory) await rmdir(await mkdtemp(join(place, ".doctor-")));
    else await access(place, constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const next = `let the gateway's user write to ${directory} (chown), or set ${setting} to another directory`;
    return failedCheck(name, `${setting}: ${directory} is not writable (${code})`, next);
  }
  const { bavail, bsize } = await statfs(place);
  return checkFreeSpace(name, { setting, directory, freeBytes: bavail * bsize });
}

/** The nearest parent directory that exists. */
async function nearest(directory: string): Promise<string> {
  const isThere = await access(directory).then(
    () => true,
    () => false,
  );
  return isThere || dirname(directory) === directory ? directory : await nearest(dirname(directory));
}

interface Space {
  setting: string;
  directory: string;
  freeBytes: number;
}

export function checkFreeSpace(name: string, { setting, directory, freeBytes }: Space): CheckResult {
  const detail = `${directory}: writable, ${Math.round(freeBytes / MIB).toLocaleString("en")} MiB free`;
  const next = `free disk space, or set ${setting} to a directory on a larger disk`;
  if (freeBytes < FREE_MIN) return failedCheck(name, detail, next);
  return freeBytes < FREE_LOW ? warningCheck(name, detail, next) : passedCheck(name, detail);
}

/** `limits`: the content of /proc/self/limits. */
export function checkOpenFileLimit(limits: string): CheckResult {
  const [, found = ""] = /^Max open files\s+(\S+)/m.exec(limits) ?? [];
  const most = found === "unlimited" ? Number.POSITIVE_INFINITY : Number(found);
  const detail = `limit of open files per process: ${found}`;
  const next = "raise the limit: LimitNOFILE=65536 in the systemd unit, or ulimit -n 65536 before the start";
  if (most < FILES_MIN) return failedCheck("files", detail, next);
  return most < FILES_LOW ? warningCheck("files", detail, next) : passedCheck("files", detail);
}
