/**
 * Tracks the connected nodes by the servers' events and the nodes' own messages. A node that renews its credentials has
 * two connections for a moment, and is gone when both have ended. A server that dies reports no ends. Its nodes are
 * noticed when they connect to another server. Pure; times are monotonic milliseconds.
 */
import { NODE_CONNECTIONS_MAX } from "../credentials/node-credentials.ts";
import { parseServerId } from "./connection-events.ts";

/** The most connections of an agent. */
const CONNECTIONS_MAX = 2;
/** The most time in which an agent that renews its credentials closes its older connection. */
const RENEWAL_MS_MAX = 10_000;

interface Connected {
  /** The node's connections, oldest first. Empty if the node sent messages but its connection was not reported. */
  connections: Set<string>;
  /**
   * When the node reconnected while its former connection still counted as open. Undefined once the end of that connection
   * was reported.
   */
  movedAt: number | undefined;
  /** The former connection, whose end was not reported. */
  movedFrom: string | undefined;
}

export class ConnectedNodes {
  readonly #nodes = new Map<string, Connected>();

  /** The node sent a message, so it is connected. */
  heard(nodeId: string): void {
    if (!this.#nodes.has(nodeId))
      this.#nodes.set(nodeId, { connections: new Set(), movedAt: undefined, movedFrom: undefined });
  }

  connected(nodeId: string, connection: string, now: number): void {
    const known = this.#nodes.get(nodeId);
    const connections = known?.connections ?? new Set();
    const before = [...connections].at(-1);
    this.#nodes.set(nodeId, {
      connections: connections.add(connection),
      movedAt: known === undefined ? undefined : now,
      movedFrom: before,
    });
    if (connections.size <= CONNECTIONS_MAX) return;
    const [oldest] = connections;
    if (oldest !== undefined) connections.delete(oldest);
  }

  /**
   * Returns whether the node is gone. A node whose connection was not reported is "unsure": it may have another
   * connection, so it counts as absent until it sends a message.
   */
  disconnected(nodeId: string, connection: string, now: number): "gone" | "there" | "unsure" {
    const known = this.#nodes.get(nodeId);
    if (known === undefined) return "there";
    const { connections, movedAt } = known;
    const newest = [...connections].at(-1);
    const isKnown = connections.delete(connection);
    if (connections.size === 0) {
      this.#nodes.delete(nodeId);
      return isKnown ? "gone" : "unsure";
    }
    if (connection !== newest) {
      // The end of the older connection was reported: the node renewed its credentials, and no server died.
      known.movedAt = undefined;
      return "there";
    }
    // An agent that renews its credentials closes its former connection within this time. Later, the former
    // connection's server must have died without reporting the end, so the node is gone.
    if (movedAt === undefined || now - movedAt <= RENEWAL_MS_MAX) return "there";
    this.#nodes.delete(nodeId);
    return "gone";
  }

  has(nodeId: string): boolean {
    return this.#nodes.has(nodeId);
  }

  /**
   * The start of the newest connection, if the end of the former one was not reported. Then the node is renewing its
   * credentials, or its former server died.
   */
  movedAt(nodeId: string): number | undefined {
    return this.#nodes.get(nodeId)?.movedAt;
  }

  /** The former connection. Undefined for a node whose connection was not reported. */
  movedFrom(nodeId: string): string | undefined {
    return this.#nodes.get(nodeId)?.movedFrom;
  }

  /** The newest connection. Undefined for a node whose connection was not reported. */
  connectionOf(nodeId: string): string | undefined {
    return [...(this.#nodes.get(nodeId)?.connections ?? [])].at(-1);
  }

  /** Drops all nodes, because the plane is unreachable. */
  clear(): void {
    this.#nodes.clear();
  }
}

/** Every open connection of each node, to bound their number. */
export class OpenConnections {
  readonly #nodes = new Map<string, Set<string>>();

  /**
   * Records a new connection, and returns whether the node has too many. If so, the caller disconnects the node, and
   * its count starts from zero. `answers`: whether a server answers. A dead server does not report that connections
   * ended.
   */
  began(nodeId: string, connection: string, answers: (server: string | undefined) => boolean): boolean {
    const known = [...(this.#nodes.get(nodeId) ?? [])].filter((each) => answers(parseServerId(each)));
    const open = new Set([...known, connection]);
    this.#nodes.set(nodeId, open);
    if (open.size <= NODE_CONNECTIONS_MAX) return false;
    this.forget(nodeId);
    return true;
  }

  forget(nodeId: string): void {
    this.#nodes.delete(nodeId);
  }

  ended(nodeId: string, connection: string): void {
    const open = this.#nodes.get(nodeId);
    open?.delete(connection);
    if (open?.size === 0) this.#nodes.delete(nodeId);
  }

  /** Forgets all connections, because the plane became unreachable. */
  clear(): void {
    this.#nodes.clear();
  }
}
