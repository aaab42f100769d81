/** The `tollgate` command: runs what was asked and turns every expected failure into one clear line and an exit code. */
import { UsageError } from "./line/command.ts";
import { perform } from "./line/perform.ts";
import { TOLLGATE } from "./tollgate.ts";

try {
  process.exitCode = await perform(TOLLGATE, process.argv.slice(2));
} catch (error) {
  // The message is written for the person at the terminal; the stack is for whoever asks for it.
  const message = error instanceof Error ? error.message : String(error);
  console.error(`tollgate: ${message.split("\n")[0]}`);
  if (error instanceof UsageError) console.error(`  next: ${["tollgate", error.command].join(" ").trimEnd()} --help`);
  if (process.env.TOLLGATE_TRACE !== undefined) console.error(error);
  process.exit(error instanceof UsageError ? 2 : 1);
}
