/** The text of `nats-server.conf`. It holds public keys and JWTs, no secret; every server of a cluster may have the same. */

interface ServerFacts {
  /** How gateways and nodes reach the server; its port is listened on. */
  url: string;
  operatorJwt: string;
  systemAccount: string;
  /** Account → its JWT. */
  preload: Record<string, string>;
}

const DEFAULT_PORT = 4222;

export function serverConfiguration({ url, operatorJwt, systemAccount, preload }: ServerFacts): string {
  const accounts = Object.entries(preload).map(([account, jwt]) => `  ${account}: ${jwt}`);
  return `# Written by \`tollgate admin plane init\`. Start the server in this directory: nats-server -c nats-server.conf
listen: "${listenAddress(url)}"

# A frame is at most 512 KiB. A peer that lets more than max_pending wait is cut; the largest job is 12 MiB.
max_payload: 1MB
max_pending: 32MB
write_deadline: "5s"
ping_interval: "20s"
ping_max: 2

# Set this before nodes connect over a network that is not yours. PLANE_PUBLIC_URL and NATS_URL then begin with tls://
#tls {
#  cert_file: "./server-cert.pem"
#  key_file: "./server-key.pem"
#}

# Several servers: give each of them this, and the same accounts below.
#cluster {
#  name: tollgate
#  listen: "0.0.0.0:6222"
#  routes: ["nats-route://other-server:6222"]
#}

operator: ${operatorJwt}
system_account: ${systemAccount}

# Revocations are kept here: do not lose it, and let no two servers share it.
resolver {
  type: full
  dir: "./jwt"
  allow_delete: false
  interval: "2m"
}
resolver_preload {
${accounts.join("\n")}
}
`;
}

/** A server that is reached at a loopback address has no business elsewhere. */
function listenAddress(url: string): string {
  const { hostname, port } = new URL(url.split(",")[0] as string);
  const loopback = /^(127\.|localhost$|\[::1\]$)/.test(hostname);
  return `${loopback ? hostname : "0.0.0.0"}:${port === "" ? DEFAULT_PORT : port}`;
}
