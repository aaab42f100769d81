/**
 * Answers 503 to connections beyond the last spare file descriptor and closes them, before a request is read. door.ts refuses requests earlier
 * than that, but in a burst the system hands over all waiting connections before it delivers the first request.
 */
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { Server as TlsServer } from "node:tls";
import { publicId } from "../base/ids.ts";
import { fault } from "../faults.ts";
import type { DoorOptions } from "./call.ts";
import { faultHeaders } from "./reply.ts";

type Told = Pick<DoorOptions, "newId" | "watch">;

/** For connections to this server. */
export function refuseConnections(server: Server, { newId, watch }: Told): (socket: Socket) => void {
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
    // A client could not read it before the handshake.
    if (!isTls) {
      const id = publicId("req", newId());
      socket.write([`HTTP/1.1 503 Service Unavailable`, `x-request-id: ${id}`, ...lines, "", body].join("\r\n"));
      watch?.answered({ method: "", route: "", status: known.status });
    }
    socket.destroy();
  };
}
