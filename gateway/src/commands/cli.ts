/** The entry point of the `tollgate` command. */
import { deriveTerminalEnv, runCommandLine } from "@tollgate/terminal/run-command-line.ts";
import { openTerminal } from "@tollgate/terminal/terminal.ts";
import { explainFailure } from "./explain-failure.ts";
import { TOLLGATE_COMMANDS } from "./tollgate.ts";

const args = process.argv.slice(2);
const env = deriveTerminalEnv(args, process.env);
const code = await runCommandLine(
  TOLLGATE_COMMANDS,
  args,
  { terminal: openTerminal(process, env), env },
  explainFailure,
);
// After a failure the process exits at once, because the command may have left timers or connections open.
if (code === 0) process.exitCode = 0;
else process.exit(code);
