/**
 * The dispatch plane as the gateway sees it: a broker that carries frames to nodes and back. Adapters: hub/ (in process,
 * speaks the NATS protocol to agents) and nats/ (NATS servers). Both are held to the same behaviour by plane.test.ts.
 */
import type { Dependency } from "../base/dependency.ts";

export interface NodeCredentials {
  /** Where the agent connects: `nats://host:port`, or `tls://`; several addresses are separated by commas. */
  url: string;
  /** A NATS user JWT limited to the node's own subjects, and the nkey seed that proves its possession. */
  jwt: string;
  seed: string;
  /** Unix milliseconds. */
  expiresAt: number;
}

/** A plane that outlives its gateways belongs to one deployment, and keeps its id. All of it rejects when the plane is unreachable. */
export interface PlaneOwnership {
  /** Whose the plane is; undefined while it is no one's. */
  owner(): Promise<string | undefined>;
  /** Makes it that deployment's unless it is another's. Returns whose it is then. */
  claim(deployment: string): Promise<string>;
  /** Makes it that deployment's, whoever's it was. */
  take(deployment: string): Promise<void>;
}

export interface Plane {
  /** Other gateways are on it, or other workers of this one, and nodes may have connected before this process did. */
  readonly isShared?: boolean;
  /** Absent: the plane is part of its gateway, and belongs to no one else. */
  readonly ownership?: PlaneOwnership;
  /** Away: no node can be reached now. */
  readonly health: Dependency;
  /** Whether what nodes say arrives here; false also while an outage is likely and not yet certain. */
  readonly hears: boolean;
  /** At most once: a plane that is unreachable drops the message. `rest` follows in the same message; neither may be changed any more. */
  publish(subject: string, payload: Uint8Array, rest?: Uint8Array): void;
  /** Delivers every message whose subject matches `pattern` (`*` one token, a final `>` the rest). Returns the way out. */
  subscribe(pattern: string, receive: (subject: string, payload: Uint8Array) => void): () => void;
  /** `gone` runs when the plane knows that a node has no connection any more, and says who ended the last. */
  onNodeGone(gone: (nodeId: string, by: "node" | "plane") => void): void;
  /** `run` runs when the plane is unreachable: no node is heard any more, and none of them is to blame. */
  onAway(run: () => void): void;
  /** It is there again; nodes have been asked for their state. */
  onBack(run: () => void): void;
  /**
   * When the node came by the connection it has, if the plane heard of no end of the one before: a part of the plane may have
   * failed under a node that is well, and what it said last may be lost. In the clock's monotonic milliseconds.
   */
  movedAt(nodeId: string): number | undefined;
  /** The server of that former connection; undefined where no one knows it. */
  movedFrom(nodeId: string): string | undefined;
  /** False while the server does not answer, as this gateway itself sees. */
  answers(server: string): boolean;
  /** False while the part of the plane that the node is on does not answer: it may be well, and cannot be heard. */
  reaches(nodeId: string): boolean;
  /**
   * Tells whether the part of the plane that the node is on answers at this moment: one that froze a moment ago is not known to hang
   * yet. It may tell before it returns.
   */
  whenProven(nodeId: string, told: (isWell: boolean) => void): void;
  mint(nodeId: string): Promise<NodeCredentials>;
  /**
   * Refuses everything issued to the node until now and drops its connections; what is minted afterwards is good. May be
   * said again at any time. Rejects when the plane is unreachable; it makes up for it when it is back.
   */
  revoke(nodeId: string): Promise<void>;
  /**
   * Drops the node's connections and keeps it away for a moment, longer each time it happens again soon. It may come back
   * by itself then. Rejects when the plane is unreachable.
   */
  cut(nodeId: string): Promise<void>;
  close(): Promise<void>;
}

/** A message in one, for whoever takes it so. */
export const joined = (payload: Uint8Array, rest: Uint8Array | undefined): Uint8Array =>
  rest === undefined ? payload : Buffer.concat([payload, rest]);
