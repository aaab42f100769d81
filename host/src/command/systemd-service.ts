/** `tollgate-host service`: runs `up` as a systemd service, for this user or the whole machine. */

import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { CommandInput, Flag } from "@tollgate/terminal/command.ts";
import { CommandError, UsageError } from "@tollgate/terminal/errors.ts";
import { configDirectory } from "@tollgate/terminal/private-file.ts";
import { type Command, type CommandContext, printResult } from "./command.ts";

const UNIT_NAME = "tollgate-host.service";
/** The time limit for systemctl. A service that stops may finish running jobs first. */
const SYSTEMCTL_MS_MAX = 90_000;
const SCOPE_FLAGS: Record<string, Flag> = {
  system: { help: "install the service for the whole machine (as root), not only for your user" },
  user: { value: "NAME", help: "the user that the service runs as, with --system (default: the user who called sudo)" },
};
const MORE = [
  "The service runs `tollgate-host up`. Before you install it, use `tollgate-host login`, `register` and `elect`.",
];

const command = (help: string, action: Action): Command => ({
  help,
  flags: SCOPE_FLAGS,
  more: MORE,
  example: "",
  run: (given, context) => run(given, context, action),
});

export const serviceCommands: Record<string, Command> = {
  "service install": command("write the systemd unit, enable and start it", install),
  "service uninstall": command("stop the systemd unit and remove it", uninstall),
  "service print": command("print the systemd unit without installing it; works on every platform", print),
};

type Action = (place: Place, context: CommandContext, json: boolean) => Promise<void>;

async function run({ flags, switches, json }: CommandInput, context: CommandContext, action: Action): Promise<number> {
  const isSystem = switches.has("system");
  const { user } = flags;
  if (user !== undefined && !isSystem) throw new UsageError("--user needs --system");
  if (user !== undefined && !/^[a-z_][a-z0-9_-]*\$?$/i.test(user))
    throw new UsageError("--user must be a user name of this machine (letters, digits, _ and -)");
  await action(placeOf(isSystem ? "system" : "user", user, context), context, json);
  return 0;
}

interface Place {
  scope: Scope;
  user: string | undefined;
  path: string;
  unit: string;
}

function placeOf(scope: Scope, named: string | undefined, { env, machine, program }: CommandContext): Place {
  const configHome = env.XDG_CONFIG_HOME || undefined;
  if (scope === "user") {
    const path = join(configHome ?? join(machine.home, ".config"), "systemd", "user", UNIT_NAME);
    return { scope, user: undefined, path, unit: renderSystemdUnit({ scope, program, user: undefined, configHome }) };
  }
  const user = named ?? env.SUDO_USER ?? (machine.isRoot ? undefined : machine.user);
  if (user === undefined || user === "root")
    throw new UsageError("--user is missing: the user that the service runs as; it needs no root rights");
  const path = join("/etc/systemd/system", UNIT_NAME);
  return { scope, user, path, unit: renderSystemdUnit({ scope, program, user, configHome: undefined }) };
}

async function print(place: Place, context: CommandContext, json: boolean): Promise<void> {
  printResult(context, json, { path: place.path, unit: place.unit }, () => [place.unit.trimEnd()]);
  if (!json) context.terminal.remark(`save this as ${place.path}`);
}

async function install(place: Place, context: CommandContext, json: boolean): Promise<void> {
  requireSystemd(place, context);
  await requireElection(place, context);
  await mkdir(dirname(place.path), { recursive: true });
  await writeFile(place.path, place.unit, { mode: 0o644 });
  await systemctl(place, context, ["daemon-reload"]);
  await systemctl(place, context, ["enable", UNIT_NAME]);
  await systemctl(place, context, ["restart", UNIT_NAME]);
  const user = place.scope === "user" ? " --user" : "";
  const lingers = place.scope === "system" || (await isLingering(context));
  printResult(context, json, { path: place.path, running: true, survives_logout: lingers }, () => [
    `installed ${place.path}; the service runs now and starts with the machine`,
    `its log: journalctl${user} -u ${UNIT_NAME} -f`,
    ...(lingers
      ? []
      : [`the service stops when you log out; to keep it running: loginctl enable-linger ${context.machine.user}`]),
  ]);
}

async function uninstall(place: Place, context: CommandContext, json: boolean): Promise<void> {
  requireSystemd(place, context);
  const there = context.machine.exists(place.path);
  if (there) {
    await systemctl(place, context, ["disable", "--now", UNIT_NAME]);
    await rm(place.path, { force: true });
    await systemctl(place, context, ["daemon-reload"]);
  }
  printResult(context, json, { path: place.path, removed: there }, () => [
    there ? `stopped and removed ${place.path}` : `there is no ${place.path}`,
  ]);
}

