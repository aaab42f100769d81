/** Reads SQL files from a folder and runs them one by one in the caller's transaction. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { z } from "zod";
import { queryOne, row } from "./rows.ts";

const Transaction = row({ id: z.string() });

/**
 * Thrown when the database does not match our SQL files, or a file failed. The message is one line that says what to
 * do.
 */
export class MigrationError extends Error {
  override name = "MigrationError";
}

export interface SqlFile {
  /** The name of the file, such as "0001_accounts.sql". */
  name: string;
  sql: string;
}

/** Reads the SQL files of a folder, sorted by name. */
export async function readSqlFiles(directory: string): Promise<SqlFile[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".sql")).sort();
  return Promise.all(
    names.map(async (name) => ({
      name,
      // Normalizes line endings, because Git may convert them at a checkout, and the checksum of the file must not
      // depend on that.
      sql: (await readFile(join(directory, name), "utf8")).replaceAll("\r\n", "\n"),
    })),
  );
}

export const computeSha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

export async function runSqlFile(
  client: pg.PoolClient,
  kind: "Migration" | "Function" | "Base",
  file: SqlFile,
): Promise<void> {
  try {
    const before = await currentTransaction(client);
    await client.query(file.sql);
    if ((await currentTransaction(client)) !== before) {
      throw new MigrationError(`it ends its own transaction. Remove its begin, commit or rollback`);
    }
  } catch (error) {
    throw new MigrationError(`${kind} ${file.name} failed${whereAndWhy(file, error)}`, { cause: error });
  }
}

async function currentTransaction(client: pg.PoolClient): Promise<string> {
  return (await queryOne(client, Transaction, "select pg_current_xact_id()::text as id")).id;
}

function whereAndWhy(file: SqlFile, error: unknown): string {
  const message = (error instanceof Error ? error.message : String(error)).replaceAll("\n", " ");
  if (!(error instanceof pg.DatabaseError) || error.position === undefined) return `: ${message}.`;
  // Splits into characters, because PostgreSQL's position counts characters and a JavaScript string counts UTF-16
  // units.
  const before = [...file.sql].slice(0, Number(error.position) - 1);
  const line = before.filter((char) => char === "\n").length + 1;
  return ` in line ${line}: ${message}.`;
}
