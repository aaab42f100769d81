/** The catalogue in force, which an operator can replace without a restart. A bad file changes nothing. */
import { type Catalogue, loadCatalogue } from "./catalogue.ts";

export interface LiveCatalogue {
  current(): Catalogue;
  /** Reads the file again. Rejects, and keeps what was, when the file or what `accept` asks of it is not in order. */
  reload(): Promise<void>;
}

/** `accept` rejects a catalogue that the platform cannot serve: an unknown tokenizer, a price changed in place. */
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
