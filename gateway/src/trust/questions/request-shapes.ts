/**
 * The shapes of recent user requests: endpoint, lengths, sampling options, whether there are stop strings and an output
 * format. Never text. Keeps the latest of each
 * model, so that a canary can imitate one. Without enough traffic, shapes follow the distribution that is usual for
 * chat services.
 */
import type { Endpoint, Sampling } from "@tollgate/protocol/frames.ts";
import type { Random } from "../../base/random.ts";
import type { FormatType } from "./json-answers.ts";
import { type RandomChoices, randomChoices } from "./random-choices.ts";

export interface RequestShape {
  endpoint: Endpoint;
  promptTokens: number;
  outputTokensMax: number;
  /** Without stop strings, because they are text. */
  sampling: Omit<Sampling, "stop">;
  /** The number of stop strings. */
  stops: number;
  /** The type of the output format. The schema is text of the user, so it is not kept. Null: none. */
  format: FormatType | null;
  stream: boolean;
  /** The number of texts of an embeddings request, otherwise 0. */
  texts: number;
}

/** The number of shapes kept per model. */
const KEPT = 64;
/** The least number of shapes for imitation. With fewer, a single builder would shape every canary. */
const KEPT_MIN = 16;

export class RecentRequestShapes {
  readonly #random: Random;
  readonly #draw: RandomChoices;
  readonly #kept = new Map<string, RequestShape[]>();

  constructor(random: Random) {
    this.#random = random;
    this.#draw = randomChoices(random);
  }

  /** Adds a shape. When the list is full, it replaces a random one. */
  note(model: string, { sampling, ...request }: RequestShape): void {
    const { endpoint, promptTokens, outputTokensMax, stops, format, stream, texts } = request;
    const { temperature, top_p, presence_penalty, frequency_penalty, seed } = sampling;
    const numbers = { temperature, top_p, presence_penalty, frequency_penalty, seed };
    const shape = { endpoint, promptTokens, outputTokensMax, sampling: numbers, stops, format, stream, texts };
    const kept = this.#kept.get(model) ?? [];
    if (kept.length === 0) this.#kept.set(model, kept);
    if (kept.length < KEPT) kept.push(shape);
    else kept[this.#random.below(KEPT)] = shape;
  }

  /** Returns a shape like those of the model's recent requests. */
  like(model: string): RequestShape {
    const kept = this.#kept.get(model) ?? [];
    return kept.length < KEPT_MIN ? pickUsualRequestShape(this.#draw) : this.#draw.pick(kept);
  }
}

/**
 * Usual prompt lengths: half of the prompts have under 220 tokens, one in forty over 2,000. The maximum keeps prompts
 * within what a node's engine can read in time.
 */
const MEDIAN_TOKENS = 220;
const TOKENS_MAX = 2500;
const SPREAD = 1.15;
const CAPS = [64, 100, 128, 200, 256, 256, 300, 400, 500, 512, 512, 800, 1000, 1024, 2048];
const TEMPERATURES = [undefined, undefined, undefined, 0, 0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.7, 0.7, 0.8, 1, 1];
const TEXTS = [1, 1, 2, 4, 8, 10, 16, 16, 20, 32, 50, 64];

export function pickUsualRequestShape(d: RandomChoices): RequestShape {
  return {
    endpoint: "chat",
    promptTokens: Math.min(TOKENS_MAX, Math.round(MEDIAN_TOKENS * Math.exp(SPREAD * d.normal()))),
    outputTokensMax: d.pick(CAPS),
    sampling: { temperature: d.pick(TEMPERATURES) },
    stops: 0,
    format: null,
    stream: d.percent(60),
    texts: d.pick(TEXTS),
  };
}
