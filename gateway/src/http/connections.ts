/**
 * A server's connections, and how they end when it stops. The rule is that no request is lost: a connection that says nothing may be
 * about to, because a client learns that it was closed only after it has sent its next request, and must then guess whether that was
 * done. So no one new is taken, every answer says `Connection: close`, which a client knows before it would ask again, and a
 * connection that was promised to be kept is closed only after it has said nothing for a moment longer.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import { Server as TlsServer } from "node:tls";
import type { FastifyInstance } from "fastify";
import type { Clock } from "../base/clock.ts";

interface Connections {
  /** Takes no more connections, ends those that there are, quiet ones after `quietMs`. Resolves when none is left. */
  leave(quietMs: number): Promise<void>;
}

declare module "fastify" {
  interface FastifyInstance {
    connections: Connections;
  }
}

/**
 * Node's own list of idle connections leaves out those that never sent a request, which browsers and pools open in advance; and
 * its way to close a server ends idle connections before what has come on them is read.
 */
export function watchConnections(app: FastifyInstance, clock: Clock): void {
  const { server } = app;
  /** The answers due on each connection; none while it is quiet. */
  const open = new Map<Socket, ServerResponse[]>();
  /** How long quiet connections stay; undefined while the server is not about to stop. */
  let quietMs: number | undefined;

  const closeWhenQuiet = (socket: Socket, afterMs: number): void => {
    const { bytesRead } = socket;
    const look = (): void => {
      // Part of a request has come: it is waited for like any other.
      if (open.get(socket)?.length === 0 && socket.bytesRead === bytesRead) socket.destroySoon();
    };
    // Between two of these the sockets are read: what has come meanwhile comes first.
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
    // Under TLS another socket stands in for the one that was accepted, which is only watched until they have greeted.
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
  // First: a refusal may be answered by the next listener.
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
      // Not the HTTP server's own `close`, for the reason above.
      return new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
    },
  });
  // Who did not leave before wants to be gone now.
  app.addHook("preClose", async () => {
    if (quietMs === undefined) begin(0);
  });
}

/** The other end's address: no two connections of a listener have the same. */
const endOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
