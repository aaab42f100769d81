/** The public listener under TLS. A renewed certificate is for new connections; those that there are go on under theirs. */
import type { RequestListener, Server } from "node:http";
import { createServer, type ServerOptions } from "node:https";
import type { TLSSocket } from "node:tls";
import type { LiveCertificate } from "../base/certificate.ts";

/** Who has connected greets within this time, or is gone. */
const HANDSHAKE_MS_MAX = 15_000;

export function tlsListener(certificate: LiveCertificate, options: ServerOptions, handler: RequestListener): Server {
  const server = createServer(
    {
      ...options,
      ...certificate.current(),
      handshakeTimeout: HANDSHAKE_MS_MAX,
      // As servers without TLS have it (half-close.ts).
      allowHalfOpen: true,
    },
    handler,
  );
  certificate.onRenewal((renewed) => server.setSecureContext(renewed));
  // Node would have these refused in HTTP, which no one at the other end could read.
  server.removeAllListeners("tlsClientError");
  server.on("tlsClientError", (_error: Error, socket: TLSSocket) => socket.destroy());
  return server;
}
