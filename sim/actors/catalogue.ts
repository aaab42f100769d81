/** The models on offer in the simulated world. A reload changes every price, and with them the version. */
import { type Catalogue, parseCatalogue } from "../../gateway/src/metering/catalogue.ts";

interface Prices {
  in: bigint;
  out: bigint;
}

const CONTEXT = 8192;
const VERSIONS = 7;

/** Picodollars a token, as anybody may read them off the catalogue. */
export function pricesOf(model: string, version: number): Prices {
  const [least, most] = model === "tiny-3b" ? [20_000, 40_000] : [30_000, 70_000];
  return { in: BigInt(least + 1_000 * (version - 1)), out: BigInt(most + 1_000 * (version - 1)) };
}

function catalogueOf(version: number): Catalogue {
  const models = ["tiny-3b", "small-8b"].map((id) => {
    const prices = pricesOf(id, version);
    return {
      id,
      kind: "generation",
      class: id === "tiny-3b" ? "tiny" : "small",
      quant_label: "4-bit",
      context_limit: CONTEXT,
      price_in_micro_1m: Number(prices.in),
      price_out_micro_1m: Number(prices.out),
      status: "active",
      listed: "2026-09-01",
      build: { id: `${id}-q4-1`, tokenizer: "llama3", licence: null },
      canaries: [],
    };
  });
  return parseCatalogue(JSON.stringify({ price_version: version, models }), "simulated");
}

/** Every version that a world may come to. */
export const CATALOGUES = Array.from({ length: VERSIONS }, (_, i) => catalogueOf(i + 1));
