/**
 * The secrets that a gateway must not lose: the pepper of all key hashes, and the seeds for signing nodes' credentials
 * and receipts. Each comes from the environment, or is generated at the first start and stored in the data directory
 * with mode 0600. A replaced secret is kept beside its successor while something depends on it.
 */
import { randomBytes } from "node:crypto";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { readIfExists } from "./base/read-if-exists.ts";

const Pepper = z.string().min(32);
const SecretsFile = z.object({
  key_pepper: Pepper,
  key_pepper_old: Pepper.optional(),
  receipt_seed: z.string().length(43).optional(),
  plane_seed: z.string().optional(),
  plane_seed_old: z.string().optional(),
});
type SecretsFile = z.infer<typeof SecretsFile>;

export interface ServerSecrets {
  pepper: string;
  /** Set while the pepper is being replaced: the previous or the next pepper. */
  pepperOld: string | undefined;
  pepperNext: string | undefined;
  /** The seed that signs receipts: 32 bytes in base64url. */
  receiptSeed: string;
  /** Undefined until the plane has generated its seed. */
  planeSeed: string | undefined;
  planeSeedOld: string | undefined;
  keepPlaneSeed(seed: string): Promise<void>;
}

/** The secrets in the configuration. */
interface Configured {
  dataDir: string;
  keyPepper: string | undefined;
  keyPepperOld: string | undefined;
  keyPepperNext: string | undefined;
  receiptSeed: string | undefined;
  plane: { seed: string | undefined; seedOld: string | undefined };
}

export async function loadServerSecrets(configured: Configured): Promise<ServerSecrets> {
  const { keyPepper, keyPepperOld, keyPepperNext: pepperNext, receiptSeed, plane } = configured;
  if (keyPepper !== undefined && receiptSeed !== undefined && plane.seed !== undefined) {
    // Reads the file only if the configuration lacks a secret.
    const given = { pepper: keyPepper, pepperOld: keyPepperOld, pepperNext, receiptSeed };
    return { ...given, planeSeed: plane.seed, planeSeedOld: plane.seedOld, keepPlaneSeed: async () => {} };
  }
  const file = secretsFileIn(configured.dataDir);
  const before = await read(file);
  const stored = {
    ...before,
    key_pepper: before?.key_pepper ?? drawn(),
    receipt_seed: before?.receipt_seed ?? drawn(),
  };
  if (before?.receipt_seed === undefined) await write(file, stored);
  return {
    pepper: keyPepper ?? stored.key_pepper,
    pepperOld: keyPepper === undefined ? stored.key_pepper_old : keyPepperOld,
    pepperNext,
    receiptSeed: receiptSeed ?? stored.receipt_seed,
    planeSeed: plane.seed ?? stored.plane_seed,
    planeSeedOld: plane.seed === undefined ? stored.plane_seed_old : plane.seedOld,
    keepPlaneSeed: async (seed) => {
      if (plane.seed === undefined && stored.plane_seed !== seed) await write(file, { ...stored, plane_seed: seed });
    },
  };
}

export const secretsFileIn = (dataDir: string): string => join(dataDir, "secrets.json");

/** The secrets in the data directory that can be replaced. */
export type StoredSecretName = "pepper" | "plane" | "receipts";

/** Replaces the stored secret. Gateways use the new one from their next start. */
export async function replaceStoredSecret(dataDir: string, which: StoredSecretName): Promise<void> {
  const file = secretsFileIn(dataDir);
  const stored = await read(file);
  if (stored === undefined) throw new Error(`${file} does not exist: no platform was started with this data directory`);
  if (
    (which === "pepper" ? stored.key_pepper_old : which === "plane" ? stored.plane_seed_old : undefined) !== undefined
  ) {
    throw new Error(
      `the ${which} is already being replaced. Finish that replacement first: tollgate admin secrets forget`,
    );
  }
  const { plane_seed: planeSeed, ...others } = stored;
  const replaced: Record<StoredSecretName, () => SecretsFile> = {
    pepper: () => ({ ...stored, key_pepper: drawn(), key_pepper_old: stored.key_pepper }),
    // Removes the seed, so that the plane generates a new one at the next start.
    plane: () => ({ ...others, ...(planeSeed !== undefined && { plane_seed_old: planeSeed }) }),
    receipts: () => ({ ...stored, receipt_seed: drawn() }),
  };
  await write(file, replaced[which]());
}

/** Removes a replaced secret. Returns false if there is none. */
export async function removeReplacedSecret(dataDir: string, which: "pepper" | "plane"): Promise<boolean> {
  const file = secretsFileIn(dataDir);
  const stored = await read(file);
  const name = which === "pepper" ? "key_pepper_old" : "plane_seed_old";
  if (stored?.[name] === undefined) return false;
  const { [name]: _, ...kept } = stored;
  await write(file, kept as SecretsFile);
  return true;
}

const drawn = (): string => randomBytes(32).toString("base64url");

async function read(file: string): Promise<SecretsFile | undefined> {
  const text = await readIfExists(file);
  if (text === undefined) return undefined;
  const stored = SecretsFile.safeParse(parse(text));
  // Generating a new pepper would invalidate every key, so the start fails instead.
  if (!stored.success) throw new Error(`${file} is damaged. Restore it from a backup: all keys depend on it.`);
  return stored.data;
}

/** Written atomically, because an incomplete file would invalidate every key. */
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
