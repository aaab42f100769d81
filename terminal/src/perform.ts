/** Runs a command line, or prints its help. */
import type { CommandTable, Surroundings } from "./command.ts";
import { UsageError } from "./errors.ts";
import { type Explain, failureLine, failureOf, traceOf } from "./failure.ts";
import { helpOf } from "./help.ts";
import { readCommandLine } from "./read.ts";

/** Every command takes it. */
const NO_COLOR = "--no-color";

/** The environment, with what the command line says of colours: for `openTerminal`. */
export function envOf(args: string[], env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return args.includes(NO_COLOR) ? { ...env, NO_COLOR: "1" } : env;
}

/** The exit code: 0, what the command says, 1 for a failure, 2 for a mistake in the command line or where no command was named. */
export async function perform<C extends Surroundings>(
  table: CommandTable<C>,
  args: string[],
  context: C,
  explain?: Explain,
): Promise<number> {
  try {
    return await runCommand(table, args, context);
  } catch (error) {
    const { terminal, env } = context;
    const failure = failureOf(error, table.program, explain);
    const { message, details, next, code = null, exitCode } = failure;
    if (args.includes("--json")) {
      terminal.remark(JSON.stringify({ error: { message, ...(details.length > 0 && { details }), code, next } }));
    } else {
      terminal.remark(`${terminal.remarkPaint.bad("error:")} ${failureLine(failure)}`);
      for (const detail of details) terminal.remark(`  ${detail}`);
    }
    if (env.TOLLGATE_TRACE) for (const line of traceOf(error)) terminal.remark(line);
    return exitCode;
  }
}

/** The same, with failures thrown. */
export async function runCommand<C extends Surroundings>(
  table: CommandTable<C>,
  args: string[],
  context: C,
): Promise<number> {
  const { terminal } = context;
  const asked = readCommandLine(
    table,
    args.filter((arg) => arg !== NO_COLOR),
  );
  if (asked.kind === "version") {
    terminal.print(`${table.program} ${table.version}`);
    return 0;
  }
  if (asked.kind === "help") {
    terminal.print(helpOf(table, asked.name, terminal));
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
