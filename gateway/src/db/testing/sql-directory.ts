/** Test helper: SQL directories like gateway/sql, with invented migrations or those of an earlier version. */
import { copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The gateway's own SQL directory. */
export const SQL_SOURCE_DIRECTORY = fileURLToPath(new URL("../../../sql/", import.meta.url));

/** A test's context or a whole test file. When it ends, it calls `remove`, which deletes the directory. */
interface Cleaner {
  after(remove: () => Promise<void>): void;
}

interface SqlDirectory {
  /** The contents of the migration files, by file name. */
  migrations?: Record<string, string>;
  functions?: Record<string, string>;
}

export async function makeSqlDirectory(t: Cleaner, contents: SqlDirectory = {}): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "tollgate-sql-"));
  t.after(() => rm(directory, { recursive: true }));
  for (const folder of ["migrations", "functions"] as const) {
    await mkdir(join(directory, folder));
    for (const [name, text] of Object.entries(contents[folder] ?? {})) {
      await writeFile(join(directory, folder, name), text);
    }
  }
  return directory;
}

/**
 * Creates an SQL directory with the migrations up to this number. Before 0018, the migrations include the functions.
 */
export async function makeSqlDirectoryUpTo(t: Cleaner, last: string): Promise<string> {
  const directory = await makeSqlDirectory(t);
  for (const name of await readdir(join(SQL_SOURCE_DIRECTORY, "migrations"))) {
    if (name.slice(0, 4) <= last)
      await copyFile(join(SQL_SOURCE_DIRECTORY, "migrations", name), join(directory, "migrations", name));
  }
  return directory;
}
