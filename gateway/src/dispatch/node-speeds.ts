/**
 * The nodes' speeds as the gateways measure them: time to first token and tokens per second. Each is a moving median of
 * a node's recent answers for a model, through any gateway. Nodes' own reports do not count.
 */
import type { PeerTopic } from "./exchange/peer-topic.ts";

interface Speed {
  /** The time when the answer ended, in monotonic milliseconds. */
  at: number;
  /** The milliseconds from the offer to the first output. */
  ttftMs: number;
  /** The time to first token per prompt token; undefined if the prompt's length is not known. */
  ttftMsPerToken?: number | undefined;
  /** Null if the answer is too short to be measured. */
  tokensPerSecond: number | null;
}

export interface MedianSpeed {
  readonly ttftMs: number | null;
  /** The time to first token per prompt token; undefined if no prompt's length is known. */
  readonly ttftMsPerToken?: number | null;
  readonly tokensPerSecond: number | null;
}

interface Measured {
  samples: Speed[];
  /** The medians that were needed since the last sample. Each choice of a node compares those of four nodes. */
  medians: Partial<Record<Figure, number | null>>;
}

type Figure = "ttftMs" | "ttftMsPerToken" | "tokensPerSecond";

const UNMEASURED: MedianSpeed = { ttftMs: null, tokensPerSecond: null };

const SAMPLES_MAX = 31;
/**
 * The most samples of a node in one message. Messages are sent four times a second, so a median changes hardly with more,
 * and each costs every other gateway time.
 */
const TOLD_SAMPLES_MAX = 4;

/** The speed of one answer, as gateways report it to each other. */
interface ToldSpeed extends Speed {
  model: string;
}

function parseToldSpeed(told: unknown): ToldSpeed | undefined {
  if (typeof told !== "object" || told === null) return undefined;
  const { model, at, ttftMs, ttftMsPerToken, tokensPerSecond } = told as Record<keyof ToldSpeed, unknown>;
  // Gateways of the previous release do not send `ttftMsPerToken`.
  const isValid =
    typeof model === "string" &&
    Number.isFinite(at) &&
    isAmount(ttftMs) &&
    (ttftMsPerToken === undefined || isAmount(ttftMsPerToken)) &&
    (tokensPerSecond === null || isAmount(tokensPerSecond));
  return isValid ? ({ model, at, ttftMs, ttftMsPerToken, tokensPerSecond } as ToldSpeed) : undefined;
}

const isAmount = (told: unknown): boolean => Number.isFinite(told) && (told as number) >= 0;

export class NodeSpeeds {
  readonly #samples = new Map<string, Map<string, Measured>>();

  note(nodeId: string, model: string, speed: Speed): void {
    const models = this.#samples.get(nodeId) ?? new Map<string, Measured>();
    const measured = models.get(model) ?? { samples: [], medians: {} };
    const { samples } = measured;
    // Sorted by time, so that all gateways keep the same samples, in whatever order they receive them.
    samples.splice(samples.findLastIndex(({ at }) => at <= speed.at) + 1, 0, speed);
    if (samples.length > SAMPLES_MAX) samples.shift();
    measured.medians = {};
    models.set(model, measured);
    this.#samples.set(nodeId, models);
  }

  /**
   * The exchange of samples between gateways. Other gateways' samples count like this gateway's own, for nodes that are
   * connected here.
   */
  topic(isConnected: (nodeId: string) => boolean): PeerTopic<ToldSpeed> {
    return {
      name: "speeds",
      itemsMax: TOLD_SAMPLES_MAX,
      parse: parseToldSpeed,
      hear: (nodeId, told, { shiftMs, isHeld }) => {
        if (!isConnected(nodeId)) return;
        // All gateways have about the same samples. So of their answers to a request for records, only the first is
        // used for each model.
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
    return {
      ttftMs: medianOf(measured, "ttftMs"),
      ttftMsPerToken: medianOf(measured, "ttftMsPerToken"),
      tokensPerSecond: medianOf(measured, "tokensPerSecond"),
    };
  }

  /** The node's median time to first token in milliseconds. Each choice of a node needs it, but no other figure. */
  ttftMsOf(nodeId: string, model: string): number | null {
    const measured = this.#samples.get(nodeId)?.get(model);
    return measured === undefined ? null : medianOf(measured, "ttftMs");
  }

  /** The median of the nodes' medians; null if none was measured. */
  ofModel(nodeIds: string[], model: string): MedianSpeed {
    const nodes = nodeIds.map((id) => this.ofNode(id, model));
    return {
      ttftMs: computeMedian(nodes.map(({ ttftMs }) => ttftMs)),
      ttftMsPerToken: computeMedian(nodes.map(({ ttftMsPerToken }) => ttftMsPerToken ?? null)),
      tokensPerSecond: computeMedian(nodes.map(({ tokensPerSecond }) => tokensPerSecond)),
    };
  }

  /** Drops the samples of a node that left. It is measured again if it returns. */
  forget(nodeId: string): void {
    this.#samples.delete(nodeId);
  }
}

function medianOf({ medians, samples }: Measured, figure: Figure): number | null {
  const known = medians[figure];
  if (known !== undefined) return known;
  const found = computeMedian(samples.map((sample) => sample[figure] ?? null));
  medians[figure] = found;
  return found;
}

export function computeMedian(values: (number | null)[]): number | null {
  const known = values.filter((value) => value !== null).sort((a, b) => a - b);
  const middle = Math.floor(known.length / 2);
  const [low, high] = [known[middle - 1], known[middle]];
  if (high === undefined) return null;
  return known.length % 2 === 1 || low === undefined ? high : (low + high) / 2;
}