function requireSystemd({ scope }: Place, { machine }: CommandContext): void {
  // The same test as sd_booted(3): systemd has to be running, not only installed.
  if (machine.platform !== "linux" || !machine.exists("/run/systemd/system"))
    throw new CommandError("this machine does not run systemd", {
      next: "run tollgate-host up with your own process manager; tollgate-host service print shows a systemd unit as a model",
    });
  if (scope === "system" && !machine.isRoot)
    throw new CommandError("only root can install a service for the whole machine", {
      next: "run it with sudo, or leave out --system",
    });
}

/** Throws if no models were elected or the user has not logged in, because the service could not start. */
async function requireElection({ scope, user }: Place, { logins, machine }: CommandContext): Promise<void> {
  if (scope === "user") {
    if ((await logins.read())?.serving !== undefined) return;
    throw new CommandError("no models are chosen on this machine", {
      next: "run tollgate-host login, then tollgate-host register, then tollgate-host elect",
    });
  }
  const entry = await machine.run("getent", ["passwd", user ?? ""]);
  const home = entry?.code === 0 ? entry.output.trim().split(":")[5] : undefined;
  if (home === undefined)
    throw new CommandError(`there is no user ${user}`, { next: "name an existing user with --user NAME" });
  const login = join(configDirectory({ platform: machine.platform, home, env: {} }), "host.json");
  if (!machine.exists(login))
    throw new CommandError(`${user} has not logged in: there is no ${login}`, {
      next: `as the user ${user}, run tollgate-host login, then tollgate-host register, then tollgate-host elect`,
    });
}

async function systemctl({ scope }: Place, { machine }: CommandContext, args: string[]): Promise<void> {
  const all = scope === "user" ? ["--user", ...args] : args;
  const result = await machine.run("systemctl", all, { timeoutMs: SYSTEMCTL_MS_MAX });
  if (result?.code === 0) return;
  const reason = result?.errors.trim().split("\n").at(-1) || "it failed without an error message";
  throw new CommandError(`systemctl ${all.join(" ")}: ${reason}`, {
    next: `journalctl${scope === "user" ? " --user" : ""} -u ${UNIT_NAME} shows more`,
  });
}

async function isLingering({ machine }: CommandContext): Promise<boolean> {
  const result = await machine.run("loginctl", ["show-user", machine.user, "--property=Linger"]);
  return result?.output.trim() === "Linger=yes";
}

type Scope = "user" | "system";

interface UnitOptions {
  scope: Scope;
  /** The paths of Node and of the script. */
  program: { node: string; file: string };
  /** The user that a system unit runs as. */
  user: string | undefined;
  /** The folder of the login file, if it is not the default. */
  configHome: string | undefined;
}

/** Restrictions that both a user's and the system's systemd manager can apply. */
const HARDENING = `NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=read-only
PrivateTmp=yes
ProtectProc=invisible
ProtectKernelTunables=yes
ProtectControlGroups=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM
UMask=0077`;

/** Restrictions that only the system's manager can apply, because they change the capability bounding set. */
const SYSTEM_HARDENING = `CapabilityBoundingSet=
AmbientCapabilities=
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
RemoveIPC=yes`;

/**
 * The systemd unit of a host, restricted to what the agent needs. Memory stays writable and executable, because V8
 * compiles into it. Devices stay accessible for GPUs. ProtectClock= would block devices, and without capabilities the
 * process cannot set the clock anyway.
 */
export function renderSystemdUnit({ scope, program, user, configHome }: UnitOptions): string {
  const isSystem = scope === "system";
  const lines = [
    "[Unit]",
    "Description=Tollgate host: serves requests with this machine",
    ...(isSystem ? ["Wants=network-online.target", "After=network-online.target"] : []),
    "StartLimitIntervalSec=0",
    "",
    "[Service]",
    "Type=exec",
    `ExecStart=${commandWord(program.node)} ${commandWord(program.file)} up`,
    ...(isSystem && user !== undefined ? [`User=${user}`] : []),
    ...(configHome === undefined ? [] : [`Environment=${quoted(`XDG_CONFIG_HOME=${configHome}`)}`]),
    "# The host waits for an unreachable engine or gateway.",
    "Restart=always",
    "RestartSec=10",
    "# Requests in flight may finish: up to 30 seconds, plus a margin.",
    "TimeoutStopSec=45",
    "",
    HARDENING,
    ...(isSystem ? [SYSTEM_HARDENING] : []),
    "",
    "[Install]",
    `WantedBy=${isSystem ? "multi-user.target" : "default.target"}`,
  ];
  return `${lines.join("\n")}\n`;
}

/** Quotes a word for a systemd unit: escapes quotes and backslashes, and doubles %, which would begin a specifier. */
function quoted(word: string): string {
  return `"${word.replaceAll(/["\\]/g, "\\$&").replaceAll("%", "%%")}"`;
}

/** In command lines, $ is doubled as well, because it would begin a variable. */
const commandWord = (word: string): string => quoted(word).replaceAll("$", "$$$$");
