/** Parses a command line: finds the command and its arguments. Reports all mistakes, not only the first. */
import { type CommandDeclaration, type CommandDeclarations, type CommandInput, formatChoices } from "./command.ts";
import { UsageError } from "./errors.ts";
import { readFlagTokens } from "./flags.ts";
import { findNearestWord } from "./nearest-word.ts";

type Asked<C> =
  /** `name` is a command, the first words of several commands, or empty. */
  | { kind: "help"; name: string; asked: boolean }
  | { kind: "version" }
  | { kind: "run"; name: string; command: C; given: CommandInput };

export function parseCommandLine<C extends CommandDeclaration>(
  table: CommandDeclarations<C>,
  args: string[],
): Asked<C> {
  const said = args[0] === "help" ? [...args.slice(1), "--help"] : args;
  const words: string[] = [];
  for (const word of said) {
    if (listNextWords(table, words.join(" ")).includes(word)) words.push(word);
    else break;
  }
  const name = words.join(" ");
  const rest = said.slice(words.length);
  const command = Object.hasOwn(table.commands, name) ? table.commands[name] : undefined;
  const [first] = rest;
  const isUnknown = first !== undefined && !first.startsWith("-") && !takesWords(command);
  if (isUnknown && listNextWords(table, name).length > 0) throw unknownCommand(table, name, first);
  const flags = rest.includes("--") ? rest.slice(0, rest.indexOf("--")) : rest;
  if (flags.some((flag) => flag === "--help" || flag === "-h")) return { kind: "help", name, asked: true };
  if (flags.some((flag) => flag === "--version" || flag === "-V")) return { kind: "version" };
  if (command !== undefined) {
    try {
      return { kind: "run", name, command, given: parseCommandInput(name, command, rest) };
    } catch (error) {
      if (error instanceof UsageError) error.command = name;
      throw error;
    }
  }
  if (first !== undefined) {
    throw new UsageError(
      `${first} must come after the command: ${[table.program, ...words, "COMMAND", first].join(" ")}`,
    );
  }
  return { kind: "help", name, asked: false };
}

const takesWords = (command: CommandDeclaration | undefined): boolean => Object.keys(command?.args ?? {}).length > 0;

/** The words that can follow. For example, `account` and `key` can follow `admin`. */
export function listNextWords({ commands }: CommandDeclarations, name: string): string[] {
  const before = name === "" ? "" : `${name} `;
  const after = Object.keys(commands).filter((one) => one.startsWith(before) && one !== name);
  return [...new Set(after.map((one) => one.slice(before.length).split(" ")[0] ?? ""))];
}

function unknownCommand(table: CommandDeclarations, name: string, word: string): UsageError {
  const full = (last: string): string => [name, last].filter((part) => part !== "").join(" ");
  const known = listNextWords(table, name);
  const near = findNearestWord(word, known);
  const elsewhere = Object.keys(table.commands).find((one) => ` ${one} `.includes(` ${full(word)} `));
  const meant = near === undefined ? elsewhere : full(near);
  const hint = meant === undefined ? `there are ${known.join(", ")}` : `did you mean '${meant}'?`;
  const error = new UsageError(`there is no command '${full(word)}'; ${hint}`);
  error.command = name;
  return error;
}

/** Parses the words after a command's name. */
export function parseCommandInput(
  name: string,
  { args = {}, flags = {} }: CommandDeclaration,
  said: string[],
): CommandInput {
  const known = Object.entries(flags).map(([flag, { value, oneOf }]) => [
    flag,
    {
      takesValue: value !== undefined,
      shown: value,
      check: (rawName: string, given: string) => notOneOf(rawName, given, oneOf),
    },
  ]);
  const { flags: found, words, mistakes } = readFlagTokens(said, Object.fromEntries(known));
  const isNamed = (flag: string): boolean => found.some((token) => token.name === flag);
  // Checks words and required flags, but not after an unknown flag: a word may be that flag's value, and the flag may
  // be a misspelled required one.
  if (mistakes.length === 0) {
    const due = Object.entries(flags).filter(([flag, { required }]) => required === true && !isNamed(flag));
    mistakes.push(...wordMistakes(name, args, words));
    mistakes.push(...due.map(([flag, { help }]) => `--${flag} is missing: ${help}`));
  }
  if (mistakes.length > 0) throw new UsageError(mistakes);
  const valuesOf = (flag: string): string[] =>
    found.flatMap((token) => (token.name === flag ? (token.value ?? []) : []));
  const given = Object.entries(flags).filter(([flag, { value }]) => value !== undefined && isNamed(flag));
  const switches = new Set(Object.keys(flags).filter((flag) => flags[flag]?.value === undefined && isNamed(flag)));
  return {
    args: words,
    flags: Object.fromEntries(
      given.map(([flag, { repeated }]) => [flag, repeated === true ? valuesOf(flag).join(",") : valuesOf(flag).at(-1)]),
    ),
    switches,
    json: switches.has("json"),
  };
}

function wordMistakes(name: string, args: Record<string, { oneOf?: readonly string[] }>, words: string[]): string[] {
  const due = Object.keys(args);
  const takes = `${name} takes ${due.join(" ") || "no arguments"}`;
  if (words.length > due.length) return [`${takes}: '${words[due.length]}' is not expected`];
  if (words.length < due.length) return due.slice(words.length).map((arg) => `${arg} is missing: ${takes}`);
  return due.flatMap((arg, i) => notOneOf(arg, words[i] ?? "", args[arg]?.oneOf) ?? []);
}

function notOneOf(what: string, value: string, allowed: readonly string[] | undefined): string | undefined {
  return allowed === undefined || allowed.includes(value) ? undefined : `${what} must be ${formatChoices(allowed)}`;
}
