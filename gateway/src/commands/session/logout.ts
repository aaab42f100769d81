/** `tollgate logout`: ends this machine's session at the gateway and deletes it here. */
import { type BaseCommandContext, type Command, type CommandInput, JSON_FLAG } from "@tollgate/terminal/command.ts";
import { callConsole } from "./console-call.ts";
import { deleteStoredSession, readStoredSession } from "./stored-session.ts";

export const logoutCommand: Command = {
  help: "end the session that tollgate login stored on this machine",
  flags: JSON_FLAG,
  example: "",
  run,
};

async function run({ json }: CommandInput, context: BaseCommandContext): Promise<number> {
  const { gateway, token } = await readStoredSession(context);
  await callConsole({ gateway, method: "POST", path: "/console/api/auth/sign-out", token });
  await deleteStoredSession(context);
  context.terminal.print(json ? JSON.stringify({ gateway, ended: true }) : `logged out of ${gateway}`);
  return 0;
}
