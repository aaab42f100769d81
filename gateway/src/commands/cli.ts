/** The entry point of the `tollgate` command. */
import { envOf, perform } from "@tollgate/terminal/perform.ts";
import { openTerminal } from "@tollgate/terminal/terminal.ts";
import { explain } from "./failures.ts";
import { TOLLGATE } from "./tollgate.ts";

const args = process.argv.slice(2);
const env = envOf(args, process.env);
const code = await perform(TOLLGATE, args, { terminal: openTerminal(process, env), env }, explain);
// After a failure the process exits at once, because the command may have left timers or connections open.
if (code === 0) process.exitCode = 0;
else process.exit(code);
