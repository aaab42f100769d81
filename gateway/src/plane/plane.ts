/**
 * The interface of the dispatch plane: a broker that carries frames to nodes and back. Adapters: hub/ (in process, speaks the NATS protocol
 * to agents) and nats/ (NATS servers). plane.test.ts runs against both.
 */
import type { Dependency } from "../base/dependency.ts";

export interface NodeCredentials {
  /** The address for the agent: `nats://host:port` or `tls://`; several are separated by commas. */
  url: string;
  /** A NATS user JWT limited to the node's own subjects, and the nkey seed that proves its possession. */
  jwt: string;
  seed: string;
  /** Unix milliseconds. */
  expiresAt: number;
}

/** A plane that outlives its gateways stores the id of the deployment that owns it. All methods reject when the plane is unreachable. */
export interface PlaneOwnership {
  /** The owner; undefined when there is none. */
  owner(): Promise<string | undefined>;
  /** Claims the plane for the deployment unless it has an owner. Returns the owner. */
  claim(deployment: string): Promise<string>;
  /** Makes the deployment the owner, in place of any other. */
  take(deployment: string): Promise<void>;
}

export interface Plane {
  /** Other gateways or workers use it too, and nodes may have connected before this process did. */
  readonly isShared?: boolean;
  /** Absent: the plane is part of its gateway. */
  readonly ownership?: PlaneOwnership;
  /** Unreachable: no node can be reached. */
  readonly health: Dependency;
  /** Whether nodes' messages arrive; also false while an outage is likely. */
  readonly hears: boolean;
  /**
   * Delivers at most once: an unreachable plane drops the message. `rest` follows in the same message. Neither may be changed afterwards.
   */
  publish(subject: string, payload: Uint8Array, rest?: Uint8Array): void;
  /** Delivers messages whose subject matches `pattern` (`*` one token, a final `>` the rest). Returns the function that unsubscribes. */
  subscribe(pattern: string, receive: (subject: string, payload: Uint8Array) => void): () => void;
  /** Calls `gone` when a node has no connection any more, with the side that ended the last one. */
  onNodeGone(gone: (nodeId: string, by: "node" | "plane") => void): void;
  /** Calls `run` when the plane becomes unreachable: no messages arrive, and no node is to blame. */
  onAway(run: () => void): void;
  /** Calls `run` when the plane is back and nodes have been asked for their state. */
  onBack(run: () => void): void;
  /**
   * When the node's connection began, if the end of the former one was not reported: a part of the plane may have failed under a healthy
   * node, and its last messages may be lost. In monotonic milliseconds.
   */
  movedAt(nodeId: string): number | undefined;
  /** The server of the former connection; undefined when not known. */
  movedFrom(nodeId: string): string | undefined;
  /** False while the server does not answer this gateway. */
  answers(server: string): boolean;
  /** False while the node's part of the plane does not answer: the node may be well. */
  reaches(nodeId: string): boolean;
  /**
   * Calls `told` with whether the node's part of the plane answers now: a part that froze a moment ago is not known to hang yet. It may
   * call back before it returns.
   */
  whenProven(nodeId: string, told: (isWell: boolean) => void): void;
  mint(nodeId: string): Promise<NodeCredentials>;
  /**
   * Revokes everything issued to the node until now and closes its connections; credentials minted later are valid. Can be repeated.
   * Rejects when the plane is unreachable, and then takes effect when it is back.
   */
  revoke(nodeId: string): Promise<void>;
  /**
   * Closes the node's connections and refuses new ones for a moment, longer each time it happens again soon. Rejects when the plane is
   * unreachable.
   */
  cut(nodeId: string): Promise<void>;
  close(): Promise<void>;
}

/** A payload and its rest as one buffer. */
export const joined = (payload: Uint8Array, rest: Uint8Array | undefined): Uint8Array =>
  rest === undefined ? payload : Buffer.concat([payload, rest]);
