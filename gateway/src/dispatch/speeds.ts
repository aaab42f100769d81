/**
 * How fast nodes are, as the gateway measures them: time to first token and tokens per second, each a moving median of a
 * node's last answers for a model. Nothing a node says of itself counts.
 */
interface Speed {
  /** From the offer to the first output. */
  ttftMs: number;
  /** Null for an answer too short to tell. */
  tokensPerSecond: number | null;
}

export interface MedianSpeed {
  ttftMs: number | null;
  tokensPerSecond: number | null;
}

const SAMPLES_MAX = 31;

export class Speeds {
  readonly #samples = new Map<string, Map<string, Speed[]>>();

  note(nodeId: string, model: string, speed: Speed): void {
    const models = this.#samples.get(nodeId) ?? new Map<string, Speed[]>();
    const samples = models.get(model) ?? [];
    samples.push(speed);
    if (samples.length > SAMPLES_MAX) samples.shift();
    models.set(model, samples);
    this.#samples.set(nodeId, models);
  }

  ofNode(nodeId: string, model: string): MedianSpeed {
    const samples = this.#samples.get(nodeId)?.get(model) ?? [];
    return {
      ttftMs: median(samples.map(({ ttftMs }) => ttftMs)),
      tokensPerSecond: median(samples.map(({ tokensPerSecond }) => tokensPerSecond)),
    };
  }

  /** The median over these nodes' own medians; null where none of them was measured. */
  ofModel(nodeIds: string[], model: string): MedianSpeed {
    const nodes = nodeIds.map((id) => this.ofNode(id, model));
    return {
      ttftMs: median(nodes.map(({ ttftMs }) => ttftMs)),
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
