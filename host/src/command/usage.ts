/** Reading a command line: flags in, or the mistakes of the person at the keyboard out. */
import { type ParseArgsConfig, parseArgs } from "node:util";

/** One or more mistakes, a line each, which name the flag and its rule. */
export class UsageError extends Error {
  override name = "UsageError";
  readonly mistakes: string[];
  constructor(mistakes: string[]) {
    super(mistakes.join("\n"));
    this.mistakes = mistakes;
  }
}

type Options = NonNullable<ParseArgsConfig["options"]>;
const EVERYWHERE = { json: { type: "boolean", default: false } } as const satisfies Options;

/** A command's flags, `--json` among them. */
export function readFlags<const T extends Options>(args: string[], options: T) {
  return readArguments(args, options, false).values;
}

/** Its flags and the words beside them. */
export function readArguments<const T extends Options>(args: string[], options: T, allowPositionals = true) {
  try {
    return parseArgs({ args, options: { ...EVERYWHERE, ...options }, strict: true, allowPositionals });
  } catch (error) {
    // Node's message is right in its first sentence and goes on to explain its own syntax.
    const message = error instanceof Error ? error.message : String(error);
    throw new UsageError([message.split(/\. |\n/)[0] ?? message]);
  }
}
