/** A live screen on a terminal, plain lines elsewhere, JSON lines for scripts. */
import type { CommandContext } from "../command.ts";
import type { UpFlags } from "../flags.ts";
import { jsonReporter } from "./json-reporter.ts";
import { plainReporter } from "./plain-reporter.ts";
import type { Reporter } from "./reporter.ts";
import { screenReporter } from "./screen-reporter.ts";

export function reporterFor(flags: Pick<UpFlags, "json" | "logLevel">, context: CommandContext): Reporter {
  if (flags.json) return jsonReporter(flags.logLevel, context);
  return context.terminal.watched ? screenReporter(flags.logLevel, context) : plainReporter(flags.logLevel, context);
}
