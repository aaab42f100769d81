/** What a request may cost and does cost. Pure: values in, amounts out. */
import { invariant } from "../base/invariant.ts";
import { cost, type Pico, pico } from "../base/money.ts";

interface TokenPrices {
  /** Picodollars per token, which is microdollars per million tokens. */
  in: Pico;
  out: Pico;
}

/** The largest possible cost: every prompt token, and the output cap in full. */
export function holdAmount(prices: TokenPrices, tokens: { prompt: number; outputMax: number }): Pico {
  return pico(cost(tokens.prompt, prices.in) + cost(tokens.outputMax, prices.out));
}

/** The true cost of what was counted. Never above the hold, because the meter holds the output to its cap. */
export function chargeAmount(prices: TokenPrices, tokens: { prompt: number; output: number }, hold: Pico): Pico {
  const charge = pico(cost(tokens.prompt, prices.in) + cost(tokens.output, prices.out));
  invariant(charge <= hold, `charge ${charge} exceeds its hold ${hold}`);
  return charge;
}
