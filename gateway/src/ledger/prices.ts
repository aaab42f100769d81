/** Records the prices of each catalogue version, so that every charge can be computed again. */
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
    await pool.query(
      `insert into price (version, model, price_in_pico, price_out_pico) values ($1, $2, $3, $4) on conflict do nothing`,
      [version, model, priceIn.toString(), priceOut.toString()],
    );
    // A separate statement: only a new snapshot includes rows that the previous statement waited for.
    const recorded = await queryOne(
      pool,
      Recorded,
      `select price_in_pico as "in", price_out_pico as "out" from price where version = $1 and model = $2`,
      [version, model],
    );
    if (recorded.in !== priceIn || recorded.out !== priceOut) {
      throw new PriceChanged(
        `The catalogue changes the price of ${model} without a new price_version. Increase price_version: the database has another price for version ${version}`,
      );
    }
  }
}
