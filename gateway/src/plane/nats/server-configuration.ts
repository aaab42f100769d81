/**
 * Writes the NATS servers' configuration files. A single server's file contains public keys and JWTs but no secret. The
 * files of a cluster differ by server and contain the password for connections between the servers.
 */

interface ServerFacts extends PlaneAccounts {
  /** The address for gateways and nodes. The server listens on its port. */
  url: string;
}

/** The operator and the accounts, which all servers of a plane need. */
export interface PlaneAccounts {
  operatorJwt: string;
  systemAccount: string;
  /** Maps an account's public key to its JWT. */
  preload: Record<string, string>;
}

/** One server of a cluster. */
export interface ClusterServer {
  name: string;
  /** The address to which gateways and nodes connect. */
  client: Address;
  /** The address to which the other servers connect. */
  route: Address;
}

interface Address {
  /** A host name or IP address; an IPv6 address without brackets. */
  host: string;
  port: number;
}

interface ClusterFacts extends PlaneAccounts {
  servers: readonly ClusterServer[];
  /** The password with which servers log in to each other, in addition to their certificates. */
  routePassword: string;
}

const DEFAULT_PORT = 4222;
const ROUTE_USER = "route";

export function serverConfiguration({ url, ...accounts }: ServerFacts): string {
  const { hostname, port } = new URL(url.split(",")[0] as string);
  return `# Written by \`tollgate admin plane init\`. Start the server in this directory: nats-server -c nats-server.conf
listen: "${listenAddress(hostname, port === "" ? DEFAULT_PORT : Number(port))}"

${BOUNDS}
# Set this before nodes connect over a network that is not yours. PLANE_PUBLIC_URL and NATS_URL then begin with tls://
#tls {
#  cert_file: "./server-cert.pem"
#  key_file: "./server-key.pem"
#}

# For several servers make another plane: tollgate admin plane init --servers a=HOST,b=HOST,c=HOST

${accountsPart(accounts, "./jwt")}`;
}

/** The configuration of one server of a cluster. It refers to files in its own directory. */
export function clusterConfiguration(
  { name, client, route }: ClusterServer,
  { servers, routePassword, ...accounts }: ClusterFacts,
): string {
  const [cert, key] = [`./${certificateFile(name)}`, `./${nameKeyFile(name)}`];
  const routes = servers
    .filter((server) => server.name !== name)
    .map((server) => `    "nats-route://${ROUTE_USER}:${routePassword}@${formatHostAndPort(server.route)}"`);
  return `# Written by \`tollgate admin plane init\`. Secret: the password of the routes is in it.
# Start the server in this directory: nats-server -c ${nameConfigurationFile(name)}
server_name: "${name}"
listen: "${listenAddress(bracketed(client.host), client.port)}"

${BOUNDS}
# Gateways and nodes trust the authority in ${AUTHORITY_FILE} (NODE_EXTRA_CA_CERTS), or whichever signed what you name here instead.
tls {
  cert_file: "${cert}"
  key_file: "${key}"
  timeout: 5
}

# The other servers: they show a certificate of the same authority, and the password.
cluster {
  name: "tollgate"
  listen: "${listenAddress(bracketed(route.host), route.port)}"
  no_advertise: true
  authorization {
    user: "${ROUTE_USER}"
    password: "${routePassword}"
    timeout: 5
  }
  tls {
    cert_file: "${cert}"
    key_file: "${key}"
    ca_file: "./${AUTHORITY_FILE}"
    verify: true
    timeout: 5
  }
  routes: [
${routes.join("\n")}
  ]
}

${accountsPart(accounts, `./jwt-${name}`)}`;
}

export const AUTHORITY_FILE = "ca.pem";
export const nameConfigurationFile = (server: string): string => `nats-${server}.conf`;
export const certificateFile = (server: string): string => `nats-${server}-cert.pem`;
export const nameKeyFile = (server: string): string => `nats-${server}-key.pem`;

export const formatHostAndPort = ({ host, port }: Address): string => `${bracketed(host)}:${port}`;

const BOUNDS = `# A frame is at most 512 KiB. A peer that lets more than max_pending wait is cut; the largest job is 12 MiB.
max_payload: 1MB
max_pending: 32MB
write_deadline: "5s"
ping_interval: "20s"
ping_max: 2
`;

function accountsPart({ operatorJwt, systemAccount, preload }: PlaneAccounts, directory: string): string {
  const accounts = Object.entries(preload).map(([account, jwt]) => `  ${account}: ${jwt}`);
  return `operator: ${operatorJwt}
system_account: ${systemAccount}

# Revocations are kept here: do not lose it, and let no two servers share it.
resolver {
  type: full
  dir: "${directory}"
  allow_delete: false
  interval: "2m"
}
resolver_preload {
${accounts.join("\n")}
}
`;
}

const bracketed = (host: string): string => (host.includes(":") ? `[${host}]` : host);

/** A server with a loopback address listens only on that address. */
function listenAddress(host: string, port: number): string {
  const loopback = /^(127\.|localhost$|\[::1\]$)/.test(host);
  const everywhere = host.startsWith("[") ? "[::]" : "0.0.0.0";
  return `${loopback ? host : everywhere}:${port}`;
}
