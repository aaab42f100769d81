/**
 * The dispatch plane as the gateway sees it: a broker that carries frames to nodes and back. Adapters: hub.ts (in
 * process, speaks the NATS protocol to agents) and a NATS server. Both are held to the same behaviour.
 */
export interface NodeCredentials {
  /** Where the agent connects: `nats://host:port`. */
  url: string;
  /** A NATS user JWT limited to the node's own subjects, and the nkey seed that proves its possession. */
  jwt: string;
  seed: string;
  /** Unix milliseconds. */
  expiresAt: number;
}

export interface Plane {
  publish(subject: string, payload: Uint8Array): void;
  /** Delivers every message whose subject matches `pattern` (`*` one token, a final `>` the rest). Returns the way out. */
  subscribe(pattern: string, receive: (subject: string, payload: Uint8Array) => void): () => void;
  /** `gone` runs when the plane knows that a node has no connection any more. */
  onNodeGone(gone: (nodeId: string) => void): void;
  mint(nodeId: string): Promise<NodeCredentials>;
  /** Refuses the node's credentials from now on and drops its connections. */
  revoke(nodeId: string): Promise<void>;
  close(): Promise<void>;
}
