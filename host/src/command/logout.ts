/** `tollgate-host logout`: forgets the gateway, the token, the node and the election on this machine. */

import { readFlags } from "./arguments.ts";
import { answer, type Command, type CommandContext } from "./command.ts";

const USAGE = `tollgate-host logout: forget the login on this machine

  --json   answer as JSON

The file with the token is removed. The token itself works on until it is revoked in the
console, and the node stays registered: logging in again with the same name finds it.`;

export const logout: Command = { summary: "forget the login on this machine", usage: USAGE, run };

async function run(args: string[], context: CommandContext): Promise<number> {
  const flags = readFlags(args, {});
  const removed = await context.logins.remove();
  answer(context, flags.json, { removed }, () =>
    removed
      ? [`removed ${context.logins.path}`, "the token still works: revoke it in the console if nobody should use it"]
      : ["nobody was logged in on this machine"],
  );
  return 0;
}
