/**
 * The speed of nodes as the gateways measure it: time to first token and tokens per second, each as a moving median of a node's recent
 * answers for a model, through any gateway. A node's own reports do not count.
 */
import { z } from "zod";
import type { Topic } from "./exchange/topic.ts";

interface Speed {
  /** When the answer ended, in monotonic milliseconds. */
  at: number;
  /** From the offer to the first output. */
  ttftMs: number;
  /** The time to first token per prompt token; absent when the prompt's length is not known. */
  ttftMsPerToken?: number | undefined;
  /** Null for an answer that is too short to measure. */
  tokensPerSecond: number | null;
}

export interface MedianSpeed {
  readonly ttftMs: number | null;
  /** Per prompt token; absent when no prompt's length is known. */
  readonly ttftMsPerToken?: number | null;
  readonly tokensPerSecond: number | null;
}

interface Measured {
  samples: Speed[];
  /** Cached until the next sample, because each choice of a node compares four medians. */
  median: MedianSpeed | undefined;
}

const UNMEASURED: MedianSpeed = { ttftMs: null, tokensPerSecond: null };

const SAMPLES_MAX = 31;

/** An answer's speed, as gateways report it to each other. */
const ToldSpeed = z.object({
  model: z.string(),
  at: z.number(),
  ttftMs: z.number().nonnegative(),
  /** Gateways of the last release do not send it. */
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
    // Sorted by time, so that gateways that receive samples in another order keep the same ones.
    samples.splice(samples.findLastIndex(({ at }) => at <= speed.at) + 1, 0, speed);
    if (samples.length > SAMPLES_MAX) samples.shift();
    measured.median = undefined;
    models.set(model, measured);
    this.#samples.set(nodeId, models);
  }

  /** Samples of other gateways count like our own, for nodes that are connected here. */
  topic(isConnected: (nodeId: string) => boolean): Topic<ToldSpeed> {
    return {
      name: "speeds",
      itemsMax: SAMPLES_MAX,
      item: ToldSpeed,
      hear: (nodeId, told, { shiftMs, isHeld }) => {
        if (!isConnected(nodeId)) return;
        // All gateways hold about the same samples, so only the first answer fills an empty record.
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

  /** The median of these nodes' medians; null when none was measured. */
  ofModel(nodeIds: string[], model: string): MedianSpeed {
    const nodes = nodeIds.map((id) => this.ofNode(id, model));
    return {
      ttftMs: median(nodes.map(({ ttftMs }) => ttftMs)),
      ttftMsPerToken: median(nodes.map(({ ttftMsPerToken }) => ttftMsPerToken ?? null)),
      tokensPerSecond: median(nodes.map(({ tokensPerSecond }) => tokensPerSecond)),
    };
  }

  /** The node has left; if it returns, it is measured again. */
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
