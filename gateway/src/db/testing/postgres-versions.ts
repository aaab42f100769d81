/**
 * Test helper: PostgreSQL of a chosen major version. The npm package's version is always available; others come from
 * Debian packages.
 */
import { accessSync, constants } from "node:fs";
import type { ProcessUser } from "../embedded/os-user.ts";
import { findInstalledBinaries, makeBinariesUsable, type PostgresBinaries } from "../embedded/postgres-binaries.ts";

const FOLDER = "/usr/lib/postgresql";

/** Why that major version cannot run here. Undefined if it can. */
export async function explainMissingPostgres(major: number): Promise<string | undefined> {
  if (major === (await findInstalledBinaries()).major) return undefined;
  try {
    accessSync(`${FOLDER}/${major}/bin/postgres`, constants.X_OK);
    return undefined;
  } catch {
    return `PostgreSQL ${major} is not installed in ${FOLDER}/${major}`;
  }
}

/** Returns that version's programs. `place`: where to copy the npm package if the user `runAs` cannot reach it. */
export async function findPostgresBinaries(
  major: number | undefined,
  { runAs, place }: { runAs: ProcessUser; place: string },
): Promise<PostgresBinaries> {
  const installed = await findInstalledBinaries();
  if (major === undefined || major === installed.major) {
    return await makeBinariesUsable(installed, { runAs, place, progress: () => undefined });
  }
  const why = await explainMissingPostgres(major);
  if (why !== undefined) throw new Error(why);
  return { native: `${FOLDER}/${major}`, version: String(major), major };
}
