/** `tollgate-host rename` and `retire`: another name for a node, and the end of one. */
import { nameOf, readFlags, UsageError } from "./arguments.ts";
import { answer, type Command, type CommandContext } from "./command.ts";
import { nodeIdOf, openSession } from "./session.ts";
import { sanitise } from "./terminal/text.ts";

const RENAME = `tollgate-host rename: give the node another name

  --name NAME   its new name; no other node of your account may have it
  --node ID     another node of your account; default: this machine's
  --json        answer as JSON`;

const RETIRE = `tollgate-host retire: take the node out of service for good

  --node ID   another node of your account; default: this machine's
  --yes       do it without a question
  --json      answer as JSON

It is offered nothing more and gets no credentials. What runs is finished. What it earned
stays yours. A retired node never comes back: register --name ANOTHER makes a new one.`;

export const rename: Command = {
  summary: "give the node another name",
  usage: RENAME,
  async run(args, context) {
    const flags = readFlags(args, { name: { type: "string" }, node: { type: "string" } });
    const mistakes: string[] = [];
    const wrong = (mistake: string): undefined => void mistakes.push(mistake);
    const name = flags.name === undefined ? wrong("--name NAME is needed") : nameOf(flags.name, wrong);
    if (name === undefined) throw new UsageError(mistakes);
    const session = await openSession(context);
    const node = await session.gateway.rename(nodeIdOf(session, flags.node), name);
    if (session.login.node?.id === node.id)
      await context.logins.write({ ...session.login, node: { id: node.id, name: node.name } });
    answer(context, flags.json, { node: node.id, name: node.name, state: node.state }, () => [
      `${node.id} is called ${sanitise(node.name)}`,
    ]);
    return 0;
  },
};

export const retire: Command = {
  summary: "take the node out of service for good",
  usage: RETIRE,
  async run(args, context) {
    const flags = readFlags(args, { node: { type: "string" }, yes: { type: "boolean", default: false } });
    const session = await openSession(context);
    const id = nodeIdOf(session, flags.node);
    if (!flags.yes && !(await agreed(context, (await session.gateway.node(id)).name))) return 1;
    const node = await session.gateway.retire(id);
    // What comes next on this machine is another node.
    if (session.login.node?.id === id) {
      const { node: _node, serving: _serving, ...login } = session.login;
      await context.logins.write(login);
    }
    answer(context, flags.json, { node: node.id, name: node.name, state: node.state }, () => [
      `${node.id} (${sanitise(node.name)}) is ${node.state}; what runs is finished, and nothing new comes`,
      "next: stop tollgate-host up on its machine, once what runs is done",
    ]);
    return 0;
  },
};

async function agreed({ terminal }: CommandContext, name: string): Promise<boolean> {
  if (terminal.ask === undefined) throw new UsageError(["--yes is needed where nobody can be asked"]);
  const said = await terminal.ask(`Retire ${sanitise(name)} for good? [y/N] `);
  if (/^y(es)?$/i.test(said)) return true;
  terminal.remark("nothing was changed");
  return false;
}
