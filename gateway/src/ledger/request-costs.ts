/** Computes the maximum and actual cost of a request. Pure. */
import { invariant } from "../base/invariant.ts";
import { computeCost, type Pico, pico } from "../base/money.ts";

interface TokenPrices {
  /** In picodollars per token, which equals microdollars per million tokens. */
  in: Pico;
  out: Pico;
}

/** The maximum cost of a request: all prompt tokens and the most output tokens allowed. */
export function computeHoldAmount(prices: TokenPrices, tokens: { prompt: number; outputMax: number }): Pico {
  return pico(computeCost(tokens.prompt, prices.in) + computeCost(tokens.outputMax, prices.out));
}

/** The actual cost of a request's tokens. Never above the hold, because the meter enforces the output limit. */
export function computeChargeAmount(prices: TokenPrices, tokens: { prompt: number; output: number }, hold: Pico): Pico {
  const charge = pico(computeCost(tokens.prompt, prices.in) + computeCost(tokens.output, prices.out));
  invariant(charge <= hold, `charge ${charge} exceeds its hold ${hold}`);
  return charge;
}
