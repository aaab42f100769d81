/** Reads flags from the tokens of Node's `parseArgs`, and collects every mistake. */
import { type ParseArgsConfig, parseArgs } from "node:util";
import { findNearestWord } from "./nearest-word.ts";

/** The definition of a flag. */
interface KnownFlag {
  takesValue: boolean;
  /** The placeholder for the flag's value in help, such as NAME. */
  shown?: string | undefined;
  /** Checks a value. Returns the mistake, if any. */
  check?: (rawName: string, value: string) => string | undefined;
}

interface FlagToken {
  name: string;
  /** The name as the user typed it. */
  rawName: string;
  value?: string | undefined;
  inlineValue?: boolean | undefined;
}

interface ReadFlags {
  /** All flags in the order in which they were typed. */
  flags: FlagToken[];
  /** The words on the command line that are not flags or their values. */
  words: string[];
  mistakes: string[];
}

export function readFlagTokens(args: string[], known: Record<string, KnownFlag>): ReadFlags {
  const options: NonNullable<ParseArgsConfig["options"]> = Object.fromEntries(
    Object.entries(known).map(([flag, { takesValue }]) => [flag, { type: takesValue ? "string" : "boolean" }]),
  );
  const { tokens } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
  const flags = tokens.filter((token) => token.kind === "option");
  return {
    flags,
    words: tokens.flatMap((token) => (token.kind === "positional" ? [token.value] : [])),
    mistakes: flags.flatMap((token) => mistakeOf(token, known) ?? []),
  };
}

function mistakeOf(
  { name, rawName, value, inlineValue }: FlagToken,
  known: Record<string, KnownFlag>,
): string | undefined {
  const flag = Object.hasOwn(known, name) && rawName.startsWith("--") ? known[name] : undefined;
  if (flag === undefined) {
    const meant = findNearestWord(name, Object.keys(known));
    return `there is no flag ${rawName}${meant === undefined ? "" : `; did you mean --${meant}?`}`;
  }
  if (!flag.takesValue) return value === undefined ? undefined : `${rawName} takes no value`;
  const needed = `${rawName} needs a value${flag.shown === undefined ? "" : `: ${rawName} ${flag.shown}`}`;
  if (value === undefined) return needed;
  // A value that begins with a hyphen is probably the next flag. The form `--flag=value` allows such a value.
  if (inlineValue !== true && value.startsWith("-") && value !== "-")
    return `${needed} (write a value that begins with a hyphen as ${rawName}=${value})`;
  return flag.check?.(rawName, value);
}
