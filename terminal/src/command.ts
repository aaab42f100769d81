/**
 * What a command is: declared once, in a table by its words (`admin key create`). Reading the command line, every `--help` and the
 * shell completions come from that table.
 */
import type { Terminal } from "./terminal.ts";

/** What every command is given beside its command line. A program adds what its own commands need. */
export interface Surroundings {
  terminal: Terminal;
  env: Record<string, string | undefined>;
}

export interface Command<Context = Surroundings> extends Shape {
  /** Returns the exit code. */
  run: (given: Given, context: Context) => Promise<number>;
}

/** All that a command line may say to a command. */
export interface Shape {
  /** What it does, in one line. */
  help: string;
  /** What follows its name, in order: `{ ACCOUNT: { help: "the account's id" } }`. */
  args?: Record<string, Argument>;
  flags?: Record<string, Flag>;
  /** Further paragraphs of its help. */
  more?: string[];
  /** What follows the program and its name. */
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
  /** `--json`: the answer is for a script. */
  json: boolean;
}

/** The same for every command that prints data. */
export const JSON_FLAG: Record<string, Flag> = { json: { help: "print JSON, for scripts" } };

/** A table without what its commands do: enough to read a command line, to write help and completions. */
export interface ShapeTable<C extends Shape = Shape> {
  program: string;
  version: string;
  help: string;
  /** Paragraphs below the list of commands. */
  more?: string[];
  example: string;
  commands: Record<string, C>;
  /** First words that have a page of help of their own, and no place in the program's own for each of their commands. */
  groups: Record<string, { help: string; more?: string[]; example?: string }>;
}

export type CommandTable<Context = Surroundings> = ShapeTable<Command<Context>>;

/** `builder or host`, `one of a, b, c`. */
export const choice = (words: readonly string[]): string =>
  words.length === 2 ? words.join(" or ") : `one of ${words.join(", ")}`;
