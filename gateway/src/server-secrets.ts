/**
 * The secrets a gateway cannot lose: the pepper of every key's hash, and the seed that signs nodes' credentials. Given by
 * the environment, or made on the first start and kept in the data directory for its owner alone.
 */
import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

const Kept = z.object({ key_pepper: z.string().min(32), plane_seed: z.string().optional() });
export type KeptSecrets = z.infer<typeof Kept>;

export class SecretsFile {
  readonly #file: string;

  constructor(dataDir: string) {
    this.#file = join(dataDir, "secrets.json");
  }

  async read(): Promise<KeptSecrets> {
    let text: string;
    try {
      text = await readFile(this.#file, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      const made = { key_pepper: randomBytes(32).toString("base64url") };
      await this.write(made);
      return made;
    }
    const kept = Kept.safeParse(parse(text));
    // Making a new pepper would silently kill every key: rather stop.
    if (!kept.success) throw new Error(`${this.#file} is damaged. Restore it from a backup: every key depends on it.`);
    return kept.data;
  }

  async write(secrets: KeptSecrets): Promise<void> {
    await mkdir(join(this.#file, ".."), { recursive: true });
    await writeFile(this.#file, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
