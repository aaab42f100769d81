/** What an admin command is, and what it is given. */
import type pg from "pg";
import type { NewId } from "../../base/ids.ts";
import type { Config } from "../../config.ts";

export interface AdminCommand {
  help: string;
  /** What follows the command's name: `["NODE"]`. */
  args?: string[];
  /** Its own flags, each of which takes a text. */
  flags?: string[];
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
}

/** Who an action is recorded as done by when it was done from the shell. */
export const SHELL_OPERATOR = "command line";
