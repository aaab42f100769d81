/**
 * Nodes that left recently. For a minute their slots still count towards the models' request limits, so that a short
 * loss of many nodes does not reject requests. Nodes that the dispatch plane lost are expected to return soon, and
 * requests wait for them.
 */
import type { Clock } from "../base/clock.ts";

const REMEMBERED_MS = 60_000;
/** How long after an outage a node may take to report, or to connect to another server. */
const EXPECTED_MS = 2_000;

interface Remembered<Node> {
  node: Node;
  until: number;
  expectedUntil: number;
  /**
   * Whether the node only seems to have left, because the dispatch plane became unreachable. Listeners are notified
   * later, and only if the node has not returned by then.
   */
  away: boolean;
}

export class RecentlyDepartedNodes<Node extends { id: string }> {
  readonly #clock: Clock;
  readonly #nodes = new Map<string, Remembered<Node>>();
  readonly #changed: () => void;
  #stopTimer = (): void => {};

  /** `changed` is called if expected nodes did not return. */
  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  /** Remembers a single node that left. */
  left(node: Node, by: "node" | "plane"): void {
    const now = this.#clock.monotonic();
    const expectedUntil = by === "plane" ? now + EXPECTED_MS : now;
    this.#nodes.set(node.id, { node, until: now + REMEMBERED_MS, expectedUntil, away: false });
    if (by === "plane") this.#lookLater();
  }

  /** Remembers all nodes, because the dispatch plane became unreachable. */
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

  /** Removes a node from memory, because it reconnected or is no longer allowed to. */
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

  /** Drops nodes that left more than a minute ago. Returns those of which listeners were not notified yet. */
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
