/**
 * A journal on disk of the requests or changes that this gateway committed recently. After a failover that lost recent
 * commits, `lost-commit-reentry.ts` enters them again.
 *
 * Entries of 250 ms share one write, without fsync, because the journal only has to survive the process, not the
 * machine. Files that exceed the age or size limit are deleted, oldest first. A line (`JournalGap`) tells what was
 * deleted, or could not be written. Each running gateway writes numbered files beside its spool:
 * `host~pid~gateway~number.requests`.
 */
import { join } from "node:path";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { rateLimitedLog } from "../base/rate-limited-log.ts";
import type { DiskFile } from "./disk-interface.ts";
import { formatJournalLine, type JournalEntry, type JournalGap, readJournal } from "./journal-lines.ts";
import { removeIfExists, type Spool, writeAll } from "./spool.ts";
import { openIfExists, readTextFrom } from "./spool-replay.ts";

const WRITE_AFTER_MS = 250;
/** A file is closed when it has this size, or when it covers a fifteenth of the time for which entries are kept. */
const FILE_BYTES_MAX = 16 * 1024 * 1024;
const FILES_PER_WINDOW = 15;
/** The maximum size of one gateway's journal, which lasts for ten minutes at a thousand requests per second. */
const BYTES_MAX = 512 * 1024 * 1024;
const PRIVATE_FILE = 0o600;

export interface Journal {
  /** Adds an entry, which is written to disk within 250 ms. */
  add(entry: JournalEntry): void;
  /** Resolves when all added entries are written. */
  written(): Promise<void>;
  /**
   * Reads the entries of all gateways of this directory, file by file, oldest first. `unread` counts unreadable lines.
   */
  read(): AsyncGenerator<{ entries: JournalEntry[]; unread: number }>;
  /** While `isNeeded` is true, no file is deleted. */
  keepAll(isNeeded: boolean): void;
  close(): Promise<void>;
}

interface JournalOptions {
  spool: Pick<Spool, "disk" | "directory" | "directories" | "owner">;
  /** The kind of the entries, which is also the file extension. */
  name: "requests" | "changes";
  windowMs: number;
  /** Default: `BYTES_MAX`. */
  bytesMax?: number;
  clock: Clock;
  log: Log;
}

interface OwnFile {
  path: string;
  handle: DiskFile;
  size: number;
  /** The monotonic time of the file's creation, in ms. */
  begunAt: number;
  writtenAt: number;
  /** The number of the file's entries and the period that they cover, to record a gap if the file is deleted. */
  covers: Pick<JournalGap, "lines" | "from" | "to">;
}

