/** Connects to the plane by the NATS protocol, which NATS servers and the gateway's hub speak. */
import { connect, errors, jwtAuthenticator } from "@nats-io/transport-node";
import { type PlaneDialer, PlaneRefusal } from "./plane-connection.ts";

/**
 * The connection timeout per server, so that a server that hangs does not delay the attempt on the next server for
 * long.
 */
const DIAL_MS_MAX = 3_000;
/** After three unanswered pings, a peer counts as gone. This detects a peer that hangs or vanished without closing. */
const PING_EVERY_MS = 2_000;

export const connectToNats: PlaneDialer = async (credentials, name) => {
  // Reconnecting in the NATS client is off. It would resend old frames to gateways that no longer wait for them, with
  // credentials that may have expired. The agent opens a new connection instead.
  const servers = credentials.url.split(",");
  const connection = await connect({
    servers,
    name,
    authenticator: jwtAuthenticator(credentials.jwt, new TextEncoder().encode(credentials.seed)),
    reconnect: false,
    ignoreClusterUpdates: true,
    timeout: DIAL_MS_MAX,
    pingInterval: PING_EVERY_MS,
    maxPingOut: 2,
    // With a `tls://` address, servers without TLS are refused. NODE_EXTRA_CA_CERTS adds trusted certificates.
    ...(servers.some((server) => server.startsWith("tls://")) ? { tls: {} } : {}),
  }).catch((error: unknown) => {
    throw refusalIn(error) ?? error;
  });

  // The broker sends the reason just before it closes the connection, and the NATS client does not keep it.
  let refusal: PlaneRefusal | undefined;
  const listen = async (): Promise<void> => {
    for await (const status of connection.status()) {
      if (status.type === "error") refusal = refusalIn(status.error) ?? refusal;
    }
  };
  listen().catch(() => {
    // The iterator fails only when the connection has ended, which its `closed` promise reports.
  });

  const publish = (subject: string, payload: Uint8Array): void => {
    if (!connection.isClosed()) connection.publish(subject, payload);
  };
  return {
    publish,
    subscribe(subject, receive) {
      connection.subscribe(subject, {
        callback: (error, message) => {
          if (error === null) receive(message.data);
        },
      });
    },
    flush: () => connection.flush(),
    closed: connection.closed().then((error) => {
      if (error instanceof Error) return refusalIn(error) ?? refusal ?? error;
      return refusal;
    }),
    close: () => connection.close(),
  };
};

/** The server's text for a revoked key. The NATS client has no error code for it. */
const REVOKED = /Authentication Revoked/i;

function refusalIn(error: unknown): PlaneRefusal | undefined {
  const refused =
    error instanceof errors.AuthorizationError ||
    error instanceof errors.UserAuthenticationExpiredError ||
    (error instanceof errors.ProtocolError && REVOKED.test(error.message));
  if (refused) return new PlaneRefusal(error.message, { cause: error });
  return error instanceof Error && error.cause !== undefined ? refusalIn(error.cause) : undefined;
}
