/**
 * The nodes that left lately. For a minute they still count for how many requests a model may have: a fleet that drops for a
 * moment must not turn everyone away. Those that the plane lost, and not they it, are expected back at once: whoever waits
 * for a node waits for them.
 */
import type { Clock } from "../base/clock.ts";

const REMEMBERED_MS = 60_000;
/** After an outage nodes are asked for their state, or connect to another server. */
const EXPECTED_MS = 2_000;

interface Remembered<Node> {
  node: Node;
  until: number;
  expectedUntil: number;
  /** The plane was unreachable: no one was told that the node is gone. */
  away: boolean;
}

export class NodeMemory<Node extends { id: string }> {
  readonly #clock: Clock;
  readonly #nodes = new Map<string, Remembered<Node>>();
  readonly #changed: () => void;
  #stopTimer = (): void => {};

  /** `changed` runs when nodes that were expected did not come. */
  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  /** A node left alone. */
  left(node: Node, by: "node" | "plane"): void {
    const now = this.#clock.monotonic();
    const expectedUntil = by === "plane" ? now + EXPECTED_MS : now;
    this.#nodes.set(node.id, { node, until: now + REMEMBERED_MS, expectedUntil, away: false });
    if (by === "plane") this.#lookLater();
  }

  /** All of them left, because the plane is unreachable. */
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

  /** The node is connected again, or must not be any more. */
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

  /** Forgets those whose minute is over; says who of them was never told to be gone. */
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
