/** The state of each node's checks, by node and model: a good record with one model proves nothing about another. */
import { drawNextCheckTimeMs } from "./sampling.ts";

/** The state of one model on a node that this gateway sends requests to. */
interface Watched {
  /** Answers since the last recorded check. */
  answers: number;
  suspected: boolean;
  pressed: boolean;
  dueAt: number;
}

export class WatchedNodes {
  readonly #watched = new Map<string, Map<string, Watched>>();
  /** Uniform in [0, 1). */
  readonly #roll: () => number;

  constructor(roll: () => number) {
    this.#roll = roll;
  }

  watch(nodeId: string, model: string, now: number): Watched {
    let models = this.#watched.get(nodeId);
    if (models === undefined) {
      models = new Map();
      this.#watched.set(nodeId, models);
    }
    const known = models.get(model);
    if (known !== undefined) return known;
    const watched = { answers: 0, suspected: false, pressed: false, dueAt: drawNextCheckTimeMs(now, this.#roll()) };
    models.set(model, watched);
    return watched;
  }

  /** Whether there is strong evidence against the node with any model. */
  isPressed(nodeId: string): boolean {
    return (
      this.#watched
        .get(nodeId)
        ?.values()
        .some(({ pressed }) => pressed) ?? false
    );
  }
}
