/**
 * Settles the settlements that other gateways left in the spool directory, at the start and every minute. Settling is
 * idempotent by request ID, so several gateways and the file's owner may do it at once.
 *
 * A file is removed when all its lines are settled and no process writes to it. That is the case if the owner's process
 * has ended on this machine, or if the file has not changed for an hour (the owner may run on another machine, or its
 * process ID may have been reused). File times are only compared with each other, because the clock that sets them is
 * unknown. If the owner is alive after all, no line is lost: lines written before the removal are read after it, and
 * the owner notices the removal and writes a new file.
 */
import { basename, join } from "node:path";
import type { Clock } from "../base/clock.ts";
import { publicId, type Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { isDataFault, isProgrammingError } from "../db/errors.ts";
import type { Disk, DiskFile } from "./disk-interface.ts";
import type { Settlement, SettleOutcome } from "./settlement-sql.ts";
import { parseSpoolOwner, removeIfExists, type Spool, type SpoolOwner } from "./spool.ts";
import { readLines } from "./spool-lines.ts";

const EVERY_MS = 60_000;
const OLD_MS = 60 * 60 * 1000;
/** The batch size of the ledger. */
const AT_ONCE = 128;

interface ReplayOptions {
  spool: Spool;
  clock: Clock;
  log: Log;
  ledger: {
    /**
     * Tries once to settle a request. Rejects when the database fails. A settlement that can never be entered is
     * recorded.
     */
    trySettling: (settlement: Settlement) => Promise<SettleOutcome | "given_up">;
    /** Takes over a settlement. Resolves when it is committed or in this gateway's own spool. */
    secure: (settlement: Settlement) => Promise<void>;
  };
  isAlive?: (pid: number) => boolean;
}

interface Replay {
  /** Scans the directory now. Resolves with false while the database does not accept the settlements. */
  run(): Promise<boolean>;
  stop(): void;
}

export function openSpoolReplay(options: ReplayOptions): Replay {
  const { spool, clock, log, ledger, isAlive = processIsAlive } = options;
  const { disk, directory: own, owner: self } = spool;
  /** The settled lines of each file, so that the lines of a file that stays are not sent again every minute. */
  const settled = new Map<string, Set<Uuid>>();
  const told = new Set<string>();
  /** The last write time of each file, and the monotonic time since when it is unchanged. */
  const watched = new Map<string, { mtimeMs: number; since: number }>();
  let running: Promise<boolean> | undefined;

  const once = (name: string, tell: () => void): void => {
    if (!told.has(name)) tell();
    told.add(name);
  };
  const isGone = (name: string, { host, pid }: SpoolOwner, mtimeMs: number): boolean => {
    const known = watched.get(name);
    if (known?.mtimeMs !== mtimeMs) watched.set(name, { mtimeMs, since: clock.monotonic() });
    else if (clock.monotonic() - known.since > OLD_MS) return true;
    return host === self.host && (pid === self.pid || !isAlive(pid));
  };

  /**
   * Settles the lines. Returns false if the database is unreachable or refuses some of them. The next scan retries
   * these.
   */
  const settleAll = async (name: string, settlements: Settlement[]): Promise<boolean> => {
    const known = settled.get(name) ?? new Set();
    settled.set(name, known);
    const due = settlements.filter(({ id }) => !known.has(id));
    let entered = 0;
    let isDone = true;
    for (let from = 0; from < due.length; from += AT_ONCE) {
      const part = due.slice(from, from + AT_ONCE);
      const results = await Promise.allSettled(part.map((settlement) => ledger.trySettling(settlement)));
      for (const [i, result] of results.entries()) {
        const { id } = part[i] as Settlement;
        if (result.status === "fulfilled") {
          known.add(id);
          if (result.value === "settled" || result.value === "late") entered += 1;
        } else if (isProgrammingError(result.reason)) {
          log.error({ request: publicId("req", id), err: result.reason, file: name }, "spooled settlement failed");
        }
      }
      const failures = results.filter((result) => result.status === "rejected");
      if (failures.some(({ reason }) => !isDataFault(reason))) return false;
      if (failures.length > 0) isDone = false;
    }
    if (entered > 0)
      log.info(
        { settlements: entered, file: name },
        "settled the requests whose settlements waited in another gateway's spool",
      );
    return isDone;
  };

  /** Settles a file, and removes it if its owner is gone. Returns false when the database is unreachable. */
  const replayFile = async (path: string, owner: SpoolOwner): Promise<boolean> => {
    const name = basename(path);
    const handle = await openIfExists(disk, path);
    if (handle === undefined) return true;
    try {
      const { mtimeMs } = await handle.stat();
      const text = await readTextFrom(handle, 0);
      const { settlements, damaged, foreign } = readLines(text);
      if (damaged > 0)
        once(name, () => log.error({ file: path, damaged }, "spool file has damaged lines; keeping the file"));
      if (foreign > 0)
        once(name, () =>
          log.error(
            { file: path, foreign },
            "spool file has lines that a newer gateway wrote; a newer gateway must settle them",
          ),
        );
      if (!(await settleAll(name, settlements))) return false;
      if (foreign > 0 || !isGone(name, owner, mtimeMs)) return true;
      if (damaged > 0) await disk.rename(path, `${path}.damaged`);
      else await removeIfExists(disk, path);
      settled.delete(name);
      watched.delete(name);
      const whole = text.slice(0, text.lastIndexOf("\n") + 1);
      const since = readLines(await readTextFrom(handle, Buffer.byteLength(whole)));
      for (const settlement of since.settlements) await ledger.secure(settlement);
      return true;
    } finally {
      await handle.close();
    }
  };

  const run = async (): Promise<boolean> => {
    let isDone = true;
    for (const directory of await spool.directories()) {
      for (const name of await disk.readdir(directory)) {
        const owner = parseSpoolOwner(name);
        if (owner === undefined || owner.gatewayId === self.gatewayId) continue;
        const isSettled = await replayFile(join(directory, name), owner).catch((error) => {
          once(name, () => log.error({ err: error, file: name }, "could not read a spool file; retrying every minute"));
          return true;
        });
        isDone &&= isSettled;
      }
    }
    return isDone;
  };
  const runOnce = (): Promise<boolean> => {
    running ??= run().finally(() => {
      running = undefined;
    });
    return running;
  };
  const failed = (error: unknown): boolean => {
    once(own, () =>
      log.error({ err: error, directory: own }, "could not read the spool directory; retrying every minute"),
    );
    return true;
  };
  const stopTimer = clock.every(EVERY_MS, () => {
    runOnce().catch(failed);
  });
  return {
    run: () => runOnce().catch(failed),
    stop: stopTimer,
  };
}

export async function openIfExists(disk: Disk, path: string): Promise<DiskFile | undefined> {
  try {
    return await disk.open(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

export async function readTextFrom(handle: DiskFile, position: number): Promise<string> {
  const { size } = await handle.stat();
  if (size <= position) return "";
  const bytes = Buffer.alloc(size - position);
  const { bytesRead } = await handle.read(bytes, 0, bytes.length, position);
  return bytes.toString("utf8", 0, bytesRead);
}

function processIsAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
