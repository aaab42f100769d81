/**
 * The nodes that left recently. For a minute they still count towards a model's request limit, so that a short drop of the fleet does not
 * reject requests. Nodes that the plane lost are expected back at once, and requests wait for them.
 */
import type { Clock } from "../base/clock.ts";

const REMEMBERED_MS = 60_000;
/** After an outage nodes are asked for their state, or connect to another server. */
const EXPECTED_MS = 2_000;

interface Remembered<Node> {
  node: Node;
  until: number;
  expectedUntil: number;
  /** The plane was unreachable, and no listener has been notified that the node is gone. */
  away: boolean;
}

export class NodeMemory<Node extends { id: string }> {
  readonly #clock: Clock;
  readonly #nodes = new Map<string, Remembered<Node>>();
  readonly #changed: () => void;
  #stopTimer = (): void => {};

  /** Calls `changed` when expected nodes did not come back. */
  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  /** A single node left. */
  left(node: Node, by: "node" | "plane"): void {
    const now = this.#clock.monotonic();
    const expectedUntil = by === "plane" ? now + EXPECTED_MS : now;
    this.#nodes.set(node.id, { node, until: now + REMEMBERED_MS, expectedUntil, away: false });
    if (by === "plane") this.#lookLater();
  }

  /** All nodes left because the plane is unreachable. */
  away(nodes: Node[]): void {
    const until = this.#clock.monotonic() + REMEMBERED_MS;
    for (const node of nodes) this.#nodes.set(node.id, { node, until, expectedUntil: until, away: true });
  }

  back(): void {
    const expectedUntil = this.#clock.monotonic() + EXPECTED_MS;
    for (const remembered of this.#nodes.values()) {
      if (remembered.expectedUntil > expectedUntil) remembered.expectedUntil = expectedUntil;
    }
    this.#lookLater();
  }

  /** Removes a node that reconnected, or that may not reconnect any more. */
  take(id: string): Pick<Remembered<Node>, "node" | "away"> | undefined {
    const remembered = this.#nodes.get(id);
    this.#nodes.delete(id);
    return remembered;
  }

  all(): Node[] {
    const now = this.#clock.monotonic();
    return [...this.#nodes.values()].flatMap(({ node, until }) => (until > now ? [node] : []));
  }

  expected(): Node[] {
    if (this.#nodes.size === 0) return [];
    const now = this.#clock.monotonic();
    return [...this.#nodes.values()].flatMap(({ node, expectedUntil }) => (expectedUntil > now ? [node] : []));
  }

  /** Forgets nodes after their minute. Returns those whose end was not announced yet. */
  expire(): string[] {
    const now = this.#clock.monotonic();
    const over = [...this.#nodes.values()].filter(({ until }) => until <= now);
    for (const { node } of over) this.#nodes.delete(node.id);
    return over.flatMap(({ node, away }) => (away ? [node.id] : []));
  }

  close(): void {
    this.#stopTimer();
  }

  #lookLater(): void {
    this.#stopTimer();
    this.#stopTimer = this.#clock.after(EXPECTED_MS, this.#changed);
  }
}
