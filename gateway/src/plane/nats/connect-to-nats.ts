/** Opens one connection to a NATS server, without reconnection. Callers connect again themselves. */
import { connect, errors, type NatsConnection } from "@nats-io/transport-node";
import { FRAME_BYTES_MAX } from "@tollgate/protocol/frame-limits.ts";
import type { SigningKey } from "../credentials/nkeys.ts";

/** The maximum time to connect, so that a hanging server does not delay the attempt at the next one. */
const DIAL_MS_MAX = 2_000;
/** The interval of pings. The client reports a vanished server after three unanswered ones. */
const PING_EVERY_MS = 5_000;

export interface NatsLogin {
  /** One or more addresses, separated by commas. */
  url: string;
  name: string;
  jwt: string;
  key: SigningKey;
  inboxPrefix?: string;
  /** The maximum time in which the server has to send its greeting. */
  dialTimeoutMs?: number | undefined;
}

/** The server is set up wrongly, so a retry cannot help. */
export class NatsSetupError extends Error {
  override name = "NatsUnusable";
}

export async function connectNats(login: NatsLogin): Promise<NatsConnection> {
  const connection = await dial(login);
  const bytesMax = connection.info?.max_payload ?? 0;
  if (bytesMax >= FRAME_BYTES_MAX) return connection;
  await connection.close();
  throw new NatsSetupError(
    `NATS at ${login.url} accepts messages of at most ${bytesMax} bytes. Set its max_payload to 1MB`,
  );
}

async function dial({
  url,
  name,
  jwt,
  key,
  inboxPrefix,
  dialTimeoutMs = DIAL_MS_MAX,
}: NatsLogin): Promise<NatsConnection> {
  const servers = url.split(",").map((server) => server.trim());
  try {
    // The client's own reconnection is off, because it would send buffered messages to nodes whose jobs have already
    // failed.
    return await connect({
      servers,
      name,
      authenticator: (nonce) => ({
        jwt,
        nkey: key.publicKey,
        sig: key.sign(Buffer.from(nonce ?? "")).toString("base64url"),
      }),
      reconnect: false,
      ignoreClusterUpdates: true,
      timeout: dialTimeoutMs,
      pingInterval: PING_EVERY_MS,
      maxPingOut: 2,
      ...(inboxPrefix !== undefined && { inboxPrefix }),
      ...(servers.some((server) => server.startsWith("tls://")) && { tls: {} }),
    });
  } catch (error) {
    if (!isRefusal(error)) throw error;
    throw new NatsSetupError(`NATS at ${url} refuses this gateway's keys (${error.message})`, { cause: error });
  }
}

function isRefusal(error: unknown): error is Error {
  return error instanceof errors.AuthorizationError || error instanceof errors.UserAuthenticationExpiredError;
}
