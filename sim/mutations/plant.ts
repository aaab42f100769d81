/** Loaded before everything else (`node --import`): plants the bug that SIM_MUTATION names while its file is read. */
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { MUTATIONS } from "./mutations.ts";

const name = process.env.SIM_MUTATION;
const mutation = MUTATIONS.find((one) => one.name === name);
if (mutation === undefined) throw new Error(`SIM_MUTATION names no bug: ${name}`);
const path = fileURLToPath(new URL(`../../${mutation.file}`, import.meta.url));

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (!url.startsWith("file:") || fileURLToPath(url) !== path) return loaded;
    const source = Buffer.from(loaded.source as Uint8Array).toString("utf8");
    // Twice the same place would be two bugs, and none at all would prove nothing.
    if (source.split(mutation.find).length !== 2)
      throw new Error(`${mutation.name}: its place is not in ${mutation.file}`);
    return { ...loaded, source: source.replace(mutation.find, () => mutation.replace) };
  },
});
