/** The catalogue in use. An operator can replace it without a restart. An invalid file changes nothing. */
import { type Catalogue, loadCatalogue } from "./catalogue.ts";

export interface LiveCatalogue {
  current(): Catalogue;
  /** Reads the file again. If the file is invalid or `accept` rejects it, keeps the previous catalogue and rejects. */
  reload(): Promise<void>;
}

/**
 * `accept` throws for a catalogue that the platform cannot serve, such as an unknown tokenizer or a changed price of an
 * existing model.
 */
export async function openLiveCatalogue(options: {
  file: string;
  accept: (catalogue: Catalogue) => Promise<void>;
}): Promise<LiveCatalogue> {
  const load = async (): Promise<Catalogue> => {
    const catalogue = await loadCatalogue(options.file);
    await options.accept(catalogue);
    return catalogue;
  };
  let current = await load();
  return {
    current: () => current,
    async reload() {
      current = await load();
    },
  };
}
