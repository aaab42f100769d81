/** Connects to the plane by the NATS protocol, which NATS servers and the gateway's hub speak. */
import { connect, errors, jwtAuthenticator } from "@nats-io/transport-node";
import { type Dial, PlaneRefusal } from "./plane.ts";

/** The timeout per server, so that one that hangs does not delay the next for long. */
const DIAL_MS_MAX = 3_000;
/** A peer that hangs, or vanished without closing, is detected after three of these. */
const PING_EVERY_MS = 2_000;

export const dialNats: Dial = async (credentials, name) => {
  // The client's own reconnection is off: it would resend old frames to gateways that gave their jobs up, with credentials that may have
  // expired. The agent connects again instead.
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
    // Servers without TLS are then refused too. NODE_EXTRA_CA_CERTS adds trusted certificates.
    ...(servers.some((server) => server.startsWith("tls://")) ? { tls: {} } : {}),
  }).catch((error: unknown) => {
    throw refusalIn(error) ?? error;
  });

  // The broker sends the reason just before it closes the connection, and the client forgets it.
  let refusal: PlaneRefusal | undefined;
  const listen = async (): Promise<void> => {
    for await (const status of connection.status()) {
      if (status.type === "error") refusal = refusalIn(status.error) ?? refusal;
    }
  };
  listen().catch(() => {
    // The iterator fails only when the connection has ended, which `closed` reports.
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

/** The servers' text for a revoked key, for which the client has no error code. */
const REVOKED = /Authentication Revoked/i;

function refusalIn(error: unknown): PlaneRefusal | undefined {
  const refused =
    error instanceof errors.AuthorizationError ||
    error instanceof errors.UserAuthenticationExpiredError ||
    (error instanceof errors.ProtocolError && REVOKED.test(error.message));
  if (refused) return new PlaneRefusal(error.message, { cause: error });
  return error instanceof Error && error.cause !== undefined ? refusalIn(error.cause) : undefined;
}
