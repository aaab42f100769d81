/** The interface that every command implements, and its inputs. */
import type { BaseCommandContext, Command as Declared } from "@tollgate/terminal/command.ts";
import type { PlaneDialer } from "../agent/plane-connection.ts";
import type { Clock } from "../clock.ts";
import type { explainMissingEngines, findEngines } from "../engines/detect-engines.ts";
import type { LoginFile } from "./login-file.ts";
import type { Machine } from "./machine/machine.ts";
import type { Supervisor } from "./service-supervisor.ts";

export interface CommandContext extends BaseCommandContext {
  /** The agent's name and version: `tollgate-host/0.1.0`. */
  version: string;
  /** How to start this program again: the paths of Node and of the script. */
  program: { node: string; file: string };
  clock: Clock;
  machine: Machine;
  logins: LoginFile;
  /** Finds engines on this machine. */
  findEngines: typeof findEngines;
  /** Explains why the usual engines were not found on this machine. */
  findAbsences: typeof explainMissingEngines;
  dial: PlaneDialer;
  /** Starts handling the process's signals. Only long-running commands call it. */
  supervisor: () => Supervisor;
}

export type Command = Declared<CommandContext>;

/** Prints a command's result: as JSON for scripts, or as lines for people. */
export function printResult(
  { terminal }: CommandContext,
  json: boolean,
  value: object,
  lines: () => readonly string[],
): void {
  if (json) terminal.print(JSON.stringify(value, null, 2));
  else for (const line of lines()) terminal.print(line);
}
