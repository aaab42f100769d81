/** Demand, supply and estimated earnings per model for hosts. Figures never reveal a single builder or host. */
import type { MarketModel, Market as MarketShown } from "@tollgate/api/nodes/node-activity.ts";
import type { z } from "zod";
import { publicId, type Uuid } from "../../base/ids.ts";
import { formatExactMicrodollars, HOST_SHARE_PERCENT, pico } from "../../base/money.ts";
import type { Node } from "../../fleet/fleet.ts";
import {
  computeHourlySlotEarnings,
  computeMeanHourlyEarnings,
  type ModelTokensAndBusyTime,
} from "../../history/model-market.ts";
import type { HistoryServices } from "../../history/services.ts";
import { singlePage } from "../../http/lists/list-pages.ts";
import type { WithOptionalTime } from "../../http/serve-routes.ts";
import type { InferenceServices } from "../../inference/services.ts";
import type { CatalogueEntry } from "../../metering/catalogue.ts";
import { roundToTenth } from "./node-stats.ts";
import type { NodeServices } from "./services.ts";

export type MarketDependencies = Pick<HistoryServices, "market"> &
  Pick<InferenceServices, "catalogue"> &
  Pick<NodeServices, "nodes" | "fleet">;

/** The market for a host. The estimate uses the speeds and slots of `node`, a node of `accountId`. */
export async function readMarketForHost(
  { market, catalogue, nodes, fleet }: MarketDependencies,
  accountId: Uuid,
  node: Node | undefined,
): Promise<WithOptionalTime<z.input<typeof MarketShown>>> {
  const { entries, active } = catalogue();
  const [models, own, elected] = await Promise.all([
    market.models(),
    node === undefined ? [] : market.workOf(node.id),
    node === undefined ? fleet.electedBy(accountId) : node.models,
  ]);
  const slots = node === undefined ? null : (nodes.find(publicId("node", node.id))?.slots ?? null);
  const rowOf = (entry: CatalogueEntry): z.input<typeof MarketModel> => {
    const { id: model, kind, price_in_micro_1m, price_out_micro_1m } = entry;
    const everybody = models.get(model);
    const byNode = own.find((work) => work.model === model && work.busyMs > 0);
    const work = byNode ?? everybody?.work;
    const prices = { in: BigInt(price_in_micro_1m ?? 0), out: BigInt(price_out_micro_1m ?? 0) };
    const hour =
      work === undefined ? null : computeHourlySlotEarnings(work, { ...prices, sharePercent: HOST_SHARE_PERCENT });
    const mean = everybody === undefined ? null : computeMeanHourlyEarnings(everybody, accountId);
    return {
      ...{ model, kind, price_in_micro_1m, price_out_micro_1m },
      tokens_per_hour_24h: twoDigits(everybody?.hourTokens24h ?? 0),
      tokens_per_hour_7d: twoDigits(everybody?.hourTokens7d ?? 0),
      waiting: nodes.waitingFor(model),
      ...nodes.capacityOf(model),
      elected: elected.includes(model),
      speed: work === undefined ? null : speedOf(work, byNode === undefined ? "model" : "node"),
      slot_hour_micro: hour === null ? null : formatExactMicrodollars(hour),
      node_hour_micro: hour === null || slots === null ? null : formatExactMicrodollars(pico(hour * BigInt(slots))),
      mean_hour_micro: mean === null ? null : formatExactMicrodollars(mean),
    };
  };
  const data = entries.filter(({ id }) => active.has(id)).map(rowOf);
  return { ...singlePage(data), share_percent: HOST_SHARE_PERCENT, slots };
}

function speedOf({ promptTokens, completionTokens, busyMs }: ModelTokensAndBusyTime, of: "node" | "model") {
  if (busyMs <= 0) return null;
  const perSecond = (tokens: number): number => roundToTenth((tokens * 1000) / busyMs) ?? 0;
  return { of, prompt_tokens_per_s: perSecond(promptTokens), completion_tokens_per_s: perSecond(completionTokens) };
}

/** Two digits are enough to choose a model by, and too few to follow one builder's use. */
const twoDigits = (value: number): number => (value < 1 ? 0 : Number(value.toPrecision(2)));
