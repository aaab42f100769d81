/**
 * A small TCP proxy with a fixed address in front of the active server of a pair. It can hold back all data without
 * closing connections, like a network that loses every packet, or refuse connections, like a machine where nothing
 * listens.
 */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { eventually } from "../wait.ts";

type FrontMode = "open" | "black-hole" | "refusing";

export interface SwitchableProxy {
  readonly port: number;
  mode(): FrontMode;
  /** Connects new connections to the server on this port, and resets existing ones. */
  leadTo(port: number): void;
  /** Holds back all data until `heal`, without closing anything. */
  swallow(): void;
  /** Resets every connection and accepts none. */
  refuse(): Promise<void>;
  heal(): Promise<void>;
  close(): Promise<void>;
}

interface Link {
  near: Socket;
  /** The server's side of the connection; undefined if none was opened yet. */
  far?: Socket;
  /** Whether the server's side has closed while data was held back, so that the client does not know yet. */
  dead?: boolean;
}

export async function openSwitchableProxy(upstream: { port: number }): Promise<SwitchableProxy> {
  let target = upstream.port;
  let mode: FrontMode = "open";
  const links = new Set<Link>();

  const drop = (link: Link): void => {
    link.far?.destroy();
    if (mode === "black-hole") {
      link.dead = true;
      return;
    }
    links.delete(link);
    link.near.resetAndDestroy();
  };
  const join = (link: Link): void => {
    const { near } = link;
    const far = connect({ host: "127.0.0.1", port: target });
    link.far = far;
    far.setNoDelay(true);
    far.on("error", () => drop(link));
    // After a normal end, the pipe has relayed all data and the end itself; any other close resets the client's side.
    far.on("close", () => {
      if (!near.writableEnded) drop(link);
    });
    near.pipe(far);
    far.pipe(near);
  };
  const take = (near: Socket): void => {
    const link: Link = { near };
    links.add(link);
    near.setNoDelay(true);
    near.on("error", () => near.destroy());
    near.on("close", () => {
      links.delete(link);
      link.far?.destroy();
    });
    if (mode === "open") join(link);
    else near.pause();
  };
  let server: Server | undefined = await listen(take, 0);
  const { port } = server.address() as AddressInfo;
  const stopListening = async (): Promise<void> => {
    const closing = server;
    server = undefined;
    if (closing === undefined) return;
    const closed = once(closing, "close");
    closing.close();
    for (const link of [...links]) drop(link);
    await closed;
  };
  return {
    port,
    mode: () => mode,
    leadTo(other) {
      target = other;
      for (const link of [...links]) if (link.far !== undefined) drop(link);
    },
    swallow() {
      mode = "black-hole";
      for (const { near, far } of links) {
        near.unpipe().pause();
        far?.unpipe().pause();
      }
    },
    async refuse() {
      mode = "refusing";
      await stopListening();
    },
    async heal() {
      mode = "open";
      // While the proxy did not listen, another process's connection may have used the port for a moment.
      if (server === undefined) {
        await eventually(`the front listens on ${port} again`, async () => {
          server = await listen(take, port).catch(() => undefined);
          return server !== undefined;
        });
      }
      for (const link of [...links]) {
        if (link.dead) drop(link);
        else if (link.far === undefined) join(link);
        else {
          link.near.pipe(link.far);
          link.far.pipe(link.near);
        }
      }
    },
    async close() {
      mode = "refusing";
      await stopListening();
    },
  };
}

async function listen(take: (near: Socket) => void, port: number): Promise<Server> {
  const server = createServer(take).listen(port, "127.0.0.1");
  await once(server, "listening");
  return server;
}
