/**
 * A clock that can be jumped under a running process, by the library of Debian's package `faketime`: what the process takes for
 * the time of day moves, the time that only grows does not. Left out by name where the library is missing.
 */
import { existsSync } from "node:fs";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface FakeClock {
  /** To be added to the environment of the process, and of what it starts. */
  readonly environment: Record<string, string>;
  /** From now on the process is that far from the real time. */
  jump(offsetS: number): Promise<void>;
  offsetS(): number;
  close(): Promise<void>;
}

const LIBRARIES = ["x86_64-linux-gnu", "aarch64-linux-gnu"].map(
  // Of the two the one for processes with threads.
  (machine) => `/usr/lib/${machine}/faketime/libfaketimeMT.so.1`,
);

/** Why no clock can be jumped here. */
export function whyNoClock(): string | undefined {
  return findLibrary() === undefined ? "the library of the package faketime is not installed" : undefined;
}

export async function openClock(): Promise<FakeClock> {
  const library = findLibrary();
  if (library === undefined) throw new Error(whyNoClock());
  const directory = await mkdtemp(join(tmpdir(), "tollgate-chaos-clock-"));
  const file = join(directory, "offset");
  let offset = 0;
  const jump = async (offsetS: number): Promise<void> => {
    // Renamed into place: a process that looks meanwhile finds the old or the new.
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
      // Files keep the times that they have.
      NO_FAKE_STAT: "1",
    },
    jump,
    offsetS: () => offset,
    close: () => rm(directory, { recursive: true, force: true }),
  };
}

const findLibrary = (): string | undefined => LIBRARIES.find((library) => existsSync(library));
