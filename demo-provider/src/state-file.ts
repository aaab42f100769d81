/** Stores sales, cards and webhooks in one JSON file, so that the demo provider continues after a restart. */
import { readFile, rename, writeFile } from "node:fs/promises";
import type { SaleRecord, SavedCard } from "./sale-record.ts";
import type { WebhookDelivery } from "./webhook-delivery.ts";

/** Logs writes that failed. */
export interface Log {
  error(details: object, message: string): void;
}

interface StateFile {
  sales: SaleRecord[];
  cards: SavedCard[];
  deliveries: WebhookDelivery[];
  /** Writes the changed arrays now, or after the write that is in progress. */
  save(): void;
  /** Resolves when everything is saved. */
  saved(): Promise<void>;
}

export async function openStateFile(file: string | undefined, log: Log): Promise<StateFile> {
  const text = file === undefined ? undefined : await readIfThere(file);
  const { sales, cards, deliveries } =
    text === undefined ? { sales: [], cards: [], deliveries: [] } : parse(file as string, text);
  let writing: Promise<void> = Promise.resolve();
  let waiting = false;
  const write = async (to: string): Promise<void> => {
    waiting = false;
    await writeFile(`${to}.new`, JSON.stringify({ sales, cards, deliveries }), { mode: 0o600 });
    await rename(`${to}.new`, to);
  };
  return {
    sales,
    cards,
    deliveries,
    save() {
      if (file === undefined || waiting) return;
      waiting = true;
      writing = writing
        .then(() => write(file))
        .catch((error) => log.error({ err: error, file }, "the demonstration's payments were not saved"));
    },
    saved: () => writing,
  };
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Defaults for fields that did not exist in earlier versions of the file. */
const NO_CARD = { mode: "payment", customer: null, setup: null, method: null, failure: null, idempotencyKey: null };

function parse(file: string, text: string): Pick<StateFile, "sales" | "cards" | "deliveries"> {
  try {
    const { sales, cards = [], deliveries } = JSON.parse(text);
    return { sales: sales.map((sale: object) => ({ ...NO_CARD, ...sale })), cards, deliveries };
  } catch (cause) {
    throw new Error(`${file} is damaged. Remove it to start the demonstration's payments afresh.`, { cause });
  }
}
