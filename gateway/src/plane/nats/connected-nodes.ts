/**
 * The connected nodes, by the servers' events and the nodes' own messages. A node that renews its credentials has two connections for a
 * moment and is gone when both have ended. A server that dies reports no ends; its nodes are noticed when they connect to another. Pure;
 * times are monotonic milliseconds.
 */

/** The most connections of an agent. */
const CONNECTIONS_MAX = 2;
/** By then an agent that renews has closed its older connection. */
const RENEWAL_MS_MAX = 10_000;

interface Connected {
  /** Oldest first; empty for a node that sent messages but was not seen to connect. */
  connections: Set<string>;
  /** When the newest connection began, if the end of the former one has not been reported. */
  movedAt: number | undefined;
  /** The former connection. */
  movedFrom: string | undefined;
}

export class ConnectedNodes {
  readonly #nodes = new Map<string, Connected>();

  /** The node sent a message. */
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
   * Returns whether the node is gone. If it was not seen to connect, it may have another connection: it counts as absent until it sends a
   * message.
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
      // The older connection ended, so the node has renewed its credentials.
      known.movedAt = undefined;
      return "there";
    }
    // The end of the former connection was never reported, because its server died. It must not keep the node present forever.
    if (movedAt === undefined || now - movedAt <= RENEWAL_MS_MAX) return "there";
    this.#nodes.delete(nodeId);
    return "gone";
  }

  has(nodeId: string): boolean {
    return this.#nodes.has(nodeId);
  }

  /**
   * When the newest connection began, while the end of the former one has not been reported: the node renews its credentials, or it lost
   * its server.
   */
  movedAt(nodeId: string): number | undefined {
    return this.#nodes.get(nodeId)?.movedAt;
  }

  /** The former connection; undefined for a node that was not seen to connect. */
  movedFrom(nodeId: string): string | undefined {
    return this.#nodes.get(nodeId)?.movedFrom;
  }

  /** The newest connection; undefined for a node that was not seen to connect. */
  connectionOf(nodeId: string): string | undefined {
    return [...(this.#nodes.get(nodeId)?.connections ?? [])].at(-1);
  }

  /** Forgets all nodes. */
  clear(): void {
    this.#nodes.clear();
  }
}
