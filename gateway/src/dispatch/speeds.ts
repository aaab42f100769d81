/**
 * How fast nodes are, as the gateways measure them: time to first token and tokens per second, each a moving median of a
 * node's last answers for a model, whichever gateway they went through. Nothing a node says of itself counts.
 */
import { z } from "zod";
import type { Topic } from "./exchange/topic.ts";

interface Speed {
  /** When the answer ended, in monotonic milliseconds. */
  at: number;
  /** From the offer to the first output. */
  ttftMs: number;
  /** The same for each token of its prompt; absent where the prompt's length is not known. */
  ttftMsPerToken?: number | undefined;
  /** Null for an answer too short to tell. */
  tokensPerSecond: number | null;
}

export interface MedianSpeed {
  readonly ttftMs: number | null;
  /** For each token of the prompt; absent where no prompt's length is known. */
  readonly ttftMsPerToken?: number | null;
  readonly tokensPerSecond: number | null;
}

interface Measured {
  samples: Speed[];
  /** Undefined once there is another sample: whoever chooses a node asks for the medians of four. */
  median: MedianSpeed | undefined;
}

const UNMEASURED: MedianSpeed = { ttftMs: null, tokensPerSecond: null };

const SAMPLES_MAX = 31;

/** An answer's speed as gateways tell each other of it. */
const ToldSpeed = z.object({
  model: z.string(),
  at: z.number(),
  ttftMs: z.number().nonnegative(),
  /** Gateways of the last release do not tell it. */
  ttftMsPerToken: z.number().nonnegative().optional(),
  tokensPerSecond: z.number().nonnegative().nullable(),
});
type ToldSpeed = z.infer<typeof ToldSpeed>;

export class Speeds {
  readonly #samples = new Map<string, Map<string, Measured>>();

  note(nodeId: string, model: string, speed: Speed): void {
    const models = this.#samples.get(nodeId) ?? new Map<string, Measured>();
    const measured = models.get(model) ?? { samples: [], median: undefined };
    const { samples } = measured;
    // By time, so that gateways that hear of them in another order keep the same.
    samples.splice(samples.findLastIndex(({ at }) => at <= speed.at) + 1, 0, speed);
    if (samples.length > SAMPLES_MAX) samples.shift();
    measured.median = undefined;
    models.set(model, measured);
    this.#samples.set(nodeId, models);
  }

  /** What other gateways measured counts as if it had been here, of nodes that are connected here. */
  topic(isConnected: (nodeId: string) => boolean): Topic<ToldSpeed> {
    return {
      name: "speeds",
      itemsMax: SAMPLES_MAX,
      item: ToldSpeed,
      hear: (nodeId, told, { shiftMs, isHeld }) => {
        if (!isConnected(nodeId)) return;
        // Each of the others holds about the same: the first to answer fills what is empty.
        const known = new Set(isHeld ? this.#samples.get(nodeId)?.keys() : []);
        for (const { model, at, ...speed } of told) {
          if (!known.has(model)) this.note(nodeId, model, { at: at + shiftMs, ...speed });
        }
      },
      held: (nodeId) =>
        [...(this.#samples.get(nodeId) ?? [])].flatMap(([model, { samples }]) =>
          samples.map((speed) => ({ model, ...speed })),
        ),
    };
  }

  ofNode(nodeId: string, model: string): MedianSpeed {
    const measured = this.#samples.get(nodeId)?.get(model);
    if (measured === undefined) return UNMEASURED;
    measured.median ??= {
      ttftMs: median(measured.samples.map(({ ttftMs }) => ttftMs)),
      ttftMsPerToken: median(measured.samples.map(({ ttftMsPerToken }) => ttftMsPerToken ?? null)),
      tokensPerSecond: median(measured.samples.map(({ tokensPerSecond }) => tokensPerSecond)),
    };
    return measured.median;
  }

  /** The median over these nodes' own medians; null where none of them was measured. */
  ofModel(nodeIds: string[], model: string): MedianSpeed {
    const nodes = nodeIds.map((id) => this.ofNode(id, model));
    return {
      ttftMs: median(nodes.map(({ ttftMs }) => ttftMs)),
      ttftMsPerToken: median(nodes.map(({ ttftMsPerToken }) => ttftMsPerToken ?? null)),
      tokensPerSecond: median(nodes.map(({ tokensPerSecond }) => tokensPerSecond)),
    };
  }

  /** The node has left; should it come back, it is measured anew. */
  forget(nodeId: string): void {
    this.#samples.delete(nodeId);
  }
}

export function median(values: (number | null)[]): number | null {
  const known = values.filter((value) => value !== null).sort((a, b) => a - b);
  const middle = Math.floor(known.length / 2);
  const [low, high] = [known[middle - 1], known[middle]];
  if (high === undefined) return null;
  return known.length % 2 === 1 || low === undefined ? high : (low + high) / 2;
}
