/** The public TLS listener. New connections use a renewed certificate; existing ones keep theirs. */
import type { RequestListener, Server } from "node:http";
import { createServer, type ServerOptions } from "node:https";
import type { TLSSocket } from "node:tls";
import type { LiveCertificate } from "../base/certificate.ts";

/** The deadline of the TLS handshake. */
const HANDSHAKE_MS_MAX = 15_000;

export function tlsListener(certificate: LiveCertificate, options: ServerOptions, handler: RequestListener): Server {
  const server = createServer(
    {
      ...options,
      ...certificate.current(),
      handshakeTimeout: HANDSHAKE_MS_MAX,
      // Allows half-open connections, as without TLS (half-close.ts).
      allowHalfOpen: true,
    },
    handler,
  );
  certificate.onRenewal((renewed) => server.setSecureContext(renewed));
  // Node would answer these in plain HTTP, which the client cannot read.
  server.removeAllListeners("tlsClientError");
  server.on("tlsClientError", (_error: Error, socket: TLSSocket) => socket.destroy());
  return server;
}
