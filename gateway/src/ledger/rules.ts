/** Computes the maximum and actual cost of a request. Pure. */
import { invariant } from "../base/invariant.ts";
import { cost, type Pico, pico } from "../base/money.ts";

interface TokenPrices {
  /** Picodollars per token, which is microdollars per million tokens. */
  in: Pico;
  out: Pico;
}

/** The maximum cost: every prompt token and the full output cap. */
export function holdAmount(prices: TokenPrices, tokens: { prompt: number; outputMax: number }): Pico {
  return pico(cost(tokens.prompt, prices.in) + cost(tokens.outputMax, prices.out));
}

/** The actual cost of the counted tokens. Never above the hold, because the meter enforces the output cap. */
export function chargeAmount(prices: TokenPrices, tokens: { prompt: number; output: number }, hold: Pico): Pico {
  const charge = pico(cost(tokens.prompt, prices.in) + cost(tokens.output, prices.out));
  invariant(charge <= hold, `charge ${charge} exceeds its hold ${hold}`);
  return charge;
}
