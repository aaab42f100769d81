/** The models as the console shows them, and what a chat request would hold before it is sent. */
import { type modelRoutes, QuoteFields } from "@tollgate/api/console/models.ts";
import { exactMicro } from "../../base/money.ts";
import type { Endpoint } from "../../inference/endpoint.ts";
import type { Gateway } from "../../inference/gateway.ts";
import { quote } from "../../inference/quote.ts";
import { parseFields } from "../fields.ts";
import { whole } from "../lists/pages.ts";
import { factsOf } from "../openai/catalogue.ts";
import { chat } from "../openai/chat.ts";
import type { Parts } from "../parts.ts";
import type { Handlers } from "../routes.ts";

/** Reads a chat request by these fields alone. */
export const quoteEndpoint: Endpoint = {
  ...chat,
  schema: "quote",
  parse: (body) => chat.parse(parseFields(QuoteFields, body)),
};

export function modelHandlers(
  parts: Pick<Parts, "catalogue" | "nodes"> & { gateway: Pick<Gateway, "catalogue" | "meter" | "reader"> },
): Handlers<typeof modelRoutes> {
  const { catalogue, nodes, gateway } = parts;
  return {
    async listLiveModels() {
      const data = catalogue().entries.map((entry) => ({
        id: entry.id,
        object: "model" as const,
        kind: entry.kind,
        reasoning: entry.build?.reasoning !== undefined,
        ...factsOf(entry, nodes.speedOf(entry.id)),
        ...nodes.capacityOf(entry.id),
        structured_output: entry.kind === "generation" && nodes.keepsFormat(entry.id),
      }));
      return whole(data);
    },

    async quoteChat({ account, call }) {
      const asked = { endpoint: quoteEndpoint, call, payer: account.id };
      const { model, promptTokens, outputTokensMax, hold } = await quote(gateway, asked);
      return {
        object: "quote",
        model,
        prompt_tokens: promptTokens,
        output_tokens_max: outputTokensMax,
        hold_micro: exactMicro(hold),
      };
    },
  };
}
