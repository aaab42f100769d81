/**
 * Parses DATABASE_URL like libpq: several hosts, `target_session_attrs`, `sslmode` and its files. An unknown parameter
 * is an error that names it.
 */

const SSL_MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;
export type SslMode = (typeof SSL_MODES)[number];
const TARGETS = ["any", "read-write", "primary"] as const;

export interface DatabaseAddress {
  /** The hosts in the order in which they are tried. Undefined: the host in PGHOST, or this machine. */
  hosts: { host: string | undefined; port: number | undefined }[];
  user: string | undefined;
  password: string | undefined;
  database: string | undefined;
  /** PostgreSQL's command-line options for the session, such as `-c jit=off`. */
  options: string | undefined;
  target: (typeof TARGETS)[number];
  ssl: { mode: SslMode | undefined; rootcert: string | undefined; cert: string | undefined; key: string | undefined };
}

/** The message states the broken rule: "must …". It never contains the URL, which may include a password. */
export class DatabaseUrlError extends Error {
  override name = "DatabaseUrlError";
}

const URL_FORM = /^postgres(?:ql)?:\/\/([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/;
/** libpq parameters that this program ignores, with the values that it accepts for them. */
const NEUTRAL: Record<string, string[]> = {
  client_encoding: ["utf8", "utf-8", "auto"],
  channel_binding: ["disable", "prefer"],
  gssencmode: ["disable", "prefer"],
  keepalives: ["1"],
  sslnegotiation: ["postgres"],
  uselibpqcompat: ["true"],
};
const KNOWN = ["host", "port", "user", "password", "dbname", "options", "target_session_attrs"];
const KNOWN_SSL = ["sslmode", "sslrootcert", "sslcert", "sslkey"];

export function parseDatabaseUrl(url: string): DatabaseAddress {
  if (!/^postgres(ql)?:\/\//.test(url)) throw new DatabaseUrlError("must begin with postgres:// or postgresql://");
  const [, authority, path = "", query = ""] = URL_FORM.exec(url) ?? [];
  if (authority === undefined) throw new DatabaseUrlError('must not contain "#": write %23 instead');
  const at = authority.lastIndexOf("@");
  const [user = "", ...password] = authority.slice(0, Math.max(at, 0)).split(":");
  const parameters = parametersOf(query);
  return {
    hosts: hostsOf(authority.slice(at + 1), parameters),
    user: parameters.get("user") ?? (decoded(user) || undefined),
    password: parameters.get("password") ?? (decoded(password.join(":")) || undefined),
    database: parameters.get("dbname") ?? (decoded(path) || undefined),
    options: parameters.get("options"),
    target: oneOf("target_session_attrs", TARGETS, parameters.get("target_session_attrs") ?? "any"),
    ssl: sslOf(parameters),
  };
}

function parametersOf(query: string): Map<string, string> {
  const parameters = new Map<string, string>();
  for (const part of query.split("&").filter((one) => one !== "")) {
    const [name = "", ...value] = part.split("=");
    parameters.set(decoded(name), decoded(value.join("=").replaceAll("+", " ")));
  }
  // Fixed, because gateways recognize each other and their versions by these connection names.
  if (parameters.has("application_name"))
    throw new DatabaseUrlError("must not set application_name, which Tollgate sets itself");
  for (const [name, value] of parameters) {
    const neutral = NEUTRAL[name];
    if (neutral !== undefined) oneOf(name, neutral, value.toLowerCase());
    else if (![...KNOWN, ...KNOWN_SSL].includes(name)) {
      throw new DatabaseUrlError(
        `must not have the parameter ${name}, which Tollgate does not support. Supported parameters: ${[...KNOWN, ...KNOWN_SSL].join(", ")}. Set server settings in options=-c%20name%3Dvalue`,
      );
    }
  }
  return parameters;
}

function hostsOf(text: string, parameters: Map<string, string>): DatabaseAddress["hosts"] {
  const listed = text.split(",").map((one) => {
    const [, host = "", port = ""] = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(one) ?? [];
    if (one !== "" && host === "" && port === "")
      throw new DatabaseUrlError(
        `must list hosts as host:port, separated by commas, and percent-encode "/", "?" and "@" in a password`,
      );
    return { host: decoded(host.replace(/^\[(.*)\]$/, "$1")), port };
  });
  const hosts = parameters.get("host")?.split(",") ?? listed.map(({ host }) => host);
  const ports = parameters.get("port")?.split(",") ?? listed.map(({ port }) => port);
  if (ports.length > 1 && ports.length !== hosts.length)
    throw new DatabaseUrlError(
      `must give one port, or one for each host: it has ${hosts.length} hosts and ${ports.length} ports`,
    );
  return hosts.map((host, i) => ({ host: host || undefined, port: portOf(ports[ports.length === 1 ? 0 : i] ?? "") }));
}

function portOf(text: string): number | undefined {
  if (text === "") return undefined;
  const port = Number(text);
  if (!(Number.isInteger(port) && port > 0 && port < 65_536))
    throw new DatabaseUrlError("must have ports from 1 to 65535");
  return port;
}

function sslOf(parameters: Map<string, string>): DatabaseAddress["ssl"] {
  const given = parameters.get("sslmode");
  const mode = given === undefined ? undefined : oneOf("sslmode", SSL_MODES, given);
  const rootcert = parameters.get("sslrootcert");
  const [cert, key] = [parameters.get("sslcert"), parameters.get("sslkey")];
  if ((cert === undefined) !== (key === undefined))
    throw new DatabaseUrlError("must set both sslcert and sslkey, or neither");
  if (mode === "verify-ca" && (rootcert === undefined || rootcert === "system"))
    throw new DatabaseUrlError(
      "must set sslrootcert to the file of a certificate authority when sslmode is verify-ca. To trust public authorities instead, use sslmode=verify-full without sslrootcert",
    );
  if (mode === undefined && [rootcert, cert].some((file) => file !== undefined))
    throw new DatabaseUrlError("must set sslmode if it sets sslrootcert or sslcert");
  return { mode, rootcert, cert, key };
}

function oneOf<const T extends string>(name: string, allowed: readonly T[], value: string): T {
  const found = allowed.find((one) => one === value);
  if (found === undefined)
    throw new DatabaseUrlError(`must set ${name} to one of ${allowed.join(", ")}, not "${value}"`);
  return found;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new DatabaseUrlError('must percent-encode special characters, and write "%" as %25');
  }
}
