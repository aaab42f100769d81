/**
 * Closes a server's connections without losing requests. A client learns that its idle connection was closed only after sending the
 * next request, and cannot know whether that ran. Therefore the server accepts no new connections, sends `Connection: close` with every
 * answer, and closes a kept connection only after it was idle for a while longer.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import { Server as TlsServer } from "node:tls";
import type { FastifyInstance } from "fastify";
import type { Clock } from "../base/clock.ts";

interface Connections {
  /** Accepts no more connections and closes existing ones, idle ones after `quietMs`. Resolves when all are closed. */
  leave(quietMs: number): Promise<void>;
}

declare module "fastify" {
  interface FastifyInstance {
    connections: Connections;
  }
}

/** Node's `closeIdleConnections` skips connections that never sent a request, and `close` ends idle ones before received data is read. */
export function watchConnections(app: FastifyInstance, clock: Clock): void {
  const { server } = app;
  /** Pending answers per connection; none while it is idle. */
  const open = new Map<Socket, ServerResponse[]>();
  /** How long idle connections are kept; undefined while the server is running. */
  let quietMs: number | undefined;

  const closeWhenQuiet = (socket: Socket, afterMs: number): void => {
    const { bytesRead } = socket;
    const look = (): void => {
      // Part of a request has arrived, so its rest is awaited.
      if (open.get(socket)?.length === 0 && socket.bytesRead === bytesRead) socket.destroySoon();
    };
    // Sockets are read between these two steps, so that received data is handled first.
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
    // Under TLS another socket replaces the accepted one, which is only tracked during the handshake.
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
  // First, because the next listener may answer a refused request.
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
      // Calls the TCP server's `close` instead of the HTTP server's, for the reason above.
      return new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
    },
  });
  // Remaining connections are closed now.
  app.addHook("preClose", async () => {
    if (quietMs === undefined) begin(0);
  });
}

/** The peer's address, unique among a listener's connections. */
const endOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
