/** Most commands start with this: the stored login, a client for its gateway, and the chosen node. */

import { CommandError, UsageError } from "@tollgate/terminal/errors.ts";
import type { CommandContext } from "./command.ts";
import { type GatewayClient, gatewayClient } from "./gateway/gateway-client.ts";
import type { Login } from "./login-file.ts";

export interface LoginSession {
  login: Login;
  gateway: GatewayClient;
}

export async function openLoginSession({ logins }: Pick<CommandContext, "logins">): Promise<LoginSession> {
  const login = await logins.read();
  if (login === undefined) throw new CommandError("this machine is not logged in", { next: "tollgate-host login" });
  return { login, gateway: gatewayClient(login) };
}

/** The ID of the node that a flag names, or of this machine's node. */
export function chooseNodeId({ login }: LoginSession, flag: string | undefined): string {
  if (flag !== undefined) {
    if (/^node_\w+$/.test(flag)) return flag;
    throw new UsageError("--node must be a node ID (node_…)");
  }
  if (login.node !== undefined) return login.node.id;
  throw new CommandError("this machine is not a node yet", { next: "tollgate-host register" });
}
