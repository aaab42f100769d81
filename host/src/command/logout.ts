/** `tollgate-host logout`: deletes the stored gateway, token, node and election. */

import type { CommandInput } from "@tollgate/terminal/command.ts";
import { type Command, type CommandContext, printResult } from "./command.ts";

export const logoutCommand: Command = {
  help: "remove the stored login from this machine",
  more: [
    "The token itself stays valid until you revoke it in the console. The node stays registered: log in again with the same name to use it.",
  ],
  example: "",
  run,
};

async function run({ json }: CommandInput, context: CommandContext): Promise<number> {
  const removed = await context.logins.remove();
  printResult(context, json, { removed }, () =>
    removed
      ? [
          `removed ${context.logins.path}`,
          "the token is still valid; revoke it in the console if you no longer need it",
        ]
      : ["this machine was not logged in"],
  );
  return 0;
}
