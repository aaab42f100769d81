/**
 * Which nodes are connected, as the servers' events and the nodes' own words tell. A node that renews its credentials has
 * two connections for a moment and is gone only when the last of them is. A server that dies tells of no end: its nodes are
 * noticed when they connect elsewhere. Pure; moments are monotonic milliseconds.
 */

/** An agent holds no more than two. */
const CONNECTIONS_MAX = 2;
/** An agent that renews has ended the older of two by then. */
const RENEWAL_MS_MAX = 10_000;

interface Connected {
  /** Oldest first; none for a node that was heard but not seen to connect. */
  connections: Set<string>;
  /** When the newest came, if another was there and has not been heard to end. */
  movedAt: number | undefined;
  /** That other one. */
  movedFrom: string | undefined;
}

export class ConnectedNodes {
  readonly #nodes = new Map<string, Connected>();

  /** The node said something. */
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
   * Says whether the node is gone with it. Of one that was not seen to connect no one knows whether it has another; it is not
   * there until it is heard again.
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
      // The older one: the node has renewed its credentials.
      known.movedAt = undefined;
      return "there";
    }
    // Of the one before no one told the end. It was on a server that died, and must not make the node look present for ever.
    if (movedAt === undefined || now - movedAt <= RENEWAL_MS_MAX) return "there";
    this.#nodes.delete(nodeId);
    return "gone";
  }

  has(nodeId: string): boolean {
    return this.#nodes.has(nodeId);
  }

  /**
   * When the node came by its newest connection, while the one before has not been heard to end: it renews its credentials,
   * or it lost the server it was on.
   */
  movedAt(nodeId: string): number | undefined {
    return this.#nodes.get(nodeId)?.movedAt;
  }

  /** The connection that it had before; undefined for a node that was not seen to connect. */
  movedFrom(nodeId: string): string | undefined {
    return this.#nodes.get(nodeId)?.movedFrom;
  }

  /** The newest of its connections; undefined for a node that was not seen to connect. */
  connectionOf(nodeId: string): string | undefined {
    return [...(this.#nodes.get(nodeId)?.connections ?? [])].at(-1);
  }

  /** Forgets everyone. */
  clear(): void {
    this.#nodes.clear();
  }
}
