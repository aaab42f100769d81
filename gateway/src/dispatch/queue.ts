/**
 * Waiting for a free node. First come, first served per model; a request leaves the queue with a node, at its deadline,
 * when its client goes away, or when no connected node serves its model any more.
 */
import type { Clock } from "../base/clock.ts";
import type { Roster, RosterNode } from "./roster.ts";

export type Turn = { kind: "node"; node: RosterNode } | { kind: "no_capacity" } | { kind: "cancelled" };

interface Waiting {
  excluded: ReadonlySet<string>;
  leave: (turn: Turn) => void;
}

interface QueueOptions {
  roster: Roster;
  clock: Clock;
  waitingMax: number;
  /** How soon a node answers for a model, where that was measured. */
  ttftMs: (nodeId: string, model: string) => number | null;
}

export class NodeQueue {
  readonly #roster: Roster;
  readonly #clock: Clock;
  readonly #waitingMax: number;
  readonly #ttftMs: QueueOptions["ttftMs"];
  readonly #waiting = new Map<string, Set<Waiting>>();

  constructor(options: QueueOptions) {
    this.#roster = options.roster;
    this.#clock = options.clock;
    this.#waitingMax = options.waitingMax;
    this.#ttftMs = options.ttftMs;
    this.#roster.onChange(() => this.#serve());
  }

  /** The node's slot is counted as taken when this resolves with one; give it back with `roster.ended`. */
  wait(model: string, order: { excluded: ReadonlySet<string>; deadline: number; signal: AbortSignal }): Promise<Turn> {
    const { excluded, deadline, signal } = order;
    if (signal.aborted) return Promise.resolve({ kind: "cancelled" });
    const line = this.#waiting.get(model) ?? new Set<Waiting>();
    if (line.size === 0) {
      const node = this.#take(model, excluded);
      if (node !== undefined) return Promise.resolve({ kind: "node", node });
    }
    if (!this.#roster.serves(model, excluded) || line.size >= this.#waitingMax)
      return Promise.resolve({ kind: "no_capacity" });
    this.#waiting.set(model, line);
    return new Promise((resolve) => {
      const leave = (turn: Turn): void => {
        line.delete(waiting);
        stopTimer();
        signal.removeEventListener("abort", onAbort);
        resolve(turn);
      };
      const onAbort = (): void => leave({ kind: "cancelled" });
      const waiting: Waiting = { excluded, leave };
      const stopTimer = this.#clock.after(deadline - this.#clock.monotonic(), () => leave({ kind: "no_capacity" }));
      signal.addEventListener("abort", onAbort);
      line.add(waiting);
    });
  }

  #serve(): void {
    for (const [model, line] of this.#waiting) {
      for (const waiting of [...line]) {
        const node = this.#take(model, waiting.excluded);
        if (node !== undefined) waiting.leave({ kind: "node", node });
        else if (!this.#roster.serves(model, waiting.excluded)) waiting.leave({ kind: "no_capacity" });
      }
      if (line.size === 0) this.#waiting.delete(model);
    }
  }

  #take(model: string, excluded: ReadonlySet<string>): RosterNode | undefined {
    const node = this.#roster.pick(model, excluded, (id) => this.#ttftMs(id, model));
    if (node !== undefined) this.#roster.sent(node);
    return node;
  }
}
