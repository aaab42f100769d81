/** The prices of a catalogue version, written down once: every charge can be worked out again from them for ever. */
import type pg from "pg";
import type { Pico } from "../base/money.ts";
import { column, queryOne, row } from "../db/rows.ts";

interface PriceRow {
  version: number;
  model: string;
  in: Pico;
  out: Pico;
}

const Recorded = row({ in: column.pico, out: column.pico });

class PriceChanged extends Error {
  override name = "PriceChanged";
}

export async function recordPrices(pool: pg.Pool, prices: PriceRow[]): Promise<void> {
  for (const { version, model, in: priceIn, out: priceOut } of prices) {
    const recorded = await queryOne(
      pool,
      Recorded,
      `with added as (
         insert into price (version, model, price_in_pico, price_out_pico) values ($1, $2, $3, $4)
         on conflict do nothing returning price_in_pico, price_out_pico
       )
       select price_in_pico as "in", price_out_pico as "out" from added
       union all
       select price_in_pico, price_out_pico from price where version = $1 and model = $2`,
      [version, model, priceIn.toString(), priceOut.toString()],
    );
    if (recorded.in !== priceIn || recorded.out !== priceOut) {
      throw new PriceChanged(
        `The catalogue changes the price of ${model} without a new price_version; requests were charged at version ${version}`,
      );
    }
  }
}
