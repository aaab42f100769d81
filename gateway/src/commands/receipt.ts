/** `tollgate receipt verify FILE`: checks a usage receipt offline, with the keys a gateway published. */
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { z } from "zod";
import { verifyReceipt } from "../history/receipts.ts";

const USAGE = "Usage: tollgate receipt verify FILE --keys FILE|URL  (the keys are at /.well-known/tollgate-receipts)";
const Published = z.object({ keys: z.array(z.object({ id: z.string(), public_key: z.string() })) });

export async function receipt(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { keys: { type: "string" } } });
  const [verb, file] = positionals;
  if (verb !== "verify" || file === undefined || values.keys === undefined) throw new Error(USAGE);
  const published = Published.safeParse(await readJson(values.keys));
  if (!published.success) throw new Error(`${values.keys} does not hold published receipt keys`);
  const verdict = verifyReceipt(await readJson(file), published.data.keys);
  console.log(verdict.valid ? `${file}: valid` : `${file}: NOT VALID, ${verdict.why}`);
  return verdict.valid ? 0 : 1;
}

async function readJson(place: string): Promise<unknown> {
  try {
    if (/^https?:/.test(place)) return await (await fetch(place)).json();
    return JSON.parse(await readFile(place, "utf8"));
  } catch (cause) {
    throw new Error(`${place} cannot be read as JSON: ${(cause as Error).message}`, { cause });
  }
}
