/** The command line of a host: `tollgate-host <command>`. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Dial } from "./agent/plane.ts";
import { systemClock } from "./clock.ts";
import { UsageError } from "./command/arguments.ts";
import type { Command, CommandContext } from "./command/command.ts";
import { doctor } from "./command/doctor/doctor.ts";
import { earnings } from "./command/earnings.ts";
import { elect } from "./command/elect/elect.ts";
import { describeError } from "./command/errors.ts";
import { jobs } from "./command/jobs.ts";
import { login } from "./command/login.ts";
import { configDirectory, loginFile } from "./command/login-file.ts";
import { logout } from "./command/logout.ts";
import { thisMachine } from "./command/machine/machine.ts";
import { market } from "./command/market.ts";
import { pause, resume } from "./command/pause.ts";
import { register } from "./command/register.ts";
import { rename, retire } from "./command/rename.ts";
import { service } from "./command/service.ts";
import { status } from "./command/status.ts";
import { supervisorOf } from "./command/supervisor.ts";
import { processTerminal } from "./command/terminal/terminal.ts";
import { tryNode } from "./command/try.ts";
import { up } from "./command/up/up.ts";
import { findAbsences, findEngines } from "./engines/detect.ts";
import { withoutMessage } from "./log.ts";

/** In the order in which a host needs them. */
const COMMANDS: Record<string, Command> = {
  login,
  register,
  elect,
  doctor,
  up,
  status,
  earnings,
  jobs,
  market,
  pause,
  resume,
  rename,
  retire,
  try: tryNode,
  service,
  logout,
};

const isVersion = (word: string): boolean => word === "--version" || word === "-V";
const isHelp = (word: string | undefined): boolean => word === "--help" || word === "-h";

/** Runs one command and returns the process's exit code: 0, 1 for a failure, 2 for a mistake in the command line. */
export async function run(args: string[], overrides: Partial<CommandContext> = {}): Promise<number> {
  const context = { ...realContext(), ...overrides };
  const { terminal } = context;
  const [name, ...rest] = args[0] === "help" ? [...args.slice(1, 2), "--help"] : args;
  if (name === undefined || isHelp(name)) {
    terminal.print(overview());
    return name === undefined ? 2 : 0;
  }
  if (isVersion(name) || (Object.hasOwn(COMMANDS, name) && rest.some(isVersion))) {
    terminal.print(context.version.replace("/", " "));
    return 0;
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  try {
    if (command === undefined) throw new UsageError([`there is no command ${name}; ${nearest(name)}`]);
    if (rest.some(isHelp)) {
      terminal.print(command.usage);
      return 0;
    }
    return await command.run(rest, context);
  } catch (error) {
    return printError(error, { command: command && name, json: rest.includes("--json"), context });
  }
}

interface Failed {
  command: string | undefined;
  json: boolean;
  context: CommandContext;
}

function printError(error: unknown, { command, json, context }: Failed): number {
  const { terminal, env } = context;
  const { lines, next, code, exitCode } = describeError(error, command);
  if (json) {
    const message = lines.join("; ");
    terminal.remark(JSON.stringify({ error: { message, code: code ?? null, next: next ?? null } }));
  } else {
    for (const line of lines) terminal.remark(`tollgate-host: ${line}`);
    if (next !== undefined) terminal.remark(`  next: ${next}`);
  }
  // Without its first lines, which repeat the message.
  if (env.TOLLGATE_TRACE !== undefined) for (const place of withoutMessage(error).at) terminal.remark(`  ${place}`);
  return exitCode;
}

function overview(): string {
  const rows = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(10)}${summary}`);
  return `tollgate-host: serve requests with this machine and earn by them

${rows.join("\n")}

tollgate-host COMMAND --help tells more, --version the version. Every command takes --json.
From nothing to earning: login, register, elect (choose models), doctor, up.`;
}

/** The commands that begin alike, or all of them. */
function nearest(name: string): string {
  const alike = Object.keys(COMMANDS).filter((known) => known[0] === name[0]);
  return alike.length > 0 ? `did you mean ${alike.join(" or ")}?` : `there are ${Object.keys(COMMANDS).join(", ")}`;
}

function realContext(): CommandContext {
  const { env } = process;
  const machine = thisMachine();
  return {
    env,
    version: version(),
    program: { node: process.execPath, file: fileURLToPath(new URL("../bin/tollgate-host.mjs", import.meta.url)) },
    terminal: processTerminal(process, env),
    clock: systemClock,
    machine,
    logins: loginFile(configDirectory({ platform: machine.platform, home: machine.home, env })),
    findEngines,
    findAbsences,
    dial,
    supervisor: () => supervisorOf(process),
  };
}

/** The client is loaded only where it is used: it is a good part of a command's start. */
const dial: Dial = async (credentials, name) => {
  const { dialNats } = await import("./agent/nats.ts");
  return dialNats(credentials, name);
};

function version(): string {
  const manifest: { version: string } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  return `tollgate-host/${manifest.version}`;
}
