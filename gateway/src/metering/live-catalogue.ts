/** The catalogue in use, which an operator can replace without a restart. An invalid file changes nothing. */
import { type Catalogue, loadCatalogue } from "./catalogue.ts";

export interface LiveCatalogue {
  current(): Catalogue;
  /** Reads the file again. Rejects, and keeps the previous catalogue, when the file or the check by `accept` fails. */
  reload(): Promise<void>;
}

/** `accept` rejects a catalogue that the platform cannot serve, such as an unknown tokenizer or a price changed in place. */
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