export function openJournal(options: JournalOptions): Journal {
  const { spool, name, windowMs, bytesMax = BYTES_MAX, clock, log } = options;
  const { disk, directory, owner } = spool;
  const sparing = rateLimitedLog(log, clock);
  let waiting: JournalEntry[] = [];
  let timer: (() => void) | undefined;
  let writing: Promise<void> = Promise.resolve();
  let file: OwnFile | undefined;
  /** This gateway's closed files. */
  const finished = new Map<string, Pick<OwnFile, "writtenAt" | "covers">>();
  /** Gaps of which the journal has no line yet. */
  let gaps: JournalGap[] = [];
  let number = 0;
  let isNeeded = false;

  const begin = async (): Promise<OwnFile> => {
    number += 1;
    const path = join(directory, `${owner.host}~${owner.pid}~${owner.gatewayId}~${number}.${name}`);
    const at = clock.monotonic();
    const now = clock.now();
    const covers = { lines: 0, from: now, to: now };
    file = { path, handle: await disk.open(path, "wx", PRIVATE_FILE), size: 0, begunAt: at, writtenAt: at, covers };
    if (!isNeeded) await prune(await file.handle.stat());
    return file;
  };
  /**
   * Deletes files that are too old or too large together, also those of other gateways. Ages are computed from the
   * timestamp of a newly written file, because the file server's clock may differ from ours.
   */
  const prune = async ({ mtimeMs: newestMs }: { mtimeMs: number }): Promise<void> => {
    let bytes = 0;
    for (const { path, size, mtimeMs, isOwn } of (await filesOf(spool, name)).reverse()) {
      if (isOwn) bytes += size;
      const isTooMuch = isOwn && bytes > bytesMax;
      if (isTooMuch)
        sparing.warn(
          "",
          { journal: name, bytes },
          "the journal of recent commits reached its size limit: the oldest entries are deleted before REPLAY_WINDOW ends",
        );
      const own = finished.get(path);
      const ageMs = own === undefined ? newestMs - mtimeMs : clock.monotonic() - own.writtenAt;
      if (path === file?.path || !(isTooMuch || ageMs > windowMs)) continue;
      const to = clock.now() - ageMs;
      const covers = own?.covers ?? { lines: await countLines(path), from: to, to };
      await removeIfExists(disk, path);
      finished.delete(path);
      if (covers.lines > 0) gaps.push({ kind: "gap", ...covers, reason: ageMs > windowMs ? "age" : "size" });
    }
  };
  const countLines = async (path: string): Promise<number> => {
    const handle = await openIfExists(disk, path);
    if (handle === undefined) return 0;
    try {
      return (await readTextFrom(handle, 0)).split("\n").length - 1;
    } finally {
      await handle.close();
    }
  };
  const isFull = ({ size, begunAt }: OwnFile): boolean =>
    size > FILE_BYTES_MAX || clock.monotonic() - begunAt > windowMs / FILES_PER_WINDOW;
  const write = async (entries: JournalEntry[]): Promise<void> => {
    try {
      if (file !== undefined && isFull(file)) {
        const { handle, path, ...own } = file;
        file = undefined;
        finished.set(path, own);
        await handle.close();
      }
      const to = file ?? (await begin());
      const told = gaps;
      const bytes = Buffer.from([...told, ...entries].map(formatJournalLine).join(""));
      await writeAll(to.handle, bytes, to.size);
      gaps = [];
      to.size += bytes.length;
      to.writtenAt = clock.monotonic();
      to.covers = together(to.covers, { lines: entries.length, to: clock.now() }, told);
    } catch (error) {
      // No charge is lost: the entries are already committed, and are needed only if a failover loses them.
      const [now, known] = [clock.now(), gaps.find(({ reason }) => reason === "unwritten")];
      gaps = gaps.filter((gap) => gap !== known);
      const gap = { kind: "gap", lines: 0, from: now, ...known, to: now, reason: "unwritten" } as const;
      gaps.push({ ...gap, lines: gap.lines + entries.length });
      sparing.error(
        "",
        { err: error, journal: name, entries: entries.length },
        "could not write recent commits to the journal on disk",
      );
      const broken = file;
      file = undefined;
      await broken?.handle.close().catch((failure) => log.debug({ err: failure }, "could not close a journal file"));
    }
  };
  const written = (): Promise<void> => {
    timer?.();
    timer = undefined;
    const entries = waiting;
    waiting = [];
    if (entries.length > 0) writing = writing.then(() => write(entries));
    return writing;
  };

  return {
    add(entry) {
      waiting.push(entry);
      timer ??= clock.after(WRITE_AFTER_MS, () => {
        timer = undefined;
        void written();
      });
    },
    written,
    async *read() {
      await written();
      for (const { path } of await filesOf(spool, name)) {
        const handle = await openIfExists(disk, path);
        if (handle === undefined) continue;
        try {
          yield readJournal(await readTextFrom(handle, 0));
        } finally {
          await handle.close();
        }
      }
      if (gaps.length > 0) yield { entries: gaps, unread: 0 };
    },
    keepAll(needed) {
      isNeeded = needed;
    },
    async close() {
      await written();
      await file?.handle.close();
      file = undefined;
    },
  };
}

/**
 * Returns what a file covers once these entries are added. Includes the gaps that the file records, except gaps of
 * commits older than REPLAY_WINDOW.
 */
function together(
  covers: OwnFile["covers"],
  more: Pick<JournalGap, "lines" | "to">,
  told: JournalGap[],
): OwnFile["covers"] {
  const kept = told.filter(({ reason }) => reason !== "age");
  return {
    lines: kept.reduce((sum, { lines }) => sum + lines, covers.lines + more.lines),
    from: Math.min(covers.from, ...kept.map(({ from }) => from)),
    to: more.to,
  };
}

/** Lists the journal files of all directories, oldest first. */
async function filesOf({ disk, directories, owner }: JournalOptions["spool"], name: string) {
  const files: { path: string; size: number; mtimeMs: number; number: number; isOwn: boolean }[] = [];
  for (const directory of await directories()) {
    for (const entry of await disk.readdir(directory)) {
      const [, gateway, number] = new RegExp(`~([^~]+)~(\\d+)\\.${name}$`).exec(entry) ?? [];
      if (gateway === undefined) continue;
      const path = join(directory, entry);
      const { size, mtimeMs } = await disk.stat(path);
      files.push({ path, size, mtimeMs, number: Number(number), isOwn: gateway === owner.gatewayId });
    }
  }
  return files.sort((a, b) => a.mtimeMs - b.mtimeMs || a.number - b.number);
}
