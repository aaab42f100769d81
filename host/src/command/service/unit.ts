/** The systemd unit of a host, as text. It allows what the agent does, and little else. */

export type Scope = "user" | "system";

export interface UnitOptions {
  scope: Scope;
  /** The Node that runs the program, and its file. */
  program: { node: string; file: string };
  /** Whom a system unit runs as. */
  user: string | undefined;
  /** Where the login is kept, if not in the usual place. */
  configHome: string | undefined;
}

export const UNIT_NAME = "tollgate-host.service";

/** What any manager can take away from a process. */
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

/** What only the system's manager can, since it changes the bounds of capabilities. */
const SYSTEM_HARDENING = `CapabilityBoundingSet=
AmbientCapabilities=
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
RemoveIPC=yes`;

/**
 * Memory stays writable and executable: V8 compiles into it. Devices stay usable, since an engine in this process may use
 * a graphics processor; ProtectClock= would close them, and without capabilities nobody sets the clock.
 */
export function unitText({ scope, program, user, configHome }: UnitOptions): string {
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
    "# An engine or a gateway that is away comes back; the host waits for it.",
    "Restart=always",
    "RestartSec=10",
    "# What runs may finish: up to thirty seconds, and some to spare.",
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

/** As systemd reads a word: quotes and backslashes escaped, and nothing of it a specifier. */
function quoted(word: string): string {
  return `"${word.replaceAll(/["\\]/g, "\\$&").replaceAll("%", "%%")}"`;
}

/** In a command, nothing of it is a variable either. */
const commandWord = (word: string): string => quoted(word).replaceAll("$", "$$$$");
