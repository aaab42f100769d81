/** The command line of a host: `tollgate-host <command>`. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type CommandTable, JSON_FLAG } from "@tollgate/terminal/command.ts";
import { completionCommand } from "@tollgate/terminal/completion.ts";
import { configDirectory } from "@tollgate/terminal/private-file.ts";
import { deriveTerminalEnv, runCommandLine } from "@tollgate/terminal/run-command-line.ts";
import { openTerminal } from "@tollgate/terminal/terminal.ts";
import type { PlaneDialer } from "./agent/plane-connection.ts";
import { systemClock } from "./clock.ts";
import type { Command, CommandContext } from "./command/command.ts";
import { doctorCommand } from "./command/doctor/doctor.ts";
import { earningsCommand } from "./command/earnings.ts";
import { electCommand } from "./command/elect/elect.ts";
import { explainHostError, PROGRAM_NAME } from "./command/errors.ts";
import { jobsCommand } from "./command/jobs.ts";
import { loginCommand } from "./command/login.ts";
import { openLoginFile } from "./command/login-file.ts";
import { logoutCommand } from "./command/logout.ts";
import { thisMachine } from "./command/machine/machine.ts";
import { marketCommand } from "./command/market.ts";
import { pauseCommand, resumeCommand } from "./command/pause.ts";
import { registerCommand } from "./command/register.ts";
import { renameCommand, retireCommand } from "./command/rename-and-retire.ts";
import { createSupervisor } from "./command/service-supervisor.ts";
import { statusCommand } from "./command/status.ts";
import { serviceCommands } from "./command/systemd-service.ts";
import { tryNodeCommand } from "./command/try-node.ts";
import { upCommand } from "./command/up/up.ts";
import { explainMissingEngines, findEngines } from "./engines/detect-engines.ts";

/** Sorted by when a host needs them. */
const COMMANDS: Record<string, Command> = {
  login: loginCommand,
  register: registerCommand,
  elect: electCommand,
  doctor: doctorCommand,
  up: upCommand,
  status: statusCommand,
  earnings: earningsCommand,
  jobs: jobsCommand,
  market: marketCommand,
  pause: pauseCommand,
  resume: resumeCommand,
  rename: renameCommand,
  retire: retireCommand,
  try: tryNodeCommand,
  ...serviceCommands,
  logout: logoutCommand,
};

const version = (): string => {
  const manifest: { version: string } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  return manifest.version;
};

export const TOLLGATE_HOST_COMMANDS: CommandTable<CommandContext> = {
  program: PROGRAM_NAME,
  version: version(),
  help: "serve requests with this machine and earn from them",
  more: [
    "To start earning, run these commands in order: login, register, elect (choose models), doctor, up.",
    "Every command takes --json, for scripts.",
  ],
  example: "login --gateway https://gateway.example",
  commands: {
    ...Object.fromEntries(
      Object.entries(COMMANDS).map(([name, command]) => [
        name,
        { ...command, flags: { ...command.flags, ...JSON_FLAG } },
      ]),
    ),
    completion: completionCommand(PROGRAM_NAME, () => TOLLGATE_HOST_COMMANDS),
  },
  groups: { service: { help: "run as a systemd service: install, uninstall, print" } },
};

/** Runs one command and returns the exit code: 0, 1 for a failure, 2 for wrong usage. */
export function runTollgateHost(args: string[], overrides: Partial<CommandContext> = {}): Promise<number> {
  return runCommandLine(TOLLGATE_HOST_COMMANDS, args, { ...realContext(args), ...overrides }, explainHostError);
}

function realContext(args: string[]): CommandContext {
  const env = deriveTerminalEnv(args, process.env);
  const machine = thisMachine();
  return {
    env,
    version: `${PROGRAM_NAME}/${TOLLGATE_HOST_COMMANDS.version}`,
    program: { node: process.execPath, file: fileURLToPath(new URL("../bin/tollgate-host.mjs", import.meta.url)) },
    terminal: openTerminal(process, env),
    clock: systemClock,
    machine,
    logins: openLoginFile(configDirectory({ platform: machine.platform, home: machine.home, env })),
    findEngines,
    findAbsences: explainMissingEngines,
    dial,
    supervisor: () => createSupervisor(process),
  };
}

/** The NATS client is loaded on first use, because loading it takes much of a command's start time. */
const dial: PlaneDialer = async (credentials, name) => {
  const { connectToNats } = await import("./agent/connect-to-nats.ts");
  return connectToNats(credentials, name);
};
