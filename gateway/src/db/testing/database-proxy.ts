/**
 * Test helper: a proxy in front of a database. It can hang (like a frozen server), refuse connections (like a stopped
 * one), and resume.
 */
import { connect, createServer, type Server, type Socket } from "node:net";
import pg from "pg";
import type { Connection } from "../pool.ts";

export interface DatabaseProxy {
  /** Connection settings that lead to the database through the proxy. */
  connection: { connectionString: string };
  /** Stops forwarding on existing and new connections, which stay open. */
  hang(): void;
  /** Closes every connection and refuses new ones. */
  refuse(): Promise<void>;
  /** Forwards again, starting with the data that waited. */
  resume(): Promise<void>;
  /** The number of open connections. */
  readonly open: number;
  close(): Promise<void>;
}

export async function openDatabaseProxy(target: Connection): Promise<DatabaseProxy> {
  const to = new pg.Client(target);
  const path = to.host.startsWith("/") ? `${to.host}/.s.PGSQL.${to.port}` : undefined;
  const sockets = new Set<Socket>();
  let hanging = false;
  let refusing = false;
  const take = (socket: Socket): void => {
    // The connection was accepted just before the proxy began to refuse.
    if (refusing) return void socket.destroy();
    const beyond = path === undefined ? connect(to.port, to.host) : connect(path);
    for (const [from, into] of [
      [socket, beyond],
      [beyond, socket],
    ] as const) {
      sockets.add(from);
      if (hanging) from.pause();
      from.setNoDelay?.(true);
      from.on("data", (bytes) => into.write(bytes));
      if (hanging) from.pause();
      from.on("error", () => into.destroy());
      from.on("close", () => {
        sockets.delete(from);
        into.destroy();
      });
      from.on("end", () => into.end());
    }
  };
  const server: Server = createServer(take);
  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
  const stop = (): Promise<void> => {
    refusing = true;
    const stopped = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    return stopped;
  };
  await listen(0);
  const { port } = server.address() as { port: number };
  const { user, password, database } = to;
  const secret = password ? `:${encodeURIComponent(password)}` : "";
  return {
    connection: { connectionString: `postgres://${user}${secret}@127.0.0.1:${port}/${database}` },
    hang() {
      hanging = true;
      for (const socket of sockets) socket.pause();
    },
    async refuse() {
      await stop();
    },
    async resume() {
      hanging = false;
      refusing = false;
      if (!server.listening) await listen(port);
      for (const socket of sockets) socket.resume();
    },
    get open() {
      return sockets.size / 2;
    },
    close: async () => {
      if (server.listening) await stop();
    },
  };
}
