/**
 * The port for the dispatch plane: a single connection to a broker that carries frames. When it ends, the agent opens another. Adapter:
 * nats.ts.
 */
export interface PlaneCredentials {
  url: string;
  jwt: string;
  seed: string;
  /** Unix milliseconds. */
  expiresAt: number;
}

export interface PlaneConnection {
  publish(subject: string, payload: Uint8Array): void;
  subscribe(subject: string, receive: (payload: Uint8Array) => void): void;
  /** Resolves when the broker has handled everything published so far. */
  flush(): Promise<void>;
  /** Resolves when the connection is over, with the reason if it was not our own `close`. */
  readonly closed: Promise<Error | undefined>;
  close(): Promise<void>;
}

export type Dial = (credentials: PlaneCredentials, name: string) => Promise<PlaneConnection>;

/** The broker refuses the credentials as expired, revoked or invalid. New ones may help; a retry does not. */
export class PlaneRefusal extends Error {
  override name = "PlaneRefusal";
}
