/**
 * Creates the files of `tollgate admin plane init --servers …` for a NATS cluster: a configuration per server, a
 * certificate authority and certificates. Servers authenticate each other by certificate and password, and all
 * connections use TLS.
 */
import { isIP } from "node:net";
import { UsageError } from "@tollgate/terminal/errors.ts";
import type { Random } from "../../base/random.ts";
import { createAuthority } from "../../plane/credentials/x509.ts";
import {
  AUTHORITY_FILE,
  type ClusterServer,
  certificateFile,
  clusterConfiguration,
  formatHostAndPort,
  nameConfigurationFile,
  nameKeyFile,
  type PlaneAccounts,
} from "../../plane/nats/server-configuration.ts";

/** A file to write, with its purpose. */
export interface PlaneFile {
  name: string;
  text: string;
  secret: boolean;
  use: string;
}

const CLIENT_PORT = 4222;
const ROUTE_PORT = 6222;
const PASSWORD_BYTES = 32;
const RULE = "must be NAME=HOST[:PORT][@ROUTE_HOST[:PORT]], several separated by commas";
const HOST = String.raw`(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::(\d{1,5}))?`;
const SERVER = new RegExp(`^([A-Za-z0-9][A-Za-z0-9-]{0,31})=${HOST}(?:@${HOST})?$`);

export function parseServers(text: string): ClusterServer[] {
  const servers = text.split(",").map((part) => parseServer(part.trim()));
  if (servers.length < 2) throw new UsageError("--servers must name at least two servers; for one server use --url");
  const names = servers.map(({ name }) => name.toLowerCase());
  const addresses = servers.flatMap(({ client, route }) =>
    [client, route].map((address) => formatHostAndPort(address)),
  );
  for (const all of [names, addresses.map((address) => address.toLowerCase())]) {
    const twice = all.find((one, index) => all.indexOf(one) !== index);
    if (twice !== undefined) throw new UsageError(`--servers: ${twice} is named twice`);
  }
  return servers;
}

function parseServer(text: string): ClusterServer {
  const [, name = "", host = "", port, routeHost = host, routePort] = SERVER.exec(text) ?? [];
  const client = { host: bare(host), port: Number(port ?? CLIENT_PORT) };
  const route = { host: bare(routeHost), port: Number(routePort ?? ROUTE_PORT) };
  const isRight = [client, route].every(
    ({ host, port }) => port > 0 && port < 65_536 && (isIP(host) > 0 || !/[:[]|^[\d.]*$/.test(host)),
  );
  if (!isRight) throw new UsageError(`--servers ${RULE} (got ${text || "nothing"})`);
  return { name, client, route };
}

const bare = (host: string): string => host.replace(/^\[|\]$/g, "");

/** The URL at which gateways and nodes connect to the server. */
export const formatServerUrl = ({ client }: ClusterServer): string => `tls://${formatHostAndPort(client)}`;

export function buildClusterFiles(
  servers: readonly ClusterServer[],
  { accounts, random, nowMs }: { accounts: PlaneAccounts; random: Random; nowMs: number },
): PlaneFile[] {
  const password = Buffer.alloc(PASSWORD_BYTES);
  random.fill(password);
  const facts = { ...accounts, servers, routePassword: password.toString("base64url") };
  const authority = createAuthority({ name: "tollgate plane", nowMs });
  const each = servers.flatMap((server) => {
    const { cert, key } = authority.issue(server.name, hostsOf(server));
    const use = `for the server ${server.name}`;
    return [
      { name: nameConfigurationFile(server.name), text: clusterConfiguration(server, facts), secret: true, use },
      { name: nameKeyFile(server.name), text: key, secret: true, use },
      { name: certificateFile(server.name), text: cert, secret: false, use },
    ];
  });
  const later = "this file is needed only to add a NATS server: move it to a safe place";
  return [
    ...each,
    { name: AUTHORITY_FILE, text: authority.cert, secret: false, use: "for every server, gateway and node" },
    { name: "ca-key.pem", text: authority.key, secret: true, use: later },
  ];
}

/** The names of the files that one server needs. */
export const listServerFiles = ({ name }: ClusterServer): string[] => [
  nameConfigurationFile(name),
  certificateFile(name),
  nameKeyFile(name),
  AUTHORITY_FILE,
];

function hostsOf({ client, route }: ClusterServer): string[] {
  const hosts = [client.host, route.host];
  // "localhost" is added because a NATS client that connects to an IP address verifies the certificate for that name.
  return [...new Set(hosts.some((host) => isIP(host) > 0) ? [...hosts, "localhost"] : hosts)];
}
