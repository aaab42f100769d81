/** `tollgate receipt verify FILE`: verifies a usage receipt offline, with the keys that a gateway published. */

import { readFile } from "node:fs/promises";
import { type BaseCommandContext, type Command, type CommandInput, JSON_FLAG } from "@tollgate/terminal/command.ts";
import { CommandError } from "@tollgate/terminal/errors.ts";
import { explainSystemError } from "@tollgate/terminal/explain-failure.ts";
import { z } from "zod";
import { verifyReceipt } from "../history/receipts.ts";

const Published = z.object({ keys: z.array(z.object({ id: z.string(), public_key: z.string() })) });

export const verifyReceiptCommand: Command = {
  help: "verify a usage receipt offline (exit code 1 if it is not valid)",
  args: { FILE: { help: "the receipt, as JSON" } },
  flags: {
    keys: {
      value: "FILE",
      required: true,
      help: "a file or URL with a gateway's published keys (/.well-known/tollgate-receipts)",
    },
    ...JSON_FLAG,
  },
  example: "receipt.json --keys https://gateway.example/.well-known/tollgate-receipts",
  run: verify,
};

async function verify(
  { args: [file = ""], flags: { keys = "" }, json }: CommandInput,
  { terminal }: BaseCommandContext,
): Promise<number> {
  const published = Published.safeParse(await readJson(keys));
  if (!published.success)
    throw new CommandError(`${keys} holds no published receipt keys`, {
      next: "give --keys a gateway's /.well-known/tollgate-receipts",
    });
  const verdict = verifyReceipt(await readJson(file), published.data.keys);
  const text = verdict.valid ? `${file}: valid` : `${file}: NOT VALID, ${verdict.why}`;
  terminal.print(json ? JSON.stringify({ file, ...verdict }) : text);
  return verdict.valid ? 0 : 1;
}

async function readJson(place: string): Promise<unknown> {
  try {
    if (/^https?:/.test(place)) return await (await fetch(place)).json();
    return JSON.parse(await readFile(place, "utf8"));
  } catch (cause) {
    throw new CommandError(`${place} cannot be read as JSON: ${reasonOf(cause)}`, {
      next: "check the path or URL, and that the receipt there is JSON",
      cause,
    });
  }
}

/** Omits the message of `JSON.parse`, because it quotes the input. */
const reasonOf = (cause: unknown): string =>
  cause instanceof SyntaxError ? "it is not JSON" : (explainSystemError(cause)?.message ?? (cause as Error).message);
