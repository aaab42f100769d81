/** `tollgate-host rename` and `retire`: rename a node, or end it permanently. */
import { UsageError } from "@tollgate/terminal/errors.ts";
import { sanitiseForTerminal } from "@tollgate/terminal/terminal-text.ts";
import { type Command, type CommandContext, printResult } from "./command.ts";
import { chooseNodeId, openLoginSession } from "./login-session.ts";
import { NODE_FLAG, parseNodeName } from "./parse-arguments.ts";

export const renameCommand: Command = {
  help: "change the node's name",
  flags: {
    name: { value: "NAME", required: true, help: "the new name; no other node of your account may have it" },
    ...NODE_FLAG,
  },
  example: "--name attic",
  async run({ flags, json }, context) {
    const mistakes: string[] = [];
    const wrong = (mistake: string): undefined => void mistakes.push(mistake);
    const name = parseNodeName(flags.name ?? "", wrong);
    if (name === undefined) throw new UsageError(mistakes);
    const session = await openLoginSession(context);
    const node = await session.gateway.rename(chooseNodeId(session, flags.node), name);
    if (session.login.node?.id === node.id)
      await context.logins.write({ ...session.login, node: { id: node.id, name: node.name } });
    printResult(context, json, { node: node.id, name: node.name, state: node.state }, () => [
      `${node.id} is now named ${sanitiseForTerminal(node.name)}`,
    ]);
    return 0;
  },
};

export const retireCommand: Command = {
  help: "take the node out of service permanently",
  flags: { ...NODE_FLAG, yes: { help: "do not ask for confirmation" } },
  more: [
    "The node gets no new requests and no credentials. Requests in flight finish, and its earnings stay yours. This is permanent; tollgate-host register --name ANOTHER creates a new node.",
  ],
  example: "--node node_01jc9v6w2e8t3k5m7q9r1s4x6z --yes",
  async run({ flags, switches, json }, context) {
    const session = await openLoginSession(context);
    const id = chooseNodeId(session, flags.node);
    if (!switches.has("yes") && !(await agreed(context, (await session.gateway.node(id)).name))) return 1;
    const node = await session.gateway.retire(id);
    // The retired node must not stay stored, because later commands would fail with it.
    if (session.login.node?.id === id) {
      const { node: _node, serving: _serving, ...login } = session.login;
      await context.logins.write(login);
    }
    printResult(context, json, { node: node.id, name: node.name, state: node.state }, () => [
      `${node.id} (${sanitiseForTerminal(node.name)}) is ${node.state}: requests in flight finish, and the node gets no new ones`,
      "next: when the requests in flight are done, stop tollgate-host up on the node's machine",
    ]);
    return 0;
  },
};

async function agreed({ terminal }: CommandContext, name: string): Promise<boolean> {
  if (terminal.ask === undefined)
    throw new UsageError(["--yes is missing: standard input is not a terminal, so the command cannot ask"]);
  const said = await terminal.ask(`Retire ${sanitiseForTerminal(name)} permanently? [y/N] `);
  if (/^y(es)?$/i.test(said)) return true;
  terminal.remark("nothing was changed");
  return false;
}
