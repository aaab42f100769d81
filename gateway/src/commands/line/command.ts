/**
 * What a command of `tollgate` is: declared once, in a table by its words (`admin key create`). Reading the command line and
 * every `--help` come from it.
 */

export interface Command extends Shape {
  /** Returns the exit code. */
  run: (given: Given) => Promise<number>;
}

/** All that a command line may say to a command. */
export interface Shape {
  /** What it does, in one line. */
  help: string;
  /** What follows its name, in order: `{ ACCOUNT: { help: "the account's id" } }`. */
  args?: Record<string, Argument>;
  flags?: Record<string, Flag>;
  /** What there is to say beside: a line each. */
  more?: string[];
  /** What follows `tollgate` and its name. */
  example?: string;
}

interface Argument {
  help: string;
  /** What it must be one of. */
  oneOf?: readonly string[];
}

export interface Flag extends Argument {
  /** What it takes: `DIR`. A flag without one is there or not. */
  value?: string;
  required?: boolean;
  /** May be given several times; the values come joined by commas. */
  repeated?: boolean;
}

export interface Given {
  args: string[];
  flags: Record<string, string | undefined>;
  switches: ReadonlySet<string>;
}

export interface CommandTable {
  program: string;
  version: string;
  help: string;
  example: string;
  commands: Record<string, Command>;
  /** First words that have a page of help of their own, and no place in the program's own for each of their commands. */
  groups: Record<string, { help: string; more?: string[]; example?: string }>;
}

/** Wrong use: mistakes that the command line alone shows, each naming its flag and rule. Exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";
  /** The command it was said to, as far as it was understood. */
  command: string | undefined;
  constructor(...mistakes: string[]) {
    super(mistakes.join("; "));
  }
}

/** `builder or host`, `one of a, b, c`. */
export const choice = (words: readonly string[]): string =>
  words.length === 2 ? words.join(" or ") : `one of ${words.join(", ")}`;
