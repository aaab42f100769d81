/** `tollgate-host pause` and `resume`: keep requests away from a node, and let them in again. */

import { readFlags } from "./arguments.ts";
import { answer, type Command, type CommandContext } from "./command.ts";
import type { GatewayClient } from "./gateway/client.ts";
import { nodeIdOf, openSession } from "./session.ts";
import { sanitise } from "./terminal/text.ts";

type Move = "pause" | "resume";

const usage = (move: Move, what: string): string => `tollgate-host ${move}: ${what}

  --node ID   another node of your account; default: this machine's
  --json      answer as JSON`;

const MOVES: Record<Move, (gateway: GatewayClient, id: string) => ReturnType<GatewayClient["pause"]>> = {
  pause: (gateway, id) => gateway.pause(id),
  resume: (gateway, id) => gateway.resume(id),
};
const EFFECTS: Record<Move, string> = {
  pause: "it finishes what runs and gets nothing new; tollgate-host resume lets requests in again",
  resume: "it gets requests while tollgate-host up runs",
};

const command = (move: Move, what: string): Command => ({
  summary: what,
  usage: usage(move, what),
  async run(args: string[], context: CommandContext): Promise<number> {
    const flags = readFlags(args, { node: { type: "string" } });
    const session = await openSession(context);
    const node = await MOVES[move](session.gateway, nodeIdOf(session, flags.node));
    answer(context, flags.json, { node: node.id, name: node.name, state: node.state }, () => [
      `${node.id} (${sanitise(node.name)}) is ${node.state}`,
      EFFECTS[move],
    ]);
    return 0;
  },
});

export const pause = command("pause", "keep requests away from the node");
export const resume = command("resume", "let requests in again");
