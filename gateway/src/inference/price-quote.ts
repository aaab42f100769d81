/** Calculates the cost of a request without running it. Nothing is held or recorded. */
import type { Pico } from "../base/money.ts";
import { computeHoldAmount } from "../ledger/request-costs.ts";
import { computeOutputCap } from "./admit.ts";
import type { Call } from "./call-interface.ts";
import type { Endpoint } from "./endpoint.ts";
import { readRequest } from "./read-request.ts";
import type { RequestPathDependencies } from "./request-path-dependencies.ts";

interface Quote {
  model: string;
  promptTokens: number;
  outputTokensMax: number;
  /** The hold that the request would need, which is its maximum cost. */
  hold: Pico;
}

/** Throws the same errors as a request before its hold: 413, 415, 400, 404 or 503. */
export async function quoteRequest(
  gw: Pick<RequestPathDependencies, "catalogue" | "meter" | "reader">,
  asked: { endpoint: Endpoint; call: Call; payer: string },
): Promise<Quote> {
  const { ask, model, promptTokens } = await readRequest(gw, asked);
  const outputTokensMax = computeOutputCap(model, ask);
  const hold = computeHoldAmount(model.prices, { prompt: promptTokens, outputMax: outputTokensMax });
  return { model: model.id, promptTokens, outputTokensMax, hold };
}
