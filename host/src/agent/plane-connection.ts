/**
 * The port for the dispatch plane: a single connection to a broker that carries frames. When it ends, the agent opens
 * another. The adapter is connect-to-nats.ts.
 */
export interface PlaneCredentials {
  url: string;
  jwt: string;
  seed: string;
  /** The expiry time, in Unix milliseconds. */
  expiresAt: number;
}

export interface PlaneConnection {
  publish(subject: string, payload: Uint8Array): void;
  subscribe(subject: string, receive: (payload: Uint8Array) => void): void;
  /** Resolves when the broker has handled everything published so far. */
  flush(): Promise<void>;
  /** Resolves when the connection has ended, with the reason unless our own `close` ended it. */
  readonly closed: Promise<Error | undefined>;
  close(): Promise<void>;
}

export type PlaneDialer = (credentials: PlaneCredentials, name: string) => Promise<PlaneConnection>;

/** The broker refuses the credentials as expired, revoked or invalid. The agent needs new ones before it retries. */
export class PlaneRefusal extends Error {
  override name = "PlaneRefusal";
}
