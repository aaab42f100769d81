/**
 * `tollgate admin plane init --dir DIR`: creates the keys and files of a new NATS plane with one or several servers. It
 * never overwrites a file, because the files contain the seeds that identify nodes and gateways.
 */
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type BaseCommandContext, type Command, type CommandInput, JSON_FLAG } from "@tollgate/terminal/command.ts";
import { CommandError, UsageError } from "@tollgate/terminal/errors.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/random.ts";
import { createPlaneSetup, type PlaneSetup } from "../../plane/nats/plane-setup.ts";
import {
  AUTHORITY_FILE,
  type ClusterServer,
  formatHostAndPort,
  nameConfigurationFile,
} from "../../plane/nats/server-configuration.ts";
import type { SystemUser } from "../../plane/nats/system-account.ts";
import { buildClusterFiles, formatServerUrl, listServerFiles, type PlaneFile, parseServers } from "./plane-cluster.ts";

const DEFAULT_URL = "nats://127.0.0.1:4222";
const URL_RULE = "must be nats://HOST:PORT or tls://HOST:PORT, several separated by commas";

/** This command needs no database. */
export const planeInitCommand: Command = {
  help: "create keys and configuration files for one or several NATS servers",
  flags: {
    dir: { value: "DIR", required: true, help: "the directory to write to; existing files are not overwritten" },
    url: { value: "URL", help: `address of a single server (default: ${DEFAULT_URL})` },
    servers: { value: "A=HOST,B=HOST", help: "several servers: NAME=HOST[:PORT][@ROUTE_HOST[:PORT]]" },
    server: { value: "A=HOST", repeated: true, help: "one of several servers; repeat the flag for each" },
    ...JSON_FLAG,
  },
  example: "--dir plane --servers a=plane-a.example,b=plane-b.example,c=plane-c.example",
  run,
};

async function run({ flags, json }: CommandInput, { terminal }: BaseCommandContext): Promise<number> {
  const { dir = "", ...asked } = flags;
  if (dir === "") throw new UsageError("--dir must name the directory to write to");
  const { url, servers } = readAddresses(asked);
  const place = resolve(dir);
  const [random, nowMs] = [systemRandom(), systemClock.now()];
  const setup = createPlaneSetup({ url, random, nowMs });
  const files =
    servers === undefined
      ? [serverFile(setup), ...ourFiles(setup, { NATS_URL: url })]
      : [
          ...buildClusterFiles(servers, { accounts: setup.accounts, random, nowMs }),
          ...ourFiles(setup, { NATS_URL: url, NODE_EXTRA_CA_CERTS: quoted(join(place, AUTHORITY_FILE)) }),
        ];
  await writeFiles(place, files);
  const made = { place, url, files, servers, next: nextSteps(place, servers) };
  terminal.print(json ? report(setup, made) : sentences(made));
  return 0;
}

function readAddresses({ url, servers, server }: CommandInput["flags"]): {
  url: string;
  servers?: ClusterServer[];
} {
  const named = [servers, server].filter((text) => text !== undefined);
  if (named.length > 0) {
    if (url !== undefined)
      throw new UsageError("--url (for one server) and --servers (for several) cannot be combined");
    const parsed = parseServers(named.join(","));
    return { url: parsed.map(formatServerUrl).join(","), servers: parsed };
  }
  const given = url ?? DEFAULT_URL;
  if (!given.split(",").every(isNatsUrl)) throw new UsageError(`--url ${URL_RULE}`);
  return { url: given };
}

async function writeFiles(place: string, files: PlaneFile[]): Promise<void> {
  // Writes secrets first, so that an existing secret is reported before any other existing file.
  const inOrder = files.toReversed();
  const inTheWay = inOrder.map(({ name }) => join(place, name)).find((file) => existsSync(file));
  if (inTheWay !== undefined)
    throw new CommandError(`${inTheWay} exists already, and the keys of a dispatch plane are never overwritten`, {
      next: "give --dir another directory",
    });
  await mkdir(place, { recursive: true, mode: 0o755 });
  for (const { name, text, secret } of inOrder) {
    await writeFile(join(place, name), text, { flag: "wx", mode: secret ? 0o600 : 0o644, flush: true });
  }
}

