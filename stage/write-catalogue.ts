/** Writes a changed copy of the gateway's own catalogue to a file for `CATALOGUE_FILE`. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Removes the limit on prompt speed, because test nodes have no model and read prompts at once. */
const UNREAD = { prompt_tps_max: 1e12 };

/** Writes the built-in catalogue with these changes, by model, and returns the file's path. */
export async function writeCatalogue(dataDir: string, changes: Record<string, object>): Promise<string> {
  const builtIn = new URL("../gateway/catalogue/models.json", import.meta.url);
  const catalogue = JSON.parse(await readFile(builtIn, "utf8")) as { models: { id: string }[] };
  const models = catalogue.models.map((model) => ({ ...model, ...UNREAD, ...changes[model.id] }));
  const file = join(dataDir, "models.json");
  await writeFile(file, JSON.stringify({ ...catalogue, models }));
  return file;
}
