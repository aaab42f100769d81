/** `tollgate receipt verify FILE`: checks a usage receipt offline, with the keys a gateway published. */
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { verifyReceipt } from "../history/receipts.ts";
import type { Command, Given } from "./line/command.ts";

const Published = z.object({ keys: z.array(z.object({ id: z.string(), public_key: z.string() })) });

export const receiptVerify: Command = {
  help: "verify a usage receipt offline; exit code 1 where it is not valid",
  args: { FILE: { help: "the receipt, as JSON" } },
  flags: {
    keys: {
      value: "FILE",
      required: true,
      help: "a file or an address with a gateway's published keys (/.well-known/tollgate-receipts)",
    },
  },
  example: "receipt.json --keys https://gateway.example/.well-known/tollgate-receipts",
  run: verify,
};

async function verify({ args: [file = ""], flags: { keys = "" } }: Given): Promise<number> {
  const published = Published.safeParse(await readJson(keys));
  if (!published.success) throw new Error(`${keys} does not hold published receipt keys`);
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
