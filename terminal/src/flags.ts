/** Flags of a command line as Node's `parseArgs` cuts it into tokens, with every mistake in them. */
import { type ParseArgsConfig, parseArgs } from "node:util";
import { nearest } from "./nearest.ts";

/** What is known of a flag. */
interface KnownFlag {
  takesValue: boolean;
  /** How its value is called in help: NAME. */
  shown?: string | undefined;
  /** Says what is wrong with a value. */
  check?: (rawName: string, value: string) => string | undefined;
}

interface FlagToken {
  name: string;
  /** As it was typed. */
  rawName: string;
  value?: string | undefined;
  inlineValue?: boolean | undefined;
}

interface ReadFlags {
  /** In the order in which they were given; of several of one name, all. */
  flags: FlagToken[];
  /** What stands beside the flags. */
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
    const meant = nearest(name, Object.keys(known));
    return `there is no flag ${rawName}${meant === undefined ? "" : `; did you mean --${meant}?`}`;
  }
  if (!flag.takesValue) return value === undefined ? undefined : `${rawName} takes no value`;
  const needed = `${rawName} needs a value${flag.shown === undefined ? "" : `: ${rawName} ${flag.shown}`}`;
  if (value === undefined) return needed;
  // Probably the next flag; what is meant so is written in one word.
  if (inlineValue !== true && value.startsWith("-") && value !== "-")
    return `${needed} (write a value that begins with a hyphen as ${rawName}=${value})`;
  return flag.check?.(rawName, value);
}
