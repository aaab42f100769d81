/** `tollgate-host register`: tells the platform of this machine and remembers which node it is. */
import { addressesFor } from "../engines/detect.ts";
import { nameOf, readFlags, UsageError } from "./arguments.ts";
import { answer, type Command, type CommandContext } from "./command.ts";
import { CommandError } from "./errors.ts";
import { describeHardware, findHardware, hardwareReport } from "./machine/hardware.ts";
import { openSession } from "./session.ts";
import { facts, sanitise } from "./terminal/text.ts";

const USAGE = `tollgate-host register: make this machine a node of your account

  --name NAME   how the node is called; default: the name of this machine
  --json        answer as JSON

Looks for graphics processors (nvidia-smi, rocm-smi, system_profiler) and for engines that
run here, and tells the platform. A name that your account already has means that node: a
machine that was set up anew finds itself again.`;

export const register: Command = { summary: "make this machine a node of your account", usage: USAGE, run };

async function run(args: string[], context: CommandContext): Promise<number> {
  const flags = readFlags(args, { name: { type: "string" } });
  const { machine, logins, version } = context;
  const mistakes: string[] = [];
  const name = nameOf(flags.name ?? machine.hostname, (mistake) => void mistakes.push(mistake));
  if (name === undefined) throw new UsageError(mistakes);
  const { login, gateway } = await openSession(context);

  const [hardware, engines] = await Promise.all([
    findHardware(machine),
    context.findEngines(addressesFor(context.env, login.serving?.addresses)),
  ]);
  const node = await gateway.register({ name, hardware: hardwareReport(hardware, engines), agent: version });
  if (node.state === "retired")
    throw new CommandError(`the node ${name} is retired for good`, { next: "tollgate-host register --name ANOTHER" });
  // How another node served says nothing of this one.
  const { serving, node: _before, ...rest } = login;
  const sameNode = login.node?.id === node.id && serving !== undefined ? { serving } : {};
  await logins.write({ ...rest, ...sameNode, node: { id: node.id, name: node.name } });

  const report = { node: node.id, name: node.name, state: node.state, ...hardwareReport(hardware, engines) };
  answer(context, flags.json, report, () => [
    ...facts([
      ["node", `${node.id} (${sanitise(node.name)}), ${node.state}`],
      ...describeHardware(hardware),
      ["engines", engines.map((engine) => engine.name).join(", ") || "none found on the usual ports"],
    ]),
    node.models.length === 0 ? "next: tollgate-host elect, to choose models" : "next: tollgate-host up",
  ]);
  return 0;
}
