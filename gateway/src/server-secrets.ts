/**
 * The secrets a gateway cannot lose: the pepper of every key's hash, the seed that signs nodes' credentials, the seed that
 * signs receipts. Each is given by the environment, or made on the first start and kept in the data directory for its
 * owner alone.
 */
import { randomBytes } from "node:crypto";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { readIfThere } from "./base/files.ts";

const SecretsFile = z.object({
  key_pepper: z.string().min(32),
  receipt_seed: z.string().length(43).optional(),
  plane_seed: z.string().optional(),
});
type SecretsFile = z.infer<typeof SecretsFile>;

export interface ServerSecrets {
  pepper: string;
  /** 32 bytes, base64url. */
  receiptSeed: string;
  /** Undefined until the plane has made one. */
  planeSeed: string | undefined;
  keepPlaneSeed(seed: string): Promise<void>;
}

interface ConfiguredSecrets {
  dataDir: string;
  pepper: string | undefined;
  receiptSeed: string | undefined;
  planeSeed: string | undefined;
}

export async function serverSecrets(configured: ConfiguredSecrets): Promise<ServerSecrets> {
  const { pepper, receiptSeed, planeSeed } = configured;
  if (pepper !== undefined && receiptSeed !== undefined && planeSeed !== undefined) {
    // Nothing is read from disk that need not be there.
    return { pepper, receiptSeed, planeSeed, keepPlaneSeed: async () => {} };
  }
  const file = join(configured.dataDir, "secrets.json");
  const before = await read(file);
  const stored = {
    ...before,
    key_pepper: before?.key_pepper ?? randomBytes(32).toString("base64url"),
    receipt_seed: before?.receipt_seed ?? randomBytes(32).toString("base64url"),
  };
  if (before?.receipt_seed === undefined) await write(file, stored);
  return {
    pepper: pepper ?? stored.key_pepper,
    receiptSeed: receiptSeed ?? stored.receipt_seed,
    planeSeed: planeSeed ?? stored.plane_seed,
    keepPlaneSeed: async (seed) => {
      if (planeSeed === undefined && stored.plane_seed !== seed) await write(file, { ...stored, plane_seed: seed });
    },
  };
}

async function read(file: string): Promise<SecretsFile | undefined> {
  const text = await readIfThere(file);
  if (text === undefined) return undefined;
  const stored = SecretsFile.safeParse(parse(text));
  // Making a new pepper would silently kill every key: rather stop.
  if (!stored.success) throw new Error(`${file} is damaged. Restore it from a backup: every key depends on it.`);
  return stored.data;
}

/** Whole or not at all: half a file would lose every key. */
async function write(file: string, secrets: SecretsFile): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(`${file}.new`, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600, flush: true });
  await rename(`${file}.new`, file);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
