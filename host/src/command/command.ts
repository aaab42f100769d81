/** The interface and the inputs of every command. */
import type { BaseCommandContext, Command as Declared } from "@tollgate/terminal/command.ts";
import type { Dial } from "../agent/plane.ts";
import type { Clock } from "../clock.ts";
import type { findAbsences, findEngines } from "../engines/detect.ts";
import type { LoginFile } from "./login-file.ts";
import type { Machine } from "./machine/machine.ts";
import type { Supervisor } from "./supervisor.ts";

export interface CommandContext extends BaseCommandContext {
  /** The agent's name and version: `tollgate-host/0.1.0`. */
  version: string;
  /** How to start this program again: the path of Node, and the script. */
  program: { node: string; file: string };
  clock: Clock;
  machine: Machine;
  logins: LoginFile;
  /** Finds engines on this machine. */
  findEngines: typeof findEngines;
  /** Explains why engines are not found. */
  findAbsences: typeof findAbsences;
  dial: Dial;
  /** Handles the process's signals. Only long-running commands call it. */
  supervisor: () => Supervisor;
}

export type Command = Declared<CommandContext>;

/** Prints a command's result: as JSON for scripts, or as lines for people. */
export function printAnswer(
  { terminal }: CommandContext,
  json: boolean,
  value: object,
  lines: () => readonly string[],
): void {
  if (json) terminal.print(JSON.stringify(value, null, 2));
  else for (const line of lines()) terminal.print(line);
}
