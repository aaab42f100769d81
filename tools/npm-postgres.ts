/**
 * Installs the PostgreSQL versions between the oldest supported and the newest one, from npm into `.cache`, so that
 * tests can run on each: `node tools/npm-postgres.ts`, then `TEST_POSTGRES=16 node --test FILE`.
 */
import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { promisify } from "node:util";
import {
  explainMissingPostgres,
  NPM_PACKAGE,
  NPM_VERSIONS,
  npmVersionFolder,
} from "../gateway/src/db/testing/postgres-versions.ts";

/** Installs these major versions. Returns a line for each version that could not be installed. */
export async function installNpmPostgres(majors: number[]): Promise<string[]> {
  const leftOut: string[] = [];
  for (const major of majors) {
    if ((await explainMissingPostgres(major)) === undefined) continue;
    const folder = npmVersionFolder(major);
    await mkdir(folder, { recursive: true });
    // Install scripts are not needed, because the libraries' links are created when the server starts.
    const flags = ["--prefix", folder, "--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit"];
    await promisify(execFile)("npm", ["install", ...flags, `${NPM_PACKAGE}@${NPM_VERSIONS[major]}`]).catch(
      (error: Error) => leftOut.push(`left out: tests on PostgreSQL ${major} (npm: ${error.message.split("\n")[0]})`),
    );
  }
  return leftOut;
}

if (import.meta.main)
  for (const line of await installNpmPostgres(Object.keys(NPM_VERSIONS).map(Number))) console.error(line);
