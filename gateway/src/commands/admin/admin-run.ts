/** The type of `tollgate admin` commands, and the context in which they run. */

import type { CommandDeclaration, CommandInput, Flag } from "@tollgate/terminal/command.ts";
import { UsageError } from "@tollgate/terminal/errors.ts";
import type { Terminal } from "@tollgate/terminal/terminal.ts";
import type pg from "pg";
import type { Clock } from "../../base/clock.ts";
import type { NewId, Uuid } from "../../base/ids.ts";
import type { Config } from "../../config.ts";

/** The type of `tollgate admin` commands. Every command also accepts `--json` and `--data`. */
export interface AdminCommand extends CommandDeclaration {
  /**
   * Runs on a standby and on any copy of the database. For commands that examine a copy, or decide which one gateways
   * use.
   */
  onAnyHistory?: true;
  /** Returns the exit code. */
  run: (run: AdminRun) => Promise<number>;
}

export interface AdminRun extends CommandInput {
  pool: pg.Pool;
  newId: NewId;
  /** Shows the database server's time, not this machine's. */
  clock: Clock;
  config: Config;
  terminal: Terminal;
  print: (text: string) => void;
}

/** Arguments and flags that several commands share. */
export const ACCOUNT_ARGUMENT = { ACCOUNT: { help: "account ID: acc_…" } };
export const NAME_ARGUMENT = { NAME: { help: "1 to 200 characters" } };
export const REASON_FLAG: Record<string, Flag> = {
  reason: { value: "TEXT", required: true, help: "the reason, in 1 to 200 characters, for the audit log" },
};

const PAGE_ROWS = 1000;

/** Loads all rows of a paginated list. */
export async function readEveryPage<Row extends { id: Uuid }>(
  read: (page: { before: Uuid | undefined; limit: number }) => Promise<Row[]>,
): Promise<Row[]> {
  const all: Row[] = [];
  for (;;) {
    const rows = await read({ before: all.at(-1)?.id, limit: PAGE_ROWS });
    all.push(...rows);
    if (rows.length < PAGE_ROWS) return all;
  }
}

export function parseNameArgument(text: string | undefined): string {
  const name = text ?? "";
  if (name.trim() === "" || name.length > 200) throw new UsageError("NAME must have 1 to 200 characters");
  return name;
}

/** The operator's name in the audit log for actions from the command line. */
export const COMMAND_LINE_ACTOR = "command line";
