/**
 * The interface of the dispatch plane: a broker that carries messages between gateways and nodes. Implementations: hub/
 * (in process, speaks the NATS protocol to agents) and nats/ (NATS servers). The suites of this folder run on both.
 */
import type { Dependency } from "../base/dependency.ts";

export interface NodeCredentials {
  /** The address for the agent: `nats://host:port` or `tls://host:port`. Several are separated by commas. */
  url: string;
  /** A NATS user JWT for the node's own subjects. `seed`: the nkey seed that proves possession of the JWT's key. */
  jwt: string;
  seed: string;
  /** The expiry in Unix milliseconds. */
  expiresAt: number;
}

/**
 * The owner of a plane that outlives its gateways: the plane stores the ID of a deployment. All methods reject when the
 * plane is unreachable.
 */
export interface PlaneOwnership {
  /** Returns the ID of the deployment that owns the plane, or undefined if no deployment does. */
  owner(): Promise<string | undefined>;
  /** Claims the plane for the deployment if the plane has no owner. Returns the owner. */
  claim(deployment: string): Promise<string>;
  /** Makes the deployment the owner, replacing any other. */
  take(deployment: string): Promise<void>;
}

export interface DispatchPlane {
  /** Whether other gateways or workers use the plane too. Nodes may then have connected before this process started. */
  readonly isShared?: boolean;
  /** Absent: the plane is part of its gateway and has no separate owner. */
  readonly ownership?: PlaneOwnership;
  /** Whether the plane is reachable. If not, no node can be reached. */
  readonly health: Dependency;
  /** Whether nodes' messages arrive. Also false while an outage is likely. */
  readonly hears: boolean;
  /**
   * Delivers at most once: if the plane is unreachable, drops the message. `rest` is appended to the payload. Neither
   * may be changed afterwards.
   */
  publish(subject: string, payload: Uint8Array, rest?: Uint8Array): void;
  /**
   * Delivers messages whose subject matches `pattern` (`*`: one token; `>` at the end: the rest). Returns a function
   * that unsubscribes.
   */
  subscribe(pattern: string, receive: (subject: string, payload: Uint8Array) => void): () => void;
  /**
   * Whether any connection of the plane, this one included, subscribes to the subject. Rejects when the plane is
   * unreachable. Absent: the plane cannot tell.
   */
  hasSubscribers?(subject: string): Promise<boolean>;
  /** Calls `gone` when a node has no connection any more, with the side that ended the last connection. */
  onNodeGone(gone: (nodeId: string, by: "node" | "plane") => void): void;
  /** Calls `run` when the plane becomes unreachable: then no messages arrive, and no node is to blame. */
  onAway(run: () => void): void;
  /** Calls `run` when the plane is back and nodes have been asked for their state. */
  onBack(run: () => void): void;
  /**
   * The start of the node's newest connection in monotonic milliseconds, if the end of the former connection was not
   * reported. In that case the former connection's server may have failed although the node is healthy, and the node's
   * last messages may be lost.
   */
  movedAt(nodeId: string): number | undefined;
  /** The server of the node's former connection. Undefined when not known. */
  movedFrom(nodeId: string): string | undefined;
  /** Whether this server of the plane answers. */
  answers(server: string): boolean;
  /** Whether the node's part of the plane answers. If not, the node may be healthy although it seems silent. */
  reaches(nodeId: string): boolean;
  /**
   * Calls `told` with whether the node's part of the plane answers at this moment. `reaches` may still be true for a
   * part that froze a moment ago. May call `told` before it returns.
   */
  whenProven(nodeId: string, told: (isWell: boolean) => void): void;
  mint(nodeId: string): Promise<NodeCredentials>;
  /**
   * Revokes all credentials issued to the node until now and closes its connections. Credentials minted later are
   * valid. Can be repeated. If the plane is unreachable, rejects now and takes effect later.
   */
  revoke(nodeId: string): Promise<void>;
  /**
   * Refuses new connections with the credentials that were issued to the node until now, and keeps the open ones
   * (`revoke` also ends these). NATS servers cannot refuse a connection without ending the node's others, so with NATS
   * a new connection ends all of them.
   */
  refuseNewConnections(nodeId: string): Promise<void>;
  /**
   * Closes the node's connections and refuses new ones for a moment, which grows with each repetition. Rejects when the
   * plane is unreachable.
   */
  cut(nodeId: string): Promise<void>;
  close(): Promise<void>;
}

/** Joins the two parts of a payload, as `publish` gets them, in one buffer. */
export const concatPayloadParts = (payload: Uint8Array, rest: Uint8Array | undefined): Uint8Array =>
  rest === undefined ? payload : Buffer.concat([payload, rest]);
