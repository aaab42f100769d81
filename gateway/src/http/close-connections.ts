/**
 * Closes a server's connections without losing requests. A client notices that an idle connection was closed only after
 * sending the next request, and cannot find out whether it ran. Therefore the server accepts no new connections, sends
 * `Connection: close` with every answer, and closes an idle connection only after a grace period.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import { Server as TlsServer } from "node:tls";
import type { FastifyInstance } from "fastify";
import type { Clock } from "../base/clock.ts";

interface Connections {
  /**
   * Accepts no more connections, and closes existing ones once they were idle for `quietMs`. Resolves when all are
   * closed.
   */
  leave(quietMs: number): Promise<void>;
}

declare module "fastify" {
  interface FastifyInstance {
    connections: Connections;
  }
}

/**
 * Tracks connections itself: Node's `closeIdleConnections` skips those that never sent a request, and `close` closes
 * idle ones before received data is read.
 */
export function watchConnections(app: FastifyInstance, clock: Clock): void {
  const { server } = app;
  /** The pending answers of each connection; none while it is idle. */
  const open = new Map<Socket, ServerResponse[]>();
  /** How long idle connections stay open; undefined while the server is running. */
  let quietMs: number | undefined;

  const closeWhenQuiet = (socket: Socket, afterMs: number): void => {
    const { bytesRead } = socket;
    const look = (): void => {
      // If more bytes arrived, they are part of a request, so the connection stays open for the rest.
      if (open.get(socket)?.length === 0 && socket.bytesRead === bytesRead) socket.destroySoon();
    };
    // The event loop reads sockets between these two steps, so that received data is handled first.
    const lookSoon = (): void => clock.soon(() => clock.soon(look));
    if (afterMs === 0) lookSoon();
    else socket.once("close", clock.after(afterMs, lookSoon));
  };
  const watch = (socket: Socket): void => {
    open.set(socket, []);
    socket.once("close", () => open.delete(socket));
    if (quietMs !== undefined) closeWhenQuiet(socket, quietMs);
  };
  server.on("connection", watch);
  if (server instanceof TlsServer) {
    // After the TLS handshake, another socket object replaces the accepted one, which is tracked only until then.
    const greeting = new Map<string, Socket>();
    server.on("connection", (socket: Socket) => {
      const end = endOf(socket);
      greeting.set(end, socket);
      socket.once("close", () => greeting.get(end) === socket && greeting.delete(end));
    });
    server.on("secureConnection", (socket: Socket) => {
      const accepted = greeting.get(endOf(socket));
      if (accepted !== undefined) open.delete(accepted);
      watch(socket);
    });
  }
  // Runs before other listeners, because the next one may already answer a refused request.
  server.prependListener("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    const due = open.get(socket) ?? [];
    due.push(response);
    if (quietMs !== undefined) response.shouldKeepAlive = false;
    response.once("close", () => {
      due.splice(due.indexOf(response), 1);
      if (quietMs !== undefined && due.length === 0 && !socket.destroyed) closeWhenQuiet(socket, quietMs);
    });
  });
  const begin = (stayMs: number): void => {
    quietMs = stayMs;
    for (const [socket, due] of open) {
      for (const response of due) if (!response.headersSent) response.shouldKeepAlive = false;
      if (due.length === 0) closeWhenQuiet(socket, stayMs);
    }
  };

  app.decorate("connections", {
    leave(stayMs: number) {
      begin(stayMs);
      // Calls `close` of the TCP server, because `close` of the HTTP server would end idle connections at once.
      return new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
    },
  });
  // Fastify is closing: idle connections are closed without a grace period, unless the drain began before.
  app.addHook("preClose", async () => {
    if (quietMs === undefined) begin(0);
  });
}

/** The remote address and port, which identify one of the listener's connections. */
const endOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
