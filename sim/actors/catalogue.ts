/** The catalogue of models in the simulated world. Every reload changes all prices and the version of the prices. */
import { type Catalogue, parseCatalogue } from "../../gateway/src/metering/catalogue.ts";

interface Prices {
  in: bigint;
  out: bigint;
}

const CONTEXT = 8192;
const VERSIONS = 7;
export const THINKING_MODEL = "reason-32b";
export const EMBEDDING_MODEL = "embed-m3";
export const THINKING_TAGS = { open: "<think>", close: "</think>" };
export const VECTOR_WIDTH = 64;

interface Traits {
  class: string;
  prices: [least: number, most: number];
  /** Whether gateways send the model's nodes canaries (questions with known answers). */
  asksCanaries?: boolean;
}

const MODELS: Record<string, Traits> = {
  "tiny-3b": { class: "tiny", prices: [20_000, 40_000], asksCanaries: true },
  "small-8b": { class: "small", prices: [30_000, 70_000] },
  [THINKING_MODEL]: { class: "reasoning", prices: [90_000, 300_000] },
  [EMBEDDING_MODEL]: { class: "embed", prices: [10_000, 0], asksCanaries: true },
};

/** Returns a model's prices in picodollars per token, as the catalogue publishes them. */
export function computePrices(model: string, version: number): Prices {
  const [least, most] = (MODELS[model] as Traits).prices;
  const rise = 1_000 * (version - 1);
  return { in: BigInt(least + rise), out: model === EMBEDDING_MODEL ? 0n : BigInt(most + rise) };
}

function catalogueOf(version: number): Catalogue {
  const models = Object.entries(MODELS).map(([id, { class: of, asksCanaries = false }]) => {
    const prices = computePrices(id, version);
    const isEmbedding = id === EMBEDDING_MODEL;
    return {
      id,
      kind: isEmbedding ? "embedding" : "generation",
      class: of,
      quant_label: "4-bit",
      context_limit: CONTEXT,
      price_in_micro_1m: Number(prices.in),
      price_out_micro_1m: isEmbedding ? null : Number(prices.out),
      status: "active",
      listed: "2026-09-01",
      build: {
        id: `${id}-q4-1`,
        tokenizer: "llama3",
        licence: null,
        ...(id === THINKING_MODEL && { reasoning: THINKING_TAGS }),
        ...(isEmbedding && { vector_width: VECTOR_WIDTH }),
      },
      // Without a list, gateways use only canaries that they generate themselves; with an empty list they use none.
      ...(!asksCanaries && { canaries: [] }),
    };
  });
  return parseCatalogue(JSON.stringify({ price_version: version, models }), "simulated");
}

/** The catalogue in every version that a simulated world can reach by reloads. */
export const CATALOGUE_VERSIONS = Array.from({ length: VERSIONS }, (_, i) => catalogueOf(i + 1));
