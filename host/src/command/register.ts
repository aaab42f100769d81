/** `tollgate-host register`: registers this machine and stores its node. */
import type { CommandInput } from "@tollgate/terminal/command.ts";
import { CommandError, UsageError } from "@tollgate/terminal/errors.ts";
import { alignProperties, sanitiseForTerminal } from "@tollgate/terminal/terminal-text.ts";
import { listEngineAddresses } from "../engines/detect-engines.ts";
import { type Command, type CommandContext, printResult } from "./command.ts";
import { openLoginSession } from "./login-session.ts";
import { describeHardware, findHardware, hardwareReport } from "./machine/hardware.ts";
import { parseNodeName } from "./parse-arguments.ts";

export const registerCommand: Command = {
  help: "make this machine a node of your account",
  flags: { name: { value: "NAME", help: "the node's name (default: this machine's host name)" } },
  more: [
    "The command looks for GPUs (nvidia-smi, rocm-smi, system_profiler) and for engines on this machine, and reports them to the platform.",
    "If your account already has a node with this name, the machine becomes that node, so a reinstalled machine keeps its node.",
  ],
  example: "--name garage",
  run,
};

async function run({ flags, json }: CommandInput, context: CommandContext): Promise<number> {
  const { machine, logins, version } = context;
  const mistakes: string[] = [];
  const name = parseNodeName(flags.name ?? machine.hostname, (mistake) => void mistakes.push(mistake));
  if (name === undefined) throw new UsageError(mistakes);
  const { login, gateway } = await openLoginSession(context);

  const [hardware, engines] = await Promise.all([
    findHardware(machine),
    context.findEngines(listEngineAddresses(context.env, login.serving?.addresses)),
  ]);
  const node = await gateway.register({ name, hardware: hardwareReport(hardware, engines), agent: version });
  if (node.state === "retired")
    throw new CommandError(`the node ${name} is retired, which is permanent`, {
      next: "tollgate-host register --name ANOTHER",
    });
  // The previous node's settings do not apply to this one.
  const { serving, node: _before, ...rest } = login;
  const sameNode = login.node?.id === node.id && serving !== undefined ? { serving } : {};
  await logins.write({ ...rest, ...sameNode, node: { id: node.id, name: node.name } });

  const report = { node: node.id, name: node.name, state: node.state, ...hardwareReport(hardware, engines) };
  printResult(context, json, report, () => [
    ...alignProperties([
      ["node", `${node.id} (${sanitiseForTerminal(node.name)}), ${node.state}`],
      ...describeHardware(hardware),
      ["engines", engines.map((engine) => engine.name).join(", ") || "no engine found on the usual ports"],
    ]),
    node.models.length === 0 ? "next: tollgate-host elect (choose models)" : "next: tollgate-host up",
  ]);
  return 0;
}
