/** What a request would take, counted as if it were sent. Nothing is held and nothing is recorded. */
import type { Pico } from "../base/money.ts";
import { holdAmount } from "../ledger/rules.ts";
import { countPrompt, findModel, outputCap } from "./admit.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Gateway } from "./gateway.ts";

export interface Quote {
  model: string;
  promptTokens: number;
  outputTokensMax: number;
  /** The largest it can cost. */
  hold: Pico;
}

/** The faults of a request that would not get as far as its hold: 400 · 404 · 503. */
export async function quote(
  gw: Pick<Gateway, "catalogue" | "meter">,
  endpoint: Endpoint,
  body: unknown,
): Promise<Quote> {
  const ask = endpoint.parse(body);
  const model = findModel(gw, ask, endpoint.kind);
  const promptTokens = await countPrompt(gw.meter(model.build.tokenizer), model, ask);
  const outputTokensMax = outputCap(model, ask);
  const hold = holdAmount(model.prices, { prompt: promptTokens, outputMax: outputTokensMax });
  return { model: model.id, promptTokens, outputTokensMax, hold };
}
