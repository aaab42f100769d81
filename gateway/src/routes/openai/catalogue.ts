/** GET /v1/models, GET /v1/models/{id} and GET /v1/catalog/rates: the model catalogue in two formats. */
import type { publicRoutes } from "@tollgate/api/public/routes.ts";
import type { ResponseJsonOf } from "@tollgate/api/route-declaration.ts";
import { HOST_SHARE_PERCENT } from "../../base/money.ts";
import type { MedianSpeed } from "../../dispatch/node-speeds.ts";
import type { CatalogueEntry } from "../../metering/catalogue.ts";

/** The host's share of each charge, as published in the rates. */
const PAYOUT_SHARE = HOST_SHARE_PERCENT / 100;

/** The current state of the models: measured on connected nodes, and allowed by the API key. */
interface Live {
  /** The models that the key may use; null for all models. */
  allowed: readonly string[] | null;
  speedOf: (model: string) => MedianSpeed;
  keepsFormat: (model: string) => boolean;
}

export function renderModelList(entries: CatalogueEntry[], live: Live): string {
  const list: ResponseJsonOf<typeof publicRoutes.listModels> = {
    object: "list",
    data: entries.map((entry) => modelObject(entry, live)),
  };
  return JSON.stringify(list);
}

export function modelObject(
  entry: CatalogueEntry,
  { speedOf, keepsFormat, allowed }: Live,
): ResponseJsonOf<typeof publicRoutes.retrieveModel> {
  const { id, kind } = entry;
  return {
    id,
    object: "model",
    created: Date.parse(entry.listed) / 1000,
    owned_by: "tollgate",
    vendor: {
      kind,
      ...modelDetailsObject(entry, speedOf(id)),
      // Embedding models have no output format, even if their nodes report one.
      structured_output: kind === "generation" && keepsFormat(id),
      ...(allowed !== null && !allowed.includes(id) && { allowed: false as const }),
    },
  };
}

/** A model's catalogue data and its nodes' current speed. */
export function modelDetailsObject(entry: CatalogueEntry, { ttftMs, tokensPerSecond }: MedianSpeed) {
  return {
    class: entry.class,
    quant_label: entry.quant_label,
    context_limit: entry.context_limit,
    price_in_micro_1m: entry.price_in_micro_1m,
    price_out_micro_1m: entry.price_out_micro_1m,
    status: entry.status,
    ttft_p50_ms: ttftMs === null ? null : Math.round(ttftMs),
    tps_p50: tokensPerSecond === null ? null : Math.round(tokensPerSecond * 10) / 10,
  };
}

export function renderRateSheet(entries: CatalogueEntry[]): string {
  const sheet: ResponseJsonOf<typeof publicRoutes.listRates> = {
    object: "list",
    payout_share: PAYOUT_SHARE,
    data: entries.map((entry) => {
      const separate = entry.build?.reasoning !== undefined;
      return {
        sku_id: entry.id,
        class: entry.class,
        quant_label: entry.quant_label,
        context_limit: entry.context_limit,
        price_in_micro_1m: entry.price_in_micro_1m,
        price_out_micro_1m: entry.price_out_micro_1m,
        status: entry.status,
        reasoning: {
          separate,
          billed_as: separate ? "output" : null,
          field: separate ? "vendor_reasoning_content" : null,
        },
      };
    }),
  };
  return JSON.stringify(sheet);
}
