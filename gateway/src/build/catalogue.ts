/** Loads the catalog of models and their token counters. */
import type { DatabaseAccess, ModelsAndTokenizers } from "../assemble/port-interfaces.ts";
import { invariant } from "../base/invariant.ts";
import { CATALOGUE_TOPIC } from "../db/broadcast.ts";
import { recordPrices } from "../ledger/prices.ts";
import { CATALOGUE_FILE, type Catalogue } from "../metering/catalogue.ts";
import { type LiveCatalogue, openLiveCatalogue } from "../metering/live-catalogue.ts";
import { openTokenMetering } from "../metering/metering.ts";
import { openLargeBodyReader } from "../routes/reading/large-body-reader.ts";
import type { BuildContext } from "./build-context.ts";

export async function openModelsAndTokenizers(
  context: BuildContext,
  { pool, broadcast }: Pick<DatabaseAccess, "pool" | "broadcast">,
): Promise<ModelsAndTokenizers> {
  const { config, log, progress, onClose, worker } = context;
  progress("loading the tokenizers");
  const metering = await openTokenMetering({ log, ...(worker && { workersMax: 1 }) });
  onClose(() => metering.close());
  const meter: ModelsAndTokenizers["meter"] = (tokenizer) => {
    const found = metering.meter(tokenizer);
    invariant(found !== undefined, `tokenizer ${tokenizer} does not exist`);
    return found;
  };
  const reader = openLargeBodyReader({
    log,
    tables: metering.tables,
    base64Compat: config.embeddingsBase64Compat,
    ...(worker && { workersMax: 1 }),
  });
  onClose(() => reader.close());
  const catalogue = await openCatalogue(context, { pool, broadcast, meter });
  return { catalogue: catalogue.current, meter, reader, parseForm: reader.parseForm };
}

async function openCatalogue(
  { config, log }: BuildContext,
  { pool, broadcast, meter }: Pick<DatabaseAccess, "pool" | "broadcast"> & Pick<ModelsAndTokenizers, "meter">,
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
      () => log.info({ priceVersion: catalogue.current().priceVersion }, "catalogue reloaded"),
      (error) => log.error({ err: error }, "could not reload the catalogue; keeping the previous one"),
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
