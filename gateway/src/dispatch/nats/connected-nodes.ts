/**
 * Which nodes are connected, as the servers' events and the nodes' own words tell. A node that renews its credentials has
 * two connections for a moment and is gone only when the last of them is. Pure.
 */

/**
 * An agent holds no more than two. An older one of which no end was heard was on a server that died, and must not make the
 * node look present for ever.
 */
const CONNECTIONS_MAX = 2;

export class ConnectedNodes {
  /** Connections oldest first; none for a node that was heard but not seen to connect. */
  readonly #nodes = new Map<string, Set<string>>();

  /** The node said something. */
  heard(nodeId: string): void {
    if (!this.#nodes.has(nodeId)) this.#nodes.set(nodeId, new Set());
  }

  connected(nodeId: string, connection: string): void {
    const connections = this.#nodes.get(nodeId) ?? new Set();
    this.#nodes.set(nodeId, connections.add(connection));
    if (connections.size <= CONNECTIONS_MAX) return;
    const [oldest] = connections;
    if (oldest !== undefined) connections.delete(oldest);
  }

  /** Says whether the node is gone with it. */
  disconnected(nodeId: string, connection: string): boolean {
    const connections = this.#nodes.get(nodeId);
    connections?.delete(connection);
    if (connections !== undefined && connections.size > 0) return false;
    return this.#nodes.delete(nodeId);
  }

  /** Forgets everybody, and says who that was. */
  clear(): string[] {
    const nodes = [...this.#nodes.keys()];
    this.#nodes.clear();
    return nodes;
  }
}
