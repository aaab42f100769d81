/** The models that the console shows, and the hold that a chat request would need, calculated before it is sent. */
import { type modelRoutes, QuoteFields } from "@tollgate/api/console/models.ts";
import { formatExactMicrodollars } from "../../base/money.ts";
import { computeTimeSlots } from "../../history/performance-reader.ts";
import type { HistoryServices } from "../../history/services.ts";
import { singlePage } from "../../http/lists/list-pages.ts";
import { parseFields } from "../../http/parse-fields.ts";
import type { Handlers } from "../../http/serve-routes.ts";
import type { Endpoint } from "../../inference/endpoint.ts";
import { quoteRequest } from "../../inference/price-quote.ts";
import type { RequestPathDependencies } from "../../inference/request-path-dependencies.ts";
import type { InferenceServices } from "../../inference/services.ts";
import type { CatalogueEntry } from "../../metering/catalogue.ts";
import { measuredPerformanceObject, sumSamples } from "../measured-performance.ts";
import type { NodeServices } from "../nodes/services.ts";
import { modelDetailsObject } from "../openai/catalogue.ts";
import { chat } from "../openai/chat.ts";
import type { SiteServices } from "../services.ts";

/** A chat endpoint that reads only the fields on which the hold depends. */
export const priceQuoteEndpoint: Endpoint = {
  ...chat,
  schema: "quote",
  parse: (body) => chat.parse(parseFields(QuoteFields, body)),
};

export function modelHandlers(
  parts: Pick<InferenceServices, "catalogue"> &
    Pick<NodeServices, "nodes"> &
    Pick<HistoryServices, "performance" | "availability"> &
    Pick<SiteServices, "now"> & {
      gateway: Pick<RequestPathDependencies, "catalogue" | "meter" | "reader">;
    },
): Handlers<typeof modelRoutes> {
  const { catalogue, nodes, performance, availability, now, gateway } = parts;
  const liveOf = (entry: CatalogueEntry) => ({
    id: entry.id,
    object: "model" as const,
    kind: entry.kind,
    reasoning: entry.build?.reasoning !== undefined,
    ...modelDetailsObject(entry, nodes.speedOf(entry.id)),
    ...nodes.capacityOf(entry.id),
    // Embedding models have no output format, even if their nodes report one.
    structured_output: entry.kind === "generation" && nodes.keepsFormat(entry.id),
  });
  const find = (id: string): CatalogueEntry | undefined => catalogue().entries.find((entry) => entry.id === id);
  return {
    async listLiveModels() {
      return singlePage(catalogue().entries.map(liveOf));
    },

    async readModel({ params, refuse }) {
      const entry = find(params.id);
      if (entry === undefined) throw refuse("model_not_found");
      const { id, build } = entry;
      return {
        ...liveOf(entry),
        listed: entry.listed,
        build: build?.id ?? null,
        licence: build?.licence ?? null,
        tokenizer: build?.tokenizer ?? null,
        vector_width: build?.vector_width ?? null,
        waiting: nodes.waitingFor(id),
      };
    },

    async readModelPerformance({ params, query: { range, to }, refuse }) {
      const entry = find(params.id);
      if (entry === undefined) throw refuse("model_not_found");
      const slots = computeTimeSlots(range, now(), to);
      const asked = { ...slots, scope: "platform" as const, model: entry.id, percentilesOf: ["ttft"] as const };
      const [{ total, performed }, samples] = await Promise.all([
        performance.each(asked, { total: [], performed: ["slot"] }),
        availability.sums(slots, entry.id),
      ]);
      const starts: number[] = [];
      for (let at = slots.from.getTime(); at < slots.to.getTime(); at += slots.slotMs) starts.push(at);
      return {
        object: "model.performance",
        model: entry.id,
        range,
        total: measuredPerformanceObject(entry, { performance: total[0], samples: sumSamples(samples) }),
        slot_seconds: slots.slotMs / 1000,
        points: starts.map((at) => ({
          at: at / 1000,
          ...measuredPerformanceObject(entry, {
            performance: performed.find(({ slot }) => slot?.getTime() === at),
            samples: samples.find(({ slot }) => slot.getTime() === at),
          }),
        })),
      };
    },

    async quoteChat({ account, call }) {
      const asked = { endpoint: priceQuoteEndpoint, call, payer: account.id };
      const { model, promptTokens, outputTokensMax, hold } = await quoteRequest(gateway, asked);
      return {
        object: "quote",
        model,
        prompt_tokens: promptTokens,
        output_tokens_max: outputTokensMax,
        hold_micro: formatExactMicrodollars(hold),
      };
    },
  };
}
