/**
 * A separate network for one process of the stage, which can be cut from the other processes. Inside, the servers that
 * the process needs have the same ports on 127.0.0.1 as outside, and its own ports are the same outside. Traffic in
 * both directions passes through the connection that can be cut.
 */
import type { Server } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createProcess } from "@tollgate/stage/killable-process.ts";
import { type Network, openNetwork } from "@tollgate/stage/servers/network-namespace.ts";
import { openTunnel } from "./tcp-tunnel.ts";

export interface SeparateNetwork extends Pick<Network, "cut" | "heal"> {
  /** Arguments to put before the command of the process, so that it runs inside the network. */
  wrapper: string[];
  close(): Promise<void>;
}

interface Ports {
  /** Ports of servers outside the network to which the process connects. */
  needed: number[];
  /** Ports on which the process inside the network listens, and to which processes outside connect. */
  own: number[];
}

const TUNNEL = fileURLToPath(new URL("./tcp-tunnel.ts", import.meta.url));

export async function openSeparateNetwork(
  name: string,
  directory: string,
  { needed, own }: Ports,
): Promise<SeparateNetwork> {
  const network = await openNetwork();
  const { near, far } = network;
  const tunnels: Server[] = [];
  for (const port of needed) tunnels.push(await openTunnel({ host: near, port }, { host: "127.0.0.1", port }));
  for (const port of own) tunnels.push(await openTunnel({ host: "127.0.0.1", port }, { host: far, port }));
  const inside = createProcess({
    name: `tunnel of ${name}`,
    command: network.inside([process.execPath, TUNNEL, near, ...needed.map(String)]),
    log: join(directory, `${name}-tunnel.log`),
  });
  await inside.start();
  return {
    wrapper: network.inside([]),
    cut: () => network.cut(),
    heal: () => network.heal(),
    async close() {
      for (const tunnel of tunnels) tunnel.close();
      await inside.kill();
      await network.close();
    },
  };
}
