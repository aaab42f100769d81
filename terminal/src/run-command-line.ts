/** Runs the command of a command line, or prints its help. */
import type { BaseCommandContext, CommandTable } from "./command.ts";
import { UsageError } from "./errors.ts";
import { collectStackTraces, type ExplainError, explainFailure, formatFailureLine } from "./explain-failure.ts";
import { formatHelp } from "./help.ts";
import { parseCommandLine } from "./parse-command-line.ts";

/** A flag that every command accepts. */
const NO_COLOR = "--no-color";

/** The environment for `openTerminal`. --no-color on the command line turns colors off. */
export function deriveTerminalEnv(args: string[], env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return args.includes(NO_COLOR) ? { ...env, NO_COLOR: "1" } : env;
}

/**
 * Runs a command. Returns the exit code: the command's own (0 for success), 1 for a failure, or 2 for a mistake in the
 * command line or a missing command.
 */
export async function runCommandLine<C extends BaseCommandContext>(
  table: CommandTable<C>,
  args: string[],
  context: C,
  explain?: ExplainError,
): Promise<number> {
  try {
    return await runCommand(table, args, context);
  } catch (error) {
    const { terminal, env } = context;
    const failure = explainFailure(error, table.program, explain);
    const { message, details, next, code = null, exitCode } = failure;
    if (args.includes("--json")) {
      terminal.remark(JSON.stringify({ error: { message, ...(details.length > 0 && { details }), code, next } }));
    } else {
      terminal.remark(`${terminal.remarkPaint.bad("error:")} ${formatFailureLine(failure)}`);
      for (const detail of details) terminal.remark(`  ${detail}`);
    }
    if (env.TOLLGATE_TRACE) for (const line of collectStackTraces(error)) terminal.remark(line);
    return exitCode;
  }
}

/** Runs a command like `perform`, but throws errors instead of printing them. */
export async function runCommand<C extends BaseCommandContext>(
  table: CommandTable<C>,
  args: string[],
  context: C,
): Promise<number> {
  const { terminal } = context;
  const asked = parseCommandLine(
    table,
    args.filter((arg) => arg !== NO_COLOR),
  );
  if (asked.kind === "version") {
    terminal.print(`${table.program} ${table.version}`);
    return 0;
  }
  if (asked.kind === "help") {
    terminal.print(formatHelp(table, asked.name, terminal));
    return asked.asked ? 0 : 2;
  }
  try {
    return await asked.command.run(asked.given, context);
  } catch (error) {
    if (error instanceof UsageError) error.command ??= asked.name;
    throw error;
  } finally {
    terminal.progress.done();
  }
}
