/**
 * The file system operations of the spool, as an interface. The simulator's implementation can lose unsynced writes.
 */
import { mkdir, open, readdir, rename, stat, unlink } from "node:fs/promises";

interface DiskStat {
  ino: number;
  dev: number;
  size: number;
  mtimeMs: number;
}

export interface DiskFile {
  write(bytes: Uint8Array, offset: number, length: number, position: number): Promise<{ bytesWritten: number }>;
  /** Appends the whole text to an open file. */
  writeFile(text: string): Promise<void>;
  read(bytes: Uint8Array, offset: number, length: number, position: number): Promise<{ bytesRead: number }>;
  truncate(size: number): Promise<void>;
  stat(): Promise<DiskStat>;
  datasync(): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** A file system. Its errors have the system's codes (`ENOENT`, `ENOSPC`). */
export interface Disk {
  mkdir(path: string, options: { recursive: true; mode: number }): Promise<string | undefined>;
  open(path: string, flags: "r" | "wx" | "a", mode?: number): Promise<DiskFile>;
  readdir(path: string): Promise<string[]>;
  rename(from: string, to: string): Promise<void>;
  stat(path: string): Promise<DiskStat>;
  unlink(path: string): Promise<void>;
}

export const systemDisk: Disk = { mkdir, open, readdir, rename, stat, unlink };
