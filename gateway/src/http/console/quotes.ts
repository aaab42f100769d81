/** What a chat request would hold before it is sent, for whoever writes one in the console. */
import type { Uuid } from "../../base/ids.ts";
import { exactMicro } from "../../base/money.ts";
import type { Endpoint } from "../../inference/endpoint.ts";
import type { Quote } from "../../inference/quote.ts";
import type { OpenCall } from "../door.ts";
import { parseFields } from "../fields.ts";
import { chat } from "../openai/chat.ts";
import { ChatRequest } from "../openai/fields.ts";
import type { ConsoleRoute, Guards } from "./guards.ts";

export interface QuoteRoutesOptions {
  quote: (call: OpenCall, accountId: Uuid) => Promise<Quote>;
}

/** What matters to the hold; the rest of a chat request may come along. */
export const QuoteFields = ChatRequest.pick({
  model: true,
  messages: true,
  max_tokens: true,
  max_completion_tokens: true,
});

/** Reads a chat request by these fields alone. */
export const quoteEndpoint: Endpoint = {
  ...chat,
  schema: "quote",
  parse: (body) => chat.parse(parseFields(QuoteFields, body)),
};

export function quoteRoutes(route: ConsoleRoute, guards: Guards, { quote }: QuoteRoutesOptions): void {
  route("POST", "/console/api/quote", guards.builder, async ({ account, call, json }) => {
    const { model, promptTokens, outputTokensMax, hold } = await quote(call, account.id);
    json({
      object: "quote",
      model,
      prompt_tokens: promptTokens,
      output_tokens_max: outputTokensMax,
      hold_micro: exactMicro(hold),
    });
  });
}
