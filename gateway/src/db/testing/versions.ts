/** Test helper: PostgreSQL of a major version. The npm package's version is always there; others come from Debian packages. */
import { accessSync, constants } from "node:fs";
import { type Binaries, installedBinaries, usableBinaries } from "../embedded/binaries.ts";
import type { RunAs } from "../embedded/user.ts";

const FOLDER = "/usr/lib/postgresql";

/** Why that version cannot run here; undefined if it can. */
export async function whyNoPostgres(major: number): Promise<string | undefined> {
  if (major === (await installedBinaries()).major) return undefined;
  try {
    accessSync(`${FOLDER}/${major}/bin/postgres`, constants.X_OK);
    return undefined;
  } catch {
    return `PostgreSQL ${major} is not installed in ${FOLDER}/${major}`;
  }
}

/** `place`: where to copy the npm package if `runAs` cannot reach it. Undefined: the npm package's version. */
export async function binariesOf(
  major: number | undefined,
  { runAs, place }: { runAs: RunAs; place: string },
): Promise<Binaries> {
  const installed = await installedBinaries();
  if (major === undefined || major === installed.major) {
    return await usableBinaries(installed, { runAs, place, progress: () => undefined });
  }
  const why = await whyNoPostgres(major);
  if (why !== undefined) throw new Error(why);
  return { native: `${FOLDER}/${major}`, version: String(major), major };
}
