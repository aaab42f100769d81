/**
 * A simulated machine's disk, which survives its processes. After a crash, written but unsynced data may be lost, and
 * so may a file's name whose directory was not synced; a random number decides. The disk can be full or slow, or fail
 * to sync.
 */
import { dirname } from "node:path";
import type { SeededRandom } from "@tollgate/stage/seeded-random.ts";
import type { Disk, DiskFile } from "../../gateway/src/ledger/disk-interface.ts";
import { type ProcessLifetime, WORLD_START_MS } from "./process-lifetime.ts";
import type { Scheduler } from "./scheduler.ts";

interface Inode {
  number: number;
  now: Buffer;
  /** The content at the last sync. */
  synced: Buffer;
  mtimeMs: number;
}

export class SimDisk {
  readonly #scheduler: Scheduler;
  readonly #chance: SeededRandom;
  #inodes = 0;
  #names = new Map<string, Inode>();
  /** The file names at the last sync of their directories. */
  #syncedNames = new Map<string, Inode>();
  /** Incremented on a power loss: operations requested before and not carried out yet are dropped. */
  #epoch = 0;
  /** While set, every write fails. */
  isFull = false;
  /** The number of writes that failed because the disk was full. */
  refused = 0;

  constructor(scheduler: Scheduler, chance: SeededRandom) {
    this.#scheduler = scheduler;
    this.#chance = chance;
  }

  /** Simulates a power loss of the machine: unsynced data is kept in full, in part or not at all. */
  crash(): void {
    this.#epoch += 1;
    const names = new Map<string, Inode>();
    const all = new Set([...this.#syncedNames.keys(), ...this.#names.keys()]);
    for (const name of all) {
      const [now, synced] = [this.#names.get(name), this.#syncedNames.get(name)];
      const inode = now === synced || this.#chance.oneIn(2) ? now : synced;
      if (inode !== undefined) names.set(name, inode);
    }
    for (const inode of new Set(names.values())) {
      if (inode.now.equals(inode.synced)) continue;
      const kept = this.#chance.below(inode.now.length + 1);
      // Keeps the synced content, or also some of the data written after the sync.
      inode.now = this.#chance.oneIn(2) || kept < inode.synced.length ? inode.synced : inode.now.subarray(0, kept);
      inode.synced = inode.now;
    }
    this.#names = names;
    this.#syncedNames = new Map(names);
  }

  /** Returns whether a non-empty file exists whose name has this ending. */
  holds(ending: string): boolean {
    return [...this.#names].some(([name, { now }]) => name.endsWith(ending) && now.length > 0);
  }

  /** Returns the disk for a process. After the process ends, it begins no more operations. */
  of(life: ProcessLifetime): Disk {
    const act = <T>(what: () => T): Promise<T> => {
      if (!life.mayAct()) return life.never();
      const epoch = this.#epoch;
      return new Promise((resolve, reject) => {
        this.#scheduler.after(this.#chance.between(1, 4), () => {
          // Carries out an operation that a process requested even if the process has died, but not after a power loss.
          if (this.#epoch !== epoch) return;
          try {
            const result = what();
            if (life.hears) resolve(result);
          } catch (error) {
            if (life.hears) reject(error);
          }
        });
      });
    };
    return {
      mkdir: () => act(() => undefined),
      open: (path, flags) => act(() => this.#open(path, flags, act)),
      readdir: (path) => act(() => [...this.#names.keys()].filter((name) => dirname(name) === path).map(baseOf)),
      rename: (from, to) =>
        act(() => {
          this.#names.set(to, this.#find(from));
          this.#names.delete(from);
        }),
      stat: (path) => act(() => statOf(this.#find(path))),
      unlink: (path) =>
        act(() => {
          this.#find(path);
          this.#names.delete(path);
        }),
    };
  }

  #open(path: string, flags: "r" | "wx" | "a", act: <T>(what: () => T) => Promise<T>): DiskFile {
    const known = this.#names.get(path);
    // A directory is opened only to sync it.
    if (flags === "r" && known === undefined && !path.endsWith(".spool")) return this.#directory(act);
    if (flags === "wx" && known !== undefined) throw trouble("EEXIST", path);
    if (flags === "r" && known === undefined) throw trouble("ENOENT", path);
    if (known === undefined && this.isFull) throw trouble("ENOSPC", path);
    const inode = known ?? this.#create(path);
    const put = (bytes: Uint8Array, position: number): void => {
      if (this.isFull) {
        this.refused += 1;
        throw trouble("ENOSPC", path);
      }
      const grown = Buffer.alloc(Math.max(inode.now.length, position + bytes.length));
      inode.now.copy(grown);
      grown.set(bytes, position);
      inode.now = grown;
      inode.mtimeMs = WORLD_START_MS + this.#scheduler.nowMs;
    };
    const sync = (): void => {
      if (this.isFull) throw trouble("EIO", path);
      inode.synced = inode.now;
    };
    return {
      write: (bytes, offset, length, position) =>
        act(() => {
          // Sometimes writes only a part of the bytes, as real disks may.
          const bytesWritten = length > 1 && this.#chance.oneIn(8) ? this.#chance.between(1, length) : length;
          put(bytes.subarray(offset, offset + bytesWritten), position);
          return { bytesWritten };
        }),
      writeFile: (text) => act(() => put(Buffer.from(text), inode.now.length)),
      read: (bytes, offset, length, position) =>
        act(() => ({ bytesRead: inode.now.copy(bytes, offset, position, position + length) })),
      truncate: (size) =>
        act(() => {
          inode.now = inode.now.subarray(0, size);
        }),
      stat: () => act(() => statOf(inode)),
      datasync: () => act(sync),
      sync: () => act(sync),
      close: () => act(() => undefined),
    };
  }

  #directory(act: <T>(what: () => T) => Promise<T>): DiskFile {
    const none = (): never => {
      throw trouble("EISDIR", "a directory");
    };
    const sync = (): Promise<void> =>
      act(() => {
        this.#syncedNames = new Map(this.#names);
      });
    const close = (): Promise<void> => act(() => undefined);
    return { write: none, writeFile: none, read: none, truncate: none, stat: none, datasync: sync, sync, close };
  }

  #create(path: string): Inode {
    this.#inodes += 1;
    const empty = Buffer.alloc(0);
    const inode = { number: this.#inodes, now: empty, synced: empty, mtimeMs: WORLD_START_MS + this.#scheduler.nowMs };
    this.#names.set(path, inode);
    return inode;
  }

  #find(path: string): Inode {
    const inode = this.#names.get(path);
    if (inode === undefined) throw trouble("ENOENT", path);
    return inode;
  }
}

const baseOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

const statOf = ({ number, now, mtimeMs }: Inode) => ({ ino: number, dev: 1, size: now.length, mtimeMs });

const trouble = (code: string, path: string): Error => Object.assign(new Error(`${code}: ${path}`), { code });
