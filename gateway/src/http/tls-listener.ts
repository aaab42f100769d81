/** The public TLS listener. New connections use a renewed certificate; existing ones keep theirs. */
import type { RequestListener, Server } from "node:http";
import { createServer, type ServerOptions } from "node:https";
import type { TLSSocket } from "node:tls";
import type { ReloadableCertificate } from "../base/certificate.ts";

/** How long a TLS handshake may take. */
const HANDSHAKE_MS_MAX = 15_000;

export function tlsListener(
  certificate: ReloadableCertificate,
  options: ServerOptions,
  handler: RequestListener,
): Server {
  const server = createServer(
    {
      ...options,
      ...certificate.current(),
      handshakeTimeout: HANDSHAKE_MS_MAX,
      // Clients may half-close their connections, as without TLS (half-close.ts).
      allowHalfOpen: true,
    },
    handler,
  );
  certificate.onRenewal((renewed) => server.setSecureContext(renewed));
  // Closes connections whose handshake failed. Node would answer them in plain HTTP, which the client cannot read.
  server.removeAllListeners("tlsClientError");
  server.on("tlsClientError", (_error: Error, socket: TLSSocket) => socket.destroy());
  return server;
}
