/** `tollgate-host pause` and `resume`: stop and restart the requests to a node. */

import { sanitiseForTerminal } from "@tollgate/terminal/terminal-text.ts";
import { type Command, printResult } from "./command.ts";
import type { GatewayClient } from "./gateway/gateway-client.ts";
import { chooseNodeId, openLoginSession } from "./login-session.ts";
import { NODE_FLAG } from "./parse-arguments.ts";

type Move = "pause" | "resume";

const MOVES: Record<Move, (gateway: GatewayClient, id: string) => ReturnType<GatewayClient["pause"]>> = {
  pause: (gateway, id) => gateway.pause(id),
  resume: (gateway, id) => gateway.resume(id),
};
const EFFECTS: Record<Move, string> = {
  pause: "requests in flight finish, and the node gets no new ones; tollgate-host resume ends the pause",
  resume: "the node can get requests again while tollgate-host up is running",
};

const command = (move: Move, what: string): Command => ({
  help: what,
  flags: NODE_FLAG,
  example: "",
  async run({ flags, json }, context): Promise<number> {
    const session = await openLoginSession(context);
    const node = await MOVES[move](session.gateway, chooseNodeId(session, flags.node));
    printResult(context, json, { node: node.id, name: node.name, state: node.state }, () => [
      `${node.id} (${sanitiseForTerminal(node.name)}) is ${node.state}`,
      EFFECTS[move],
    ]);
    return 0;
  },
});

export const pauseCommand = command("pause", "stop sending new requests to the node");
export const resumeCommand = command("resume", "resume sending new requests to the node");
