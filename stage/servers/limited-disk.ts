/**
 * Provides a separate disk for a server of a chaos run: a small tmpfs that can be filled completely. If the test may
 * not mount one, the disk is a plain directory that cannot be filled. The mount ends with the test.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chown, mkdir, open, rm } from "node:fs/promises";
import type { Socket } from "node:net";
import { join } from "node:path";

export interface LimitedDisk {
  readonly path: string;
  /** The reason why the disk cannot be filled; undefined if filling is possible. */
  readonly endless: string | undefined;
  fill(): Promise<void>;
  free(): Promise<void>;
  remove(): Promise<void>;
}

const KEEPER = 'read -r _; umount -l "$1"; rm -rf "$1"';

export async function openLimitedDisk(
  path: string,
  options: { sizeMb: number; owner?: { uid: number; gid: number } | undefined },
): Promise<LimitedDisk> {
  const { sizeMb, owner } = options;
  await mkdir(path, { recursive: true });
  const endless = mount(path, sizeMb);
  if (owner !== undefined) await chown(path, owner.uid, owner.gid);
  const keeper = endless === undefined ? keep(path) : undefined;
  const ballast = join(path, "ballast");
  return {
    path,
    endless,
    async fill() {
      if (endless !== undefined) throw new Error(endless);
      const file = await open(ballast, "a");
      try {
        // Writes large blocks first and then smaller ones, so that no byte stays free.
        for (const bytes of [1 << 20, 4096, 1]) await writeUntilFull(file, Buffer.alloc(bytes));
      } finally {
        await file.close();
      }
    },
    free: () => rm(ballast, { force: true }),
    async remove() {
      if (keeper === undefined) return await rm(path, { recursive: true, force: true });
      keeper.ref();
      const ended = once(keeper, "exit");
      keeper.stdin.end();
      await ended;
    },
  };
}

async function writeUntilFull(file: { write(piece: Buffer): Promise<unknown> }, piece: Buffer): Promise<void> {
  for (;;) {
    try {
      await file.write(piece);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOSPC") return;
      throw error;
    }
  }
}

/** Returns why the mount failed; undefined if it succeeded. */
function mount(path: string, sizeMb: number): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "needs root for a small tmpfs";
  const made = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${sizeMb}m,mode=711`, "tmpfs", path], {
    encoding: "utf8",
  });
  if (made.status === 0) return undefined;
  return `no tmpfs can be mounted here: ${(made.error?.message ?? made.stderr).trim().split("\n")[0]}`;
}

function keep(path: string) {
  const keeper = spawn("/bin/sh", ["-c", KEEPER, "disk", path], {
    cwd: "/",
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  keeper.unref();
  (keeper.stdin as Socket).unref();
  return keeper;
}
