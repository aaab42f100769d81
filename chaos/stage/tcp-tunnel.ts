/**
 * A TCP tunnel through a network that can be cut: it listens on one address and forwards everything to another. Run as
 * a program (`tcp-tunnel.ts HOST PORT…`, inside the network namespace), it makes these ports of HOST available on
 * 127.0.0.1.
 */
import { once } from "node:events";
import { connect, createServer, type Server } from "node:net";
import { fileURLToPath } from "node:url";

interface Address {
  host: string;
  port: number;
}

export async function openTunnel(from: Address, to: Address): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ ...to, allowHalfOpen: true });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.setNoDelay(true);
      one.on("error", () => other.resetAndDestroy());
      one.on("close", () => other.destroySoon());
      one.pipe(other);
    }
  });
  server.listen(from.port, from.host);
  await once(server, "listening");
  return server;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [host = "", ...ports] = process.argv.slice(2);
  for (const port of ports.map(Number)) await openTunnel({ host: "127.0.0.1", port }, { host, port });
}
