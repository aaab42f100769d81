/**
 * Declares commands in a table by their names (`admin key create`). The parser, every `--help` and the shell
 * completions use that table.
 */
import type { Terminal } from "./terminal.ts";

/** What every command gets besides its command line. A program adds more for its own commands. */
export interface BaseCommandContext {
  terminal: Terminal;
  env: Record<string, string | undefined>;
}

export interface Command<Context = BaseCommandContext> extends CommandDeclaration {
  /** Returns the exit code. */
  run: (given: CommandInput, context: Context) => Promise<number>;
}

/** The arguments and flags that a command accepts. */
export interface CommandDeclaration {
  /** The command's purpose in one line. */
  help: string;
  /** The arguments after the command's name, in order: `{ ACCOUNT: { help: "the account's id" } }`. */
  args?: Record<string, Argument>;
  flags?: Record<string, Flag>;
  /** Further paragraphs of the command's help. */
  more?: string[];
  /** The arguments of the help's example, after the program's and the command's name. */
  example?: string;
}

interface Argument {
  help: string;
  /** The allowed values. */
  oneOf?: readonly string[];
}

export interface Flag extends Argument {
  /** The placeholder for the flag's value in help, such as `DIR`. A flag without a placeholder takes no value. */
  value?: string;
  required?: boolean;
  /** Whether the flag may be given several times. Its values are joined by commas. */
  repeated?: boolean;
}

export interface CommandInput {
  args: string[];
  flags: Record<string, string | undefined>;
  switches: ReadonlySet<string>;
  /** Whether `--json` was given: the output is for a script. */
  json: boolean;
}

/** The `--json` flag of every command that prints data. */
export const JSON_FLAG: Record<string, Flag> = { json: { help: "print JSON, for scripts" } };

/**
 * A table of commands without their functions. It is enough to parse a command line and to print help and completions.
 */
export interface CommandDeclarations<C extends CommandDeclaration = CommandDeclaration> {
  program: string;
  version: string;
  help: string;
  /** Paragraphs below the list of commands. */
  more?: string[];
  example: string;
  commands: Record<string, C>;
  /**
   * Groups of commands (such as `admin`) with a help page of their own. The program's help lists only the group, not
   * its commands.
   */
  groups: Record<string, { help: string; more?: string[]; example?: string }>;
}

export type CommandTable<Context = BaseCommandContext> = CommandDeclarations<Command<Context>>;

/** Formats the allowed values of a flag: `builder or host`, `one of a, b, c`. */
export const formatChoices = (words: readonly string[]): string =>
  words.length === 2 ? words.join(" or ") : `one of ${words.join(", ")}`;
