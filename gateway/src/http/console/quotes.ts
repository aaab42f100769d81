/** What a chat request would hold before it is sent, for whoever writes one in the console. */
import { exactMicro } from "../../base/money.ts";
import type { Quote } from "../../inference/quote.ts";
import { ChatRequest } from "../openai/fields.ts";
import type { ConsoleRoute, Guards } from "./guards.ts";

export interface QuoteRoutesOptions {
  quote: (chat: unknown) => Promise<Quote>;
}

/** What matters to the hold; the rest of a chat request may come along. */
export const QuoteFields = ChatRequest.pick({
  model: true,
  messages: true,
  max_tokens: true,
  max_completion_tokens: true,
});

export function quoteRoutes(route: ConsoleRoute, guards: Guards, { quote }: QuoteRoutesOptions): void {
  route("POST", "/console/api/quote", guards.builder, async ({ fields, json }) => {
    const { model, promptTokens, outputTokensMax, hold } = await quote(await fields(QuoteFields));
    json({
      object: "quote",
      model,
      prompt_tokens: promptTokens,
      output_tokens_max: outputTokensMax,
      hold_micro: exactMicro(hold),
    });
  });
}
