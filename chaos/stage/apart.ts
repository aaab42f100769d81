/**
 * A place apart for one process of the stage: a network of its own, whose cable can be cut. Inside, the ports of the servers that it
 * needs are where they are outside, on 127.0.0.1; so are its own ports outside. Both ways lead through the cable.
 */
import type { Server } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { newProcess } from "@tollgate/stage/process.ts";
import { type Network, openNetwork } from "@tollgate/stage/servers/network.ts";
import { openTunnel } from "./tunnel.ts";

export interface Apart extends Pick<Network, "cut" | "heal"> {
  /** Put before the command of the process. */
  wrapper: string[];
  close(): Promise<void>;
}

interface Ports {
  /** Of servers outside. */
  needed: number[];
  /** Of the process inside. */
  own: number[];
}

const TUNNEL = fileURLToPath(new URL("./tunnel.ts", import.meta.url));

export async function openApart(name: string, directory: string, { needed, own }: Ports): Promise<Apart> {
  const network = await openNetwork();
  const { near, far } = network;
  const tunnels: Server[] = [];
  for (const port of needed) tunnels.push(await openTunnel({ host: near, port }, { host: "127.0.0.1", port }));
  for (const port of own) tunnels.push(await openTunnel({ host: "127.0.0.1", port }, { host: far, port }));
  const inside = newProcess({
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
