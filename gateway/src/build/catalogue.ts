/** The models on offer and the meters that count for them. */
import type pg from "pg";
import { invariant } from "../base/invariant.ts";
import { type Broadcast, CATALOGUE_TOPIC } from "../db/broadcast.ts";
import type { Gateway } from "../inference/gateway.ts";
import { recordPrices } from "../ledger/prices.ts";
import { CATALOGUE_FILE, type Catalogue } from "../metering/catalogue.ts";
import { type LiveCatalogue, openLiveCatalogue } from "../metering/live-catalogue.ts";
import { type Metering, openMetering } from "../metering/metering.ts";
import type { Context } from "./context.ts";

export async function openMeters({ log, progress, onClose }: Context): Promise<{
  meter: Gateway["meter"];
  tables: Metering["tables"];
}> {
  progress("loading the tokenizers");
  const metering = await openMetering({ log });
  onClose(() => metering.close());
  return {
    tables: metering.tables,
    meter(tokenizer) {
      const found = metering.meter(tokenizer);
      invariant(found !== undefined, `there is no tokenizer ${tokenizer}`);
      return found;
    },
  };
}

export async function openCatalogue(
  { config, log }: Context,
  { pool, broadcast, meter }: { pool: pg.Pool; broadcast: Broadcast; meter: Gateway["meter"] },
): Promise<LiveCatalogue> {
  const catalogue = await openLiveCatalogue({
    file: config.catalogueFile ?? CATALOGUE_FILE,
    async accept(candidate) {
      for (const { build } of candidate.active.values()) meter(build.tokenizer);
      await recordPrices(pool, priceRows(candidate));
    },
  });
  broadcast.on(CATALOGUE_TOPIC, () => {
    catalogue.reload().then(
      () => log.info({ priceVersion: catalogue.current().priceVersion }, "the catalogue was read again"),
      (error) => log.error({ err: error }, "the catalogue was not replaced"),
    );
  });
  return catalogue;
}

function priceRows(catalogue: Catalogue): Parameters<typeof recordPrices>[1] {
  return [...catalogue.active.values()].map((model) => ({
    version: model.priceVersion,
    model: model.id,
    in: model.prices.in,
    out: model.prices.out,
  }));
}
