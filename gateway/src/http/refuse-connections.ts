/**
 * Answers 503 to a new connection and closes it, before its request is read, when almost no file descriptors are left.
 * run-handlers.ts refuses requests earlier than that, but in a burst the system hands over all waiting connections before the
 * first request.
 */
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { Server as TlsServer } from "node:tls";
import { publicId } from "../base/ids.ts";
import { fault } from "../faults.ts";
import type { HttpOptions } from "./http-call.ts";
import { faultHeaders } from "./http-reply.ts";

type RefusalOptions = Pick<HttpOptions, "newId" | "watch">;

/** Returns a function that refuses a connection to this server. */
export function refuseConnections(server: Server, { newId, watch }: RefusalOptions): (socket: Socket) => void {
  const known = fault("no_capacity");
  const body = JSON.stringify(known.body());
  const headers = {
    ...faultHeaders(known),
    "content-type": "application/json; charset=utf-8",
    "content-length": String(Buffer.byteLength(body)),
    connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const isTls = server instanceof TlsServer;
  return (socket) => {
    // A TLS client could not read an answer before the handshake, so its connection is only closed.
    if (!isTls) {
      const id = publicId("req", newId());
      socket.write([`HTTP/1.1 503 Service Unavailable`, `x-request-id: ${id}`, ...lines, "", body].join("\r\n"));
      watch?.answered({ method: "", route: "", status: known.status });
    }
    socket.destroy();
  };
}
