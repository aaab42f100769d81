/** The catalogue's models, each held against what this machine has. */
import type { Engine } from "../../engines/engine.ts";
import { bytesNeeded, fits } from "../../engines/fits.ts";
import { ACTIVE_MODELS } from "../../engines/models.ts";
import { engineTokenizer } from "../../engines/tokenizer-check.ts";
import { fillsThisMachine } from "../engine-for.ts";
import type { EngineSettings } from "../flags.ts";
import type { CatalogueModel } from "../gateway/answers.ts";
import type { Candidate } from "./proposal.ts";

export async function candidatesOf(
  catalogue: CatalogueModel[],
  engine: Engine,
  { memoryBytes, settings }: { memoryBytes: number; settings: EngineSettings },
): Promise<Candidate[]> {
  const here = fillsThisMachine(settings);
  return Promise.all(
    catalogue.map(async (entry): Promise<Candidate> => {
      const held = engine.models.includes(entry.model);
      const known = ACTIVE_MODELS.includes(entry.model);
      return {
        model: entry.model,
        kind: entry.kind,
        priceInMicro1m: entry.price_in_micro_1m,
        priceOutMicro1m: entry.price_out_micro_1m,
        held,
        bytesNeeded: here ? bytesNeeded(entry.model) : undefined,
        fits: !here || !known || fits(entry.model, memoryBytes),
        tokenizer: held ? await engineTokenizer(engine, entry.model) : "unknown",
      };
    }),
  );
}
