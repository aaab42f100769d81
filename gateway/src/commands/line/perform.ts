/** Runs what a command line asks for, or prints the help it asks for. What goes wrong is thrown. */
import { type CommandTable, UsageError } from "./command.ts";
import { helpOf } from "./help.ts";
import { readCommandLine } from "./read.ts";

/** The exit code: 0, what the command says, or 2 where no command was named. */
export async function perform(table: CommandTable, args: string[]): Promise<number> {
  const asked = readCommandLine(table, args);
  if (asked.kind === "version") {
    console.log(`${table.program} ${table.version}`);
    return 0;
  }
  if (asked.kind === "help") {
    console.log(helpOf(table, asked.name));
    return asked.asked ? 0 : 2;
  }
  try {
    return await asked.command.run(asked.given);
  } catch (error) {
    if (error instanceof UsageError) error.command ??= asked.name;
    throw error;
  }
}