const serverFile = ({ serverConfiguration: text }: PlaneSetup): PlaneFile => ({
  name: "nats-server.conf",
  text,
  secret: false,
  use: "for every NATS server",
});

/** The files for gateways and operators, which do not depend on the number of servers. */
function ourFiles(setup: PlaneSetup, addresses: Record<string, string>): PlaneFile[] {
  const { accountSeed, operatorSeed, system } = setup;
  const keys = { PLANE_SEED: accountSeed, NATS_OPERATOR_SEED: operatorSeed };
  const systemUser = { NATS_SYSTEM_JWT: system.jwt, NATS_SYSTEM_SEED: system.seed };
  const lines = Object.entries({ ...addresses, ...keys, ...systemUser }).map(([name, value]) => `${name}=${value}\n`);
  const root = { name: "operator.seed", text: `${setup.operatorRootSeed}\n` };
  return [
    { name: "gateway.env", text: lines.join(""), secret: true, use: "for every gateway" },
    {
      name: "administrator.creds",
      text: credentialsFile(setup.administrator),
      secret: true,
      use: "for you and the nats tool",
    },
    { ...root, secret: true, use: "no server or gateway needs this file: move it to a safe place" },
  ];
}

/** Formats a user's credentials for the `nats` tool. */
function credentialsFile({ jwt, seed }: SystemUser): string {
  return `-----BEGIN NATS USER JWT-----
${jwt}
------END NATS USER JWT------

-----BEGIN USER NKEY SEED-----
${seed}
------END USER NKEY SEED------
`;
}

interface Made {
  place: string;
  url: string;
  files: PlaneFile[];
  servers: ClusterServer[] | undefined;
  next: string[];
}

function nextSteps(place: string, servers: ClusterServer[] | undefined): string[] {
  const gateway = `set -a; . ${quoted(join(place, "gateway.env"))}; set +a; tollgate serve`;
  if (servers === undefined) return [`cd ${quoted(place)} && nats-server -c nats-server.conf`, gateway];
  const starts = servers.map(
    (server) =>
      `nats-server -c ${nameConfigurationFile(server.name)}  # on ${server.client.host}, beside ${listServerFiles(server).slice(1).join(", ")}`,
  );
  return [...starts, gateway];
}

function report({ operator, systemAccount, account }: PlaneSetup, { place, url, files, servers, next }: Made): string {
  const named = files.toReversed().map(({ name }) => name);
  return JSON.stringify({
    dir: place,
    url,
    operator,
    system_account: systemAccount,
    account,
    files: named,
    next,
    ...(servers !== undefined && {
      secret_files: files.filter(({ secret }) => secret).map(({ name }) => name),
      servers: servers.map((server) => ({
        name: server.name,
        url: formatServerUrl(server),
        route: formatHostAndPort(server.route),
        files: listServerFiles(server),
      })),
    }),
  });
}

function sentences({ place, files, next }: Made): string {
  const width = Math.max(...files.map(({ name }) => name.length));
  const lines = files.map(
    ({ name, use, secret }) => `  ${name.padEnd(width)}  ${use}; ${secret ? "secret" : "holds no secret"}`,
  );
  return [`Wrote to ${place}:`, ...lines, "", "Next:", ...next.map((step) => `  ${step}`)].join("\n");
}

function isNatsUrl(text: string): boolean {
  if (!/^(nats|tls):\/\//.test(text) || !URL.canParse(text)) return false;
  const { hostname, username, pathname } = new URL(text);
  return hostname !== "" && username === "" && (pathname === "" || pathname === "/");
}

const quoted = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
