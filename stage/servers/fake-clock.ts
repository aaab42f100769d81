/**
 * Makes the wall clock of a running process jump, with the library of Debian's package `faketime`. The monotonic clock
 * is not affected. Without the library, tests of the clock are left out with a message.
 */
import { existsSync } from "node:fs";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface FakeClock {
  /** Environment variables for the process and its children. */
  readonly environment: Record<string, string>;
  /** Shifts the wall clock of the process by this many seconds from real time. */
  jump(offsetS: number): Promise<void>;
  offsetS(): number;
  close(): Promise<void>;
}

const LIBRARIES = ["x86_64-linux-gnu", "aarch64-linux-gnu"].map(
  // The variant of the library for processes with threads.
  (machine) => `/usr/lib/${machine}/faketime/libfaketimeMT.so.1`,
);

/** Returns why no clock can be changed on this machine. */
export function explainMissingFakeClock(): string | undefined {
  return findLibrary() === undefined ? "the library of the package faketime is not installed" : undefined;
}

export async function openFakeClock(): Promise<FakeClock> {
  const library = findLibrary();
  if (library === undefined) throw new Error(explainMissingFakeClock());
  const directory = await mkdtemp(join(tmpdir(), "tollgate-chaos-clock-"));
  const file = join(directory, "offset");
  let offset = 0;
  const jump = async (offsetS: number): Promise<void> => {
    // Writes another file and renames it, so that a process that reads meanwhile finds the old or the new content.
    await writeFile(`${file}.new`, `${offsetS < 0 ? "-" : "+"}${Math.abs(offsetS)}\n`, { mode: 0o644 });
    await rename(`${file}.new`, file);
    offset = offsetS;
  };
  await jump(0);
  return {
    environment: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      FAKETIME_DONT_RESET: "1",
      // Timestamps of files are not changed.
      NO_FAKE_STAT: "1",
    },
    jump,
    offsetS: () => offset,
    close: () => rm(directory, { recursive: true, force: true }),
  };
}

const findLibrary = (): string | undefined => LIBRARIES.find((library) => existsSync(library));
