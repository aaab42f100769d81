/** What an admin command is, and what it is given. */
import type pg from "pg";
import type { NewId, Uuid } from "../../base/ids.ts";
import type { Config } from "../../config.ts";

export interface AdminCommand {
  help: string;
  /** What follows the command's name: `["NODE"]`. */
  args?: string[];
  /** Its own flags, each of which takes a text. */
  flags?: string[];
  /** Those that take none: they are there or not. */
  switches?: string[];
  /** Returns the exit code. */
  run: (run: AdminRun) => Promise<number>;
}

export interface AdminRun {
  pool: pg.Pool;
  newId: NewId;
  config: Config;
  json: boolean;
  print: (text: string) => void;
  args: string[];
  flags: Record<string, string | undefined>;
  switches: ReadonlySet<string>;
}

const PAGE_ROWS = 1000;

/** All of a list that is read in pages. */
export async function everyPage<Row extends { id: Uuid }>(
  read: (page: { before: Uuid | undefined; limit: number }) => Promise<Row[]>,
): Promise<Row[]> {
  const all: Row[] = [];
  for (;;) {
    const rows = await read({ before: all.at(-1)?.id, limit: PAGE_ROWS });
    all.push(...rows);
    if (rows.length < PAGE_ROWS) return all;
  }
}

/** Who an action is recorded as done by when it was done from the shell. */
export const SHELL_OPERATOR = "command line";
