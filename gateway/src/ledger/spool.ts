/**
 * The spool: settlements on this gateway's own disk while the database does not accept them. Each running gateway
 * writes one file; `spool-replay.ts` settles the files that other gateways left. Concurrent appends share one write and one
 * fsync. The file is emptied when no settlement is open. After any error (a full disk, a failed fsync) a file is not
 * written again: open settlements go to a new file, and the old file is removed when the new one is safe.
 */
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import type { Clock } from "../base/clock.ts";
import { publicId, type Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { type Disk, type DiskFile, systemDisk } from "./disk-interface.ts";
import type { Settlement } from "./settlement-sql.ts";
import { formatSettlementLine } from "./spool-lines.ts";

/** The file for settlements that the database refused permanently, which an operator must handle. */
const GIVEN_UP = "given-up.jsonl";
const PRIVATE_FILE = 0o600;
/** The free space required at the start, enough for a few hundred settlements. */
const ROOM_BYTES = 256 * 1024;

/** The process that writes a file, from the file's name: `host~pid~gateway~number.spool`. */
export interface SpoolOwner {
  host: string;
  pid: number;
  gatewayId: string;
}

export interface Spool {
  readonly disk: Disk;
  readonly directory: string;
  /** Lists all directories of gateways with this `SPOOL_DIR`: the folder itself, and one per worker process. */
  directories(): Promise<string[]>;
  readonly owner: SpoolOwner;
  /** Adds a settlement. Resolves when it is durably on disk. */
  append(settlement: Settlement): Promise<void>;
  /** Removes a settlement that was entered or given up. */
  done(id: Uuid): void;
  /** Durably records that a settlement can never be entered, and why. */
  giveUp(settlement: Settlement, reason: string): Promise<void>;
  /** Closes the spool. Its file stays if it has open settlements. */
  close(): Promise<void>;
}

interface SpoolOptions {
  directory: string;
  /** The folder `SPOOL_DIR`, if `directory` is a worker's directory in it. */
  root?: string | undefined;
  gatewayId: string;
  clock: Clock;
  log: Log;
  host?: string;
  pid?: number;
  /** The file system. Default: this machine's. */
  disk?: Disk;
}

/**
 * Opens the spool. Fails when the directory is not writable, because a gateway that could lose charges must not start.
 */
export async function openSpool(options: SpoolOptions): Promise<Spool> {
  const { directory, gatewayId, clock, log, host = hostname(), pid = process.pid, disk = systemDisk } = options;
  const { root = directory } = options;
  const made = await disk.mkdir(directory, { recursive: true, mode: 0o700 });
  if (made !== undefined) await syncDirectory(disk, dirname(made));
  const owner = { host: host.replaceAll(/[^A-Za-z0-9.-]/g, "_"), pid, gatewayId };
  const file = new OwnFile(disk, directory, owner, log);
  await file.begin();
  await file.reserve();
  return {
    disk,
    directory,
    directories: () => listSpoolDirectories(root, (path) => disk.readdir(path)),
    owner,
    append: (settlement) => file.append(settlement.id, formatSettlementLine(settlement)),
    done: (id) => file.done(id),
    giveUp: (settlement, reason) => writeGivenUp(disk, directory, settlement, { at: new Date(clock.now()), reason }),
    close: () => file.close(),
  };
}

const WORKER = /^worker-\d+$/;

/** The directory of a worker process. Two running workers never share one. */
export const makeWorkerDirectoryPath = (root: string, worker: number): string => join(root, `worker-${worker}`);

/** Lists `root` and the workers' directories in it. */
export async function listSpoolDirectories(
  root: string,
  readdir: (path: string) => Promise<string[]>,
): Promise<string[]> {
  const names = (await readdir(root)).filter((name) => WORKER.test(name));
  return [root, ...names.sort().map((name) => join(root, name))];
}

const NAME = /^([A-Za-z0-9._-]+)~(\d+)~([^~]+)~(\d+)\.spool$/;

export function parseSpoolOwner(name: string): SpoolOwner | undefined {
  const [, host, pid, gatewayId] = NAME.exec(name) ?? [];
  return host === undefined || gatewayId === undefined ? undefined : { host, pid: Number(pid), gatewayId };
}

interface Append {
  id: Uuid;
  resolve: () => void;
  reject: (error: unknown) => void;
}

class OwnFile {
  readonly #disk: Disk;
  readonly #directory: string;
  readonly #owner: SpoolOwner;
  readonly #log: Log;
  /** The lines of open settlements, in the order of their addition. */
  readonly #open = new Map<Uuid, string>();
  #appends: Append[] = [];
  #running: Promise<void> | undefined;
  #file: { path: string; handle: DiskFile; size: number } | undefined;
  /** The paths of abandoned files, which are removed when a new file is safe. */
  #old: string[] = [];
  #number = 0;

  constructor(disk: Disk, directory: string, owner: SpoolOwner, log: Log) {
    this.#disk = disk;
    this.#directory = directory;
    this.#owner = owner;
    this.#log = log;
  }

  append(id: Uuid, line: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#open.set(id, line);
      this.#appends.push({ id, resolve, reject });
      this.#wake();
    });
  }

  done(id: Uuid): void {
    if (this.#open.delete(id) && this.#open.size === 0) this.#wake();
  }

  async close(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
    const file = this.#file;
    this.#file = undefined;
    await file?.handle.close();
    if (file !== undefined && this.#open.size === 0) await removeIfExists(this.#disk, file.path);
  }

  #wake(): void {
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    // Waits, so that all appends of this event-loop turn share the first write.
    await Promise.resolve();
    while (this.#appends.length > 0 || this.#canBeEmptied()) {
      const appends = this.#appends.splice(0);
      try {
        if (appends.length > 0) await this.#write(appends);
        else await this.#empty();
        for (const { resolve } of appends) resolve();
      } catch (error) {
        for (const { id, reject } of appends) {
          this.#open.delete(id);
          reject(error);
        }
        await this.#abandon();
      }
    }
    this.#running = undefined;
  }

  async #write(appends: Append[]): Promise<void> {
    const file = this.#file;
    if (file === undefined) return await this.begin();
    const lines = appends.map(({ id }) => this.#open.get(id) ?? "").join("");
    if (lines === "") return;
    const bytes = Buffer.from(lines);
    await writeAll(file.handle, bytes, file.size);
    await file.handle.datasync();
    file.size += bytes.length;
    if (await isAt(this.#disk, file.path, file.handle)) return;
    // Another gateway assumed that this one was dead and removed its file (spool-replay.ts).
    await this.#abandon();
    await this.begin();
  }

  /** Checks the free space by writing test data, because an empty file would not reveal a full disk. */
  async reserve(): Promise<void> {
    const file = this.#file;
    if (file === undefined) return;
    try {
      await writeAll(file.handle, Buffer.alloc(ROOM_BYTES), 0);
      await file.handle.datasync();
      await file.handle.truncate(0);
    } catch (error) {
      await file.handle.close();
      await removeIfExists(this.#disk, file.path);
      throw error;
    }
  }

  /** Starts a new file with all open settlements, then removes the old files. */
  async begin(): Promise<void> {
    const { host, pid, gatewayId } = this.#owner;
    this.#number += 1;
    const path = join(this.#directory, `${host}~${pid}~${gatewayId}~${this.#number}.spool`);
    const handle = await this.#disk.open(path, "wx", PRIVATE_FILE);
    const bytes = Buffer.from([...this.#open.values()].join(""));
    this.#file = { path, handle, size: bytes.length };
    await writeAll(handle, bytes, 0);
    await handle.datasync();
    await syncDirectory(this.#disk, this.#directory);
    for (const old of this.#old.splice(0)) await removeIfExists(this.#disk, old);
  }

  #canBeEmptied(): boolean {
    return this.#open.size === 0 && this.#file !== undefined && this.#file.size > 0;
  }

  /** Empties the file without fsync. If a crash restores its lines, settling them again returns `repeated`. */
  async #empty(): Promise<void> {
    const file = this.#file;
    if (file === undefined) return;
    await file.handle.truncate(0);
    file.size = 0;
  }

  async #abandon(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    if (file === undefined) return;
    this.#old.push(file.path);
    await file.handle
      .close()
      .catch((error) => this.#log.debug({ err: error, file: file.path }, "could not close a spool file"));
  }
}

async function writeGivenUp(
  disk: Disk,
  directory: string,
  settlement: Settlement,
  why: { at: Date; reason: string },
): Promise<void> {
  const note = { ...why, request: publicId("req", settlement.id), line: formatSettlementLine(settlement).trimEnd() };
  const handle = await disk.open(join(directory, GIVEN_UP), "a", PRIVATE_FILE);
  try {
    // Starts on a new line, because a full disk may have cut off the previous one.
    await handle.writeFile(`\n${JSON.stringify(note)}\n`);
    await handle.datasync();
  } finally {
    await handle.close();
  }
  await syncDirectory(disk, directory);
}

export async function writeAll(handle: DiskFile, bytes: Buffer, position: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, written, bytes.length - written, position + written);
    written += bytesWritten;
  }
}

/** Whether the path still refers to the opened file. */
async function isAt(disk: Disk, path: string, handle: DiskFile): Promise<boolean> {
  try {
    const [named, ours] = await Promise.all([disk.stat(path), handle.stat()]);
    return named.ino === ours.ino && named.dev === ours.dev;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

async function syncDirectory(disk: Disk, path: string): Promise<void> {
  const handle = await disk.open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export async function removeIfExists(disk: Disk, path: string): Promise<void> {
  try {
    await disk.unlink(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
