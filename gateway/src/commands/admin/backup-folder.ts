/**
 * Reads and writes a backup's folder: files that the gateway needs and the database does not contain, and a manifest
 * with checksums and the database's identity. Only its owner can read it, since it contains the pepper (the secret for
 * hashing keys).
 */

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { CommandError } from "@tollgate/terminal/errors.ts";
import { z } from "zod";

const MANIFEST = "manifest.json";
export const SECRETS_FILE = "secrets.json";
export const SETTINGS_FILE = "gateway.env";
export const SPOOL_FOLDER = "spool";

const BackupManifest = z.object({
  object: z.literal("tollgate.backup"),
  version: z.literal(1),
  made_at: z.string(),
  software: z.string(),
  deployment: z.uuid(),
  schema: z.int(),
  pepper: z.string(),
  receipt_key: z.string(),
  files: z.array(z.object({ name: z.string(), bytes: z.int(), sha256: z.string() })),
  not_taken: z.array(z.object({ what: z.string(), from: z.string() })),
});
type BackupManifest = z.infer<typeof BackupManifest>;

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

/**
 * Writes a new folder; refuses an existing one. The manifest is written last, so a folder without a manifest is an
 * incomplete backup.
 */
export async function writeBackup(
  folder: string,
  files: Map<string, Buffer>,
  facts: Omit<BackupManifest, "object" | "version" | "files">,
): Promise<BackupManifest> {
  await mkdir(dirname(folder), { recursive: true });
  await mkdir(folder, { mode: 0o700 }).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== "EEXIST") throw cause;
    throw new CommandError(`${folder} exists already, and a backup never overwrites another`, {
      next: "name another folder with --to",
      cause,
    });
  });
  const put = async (name: string, bytes: Buffer): Promise<void> => {
    await mkdir(dirname(join(folder, name)), { recursive: true, mode: 0o700 });
    await writeFile(join(folder, name), bytes, { mode: 0o600, flag: "wx", flush: true });
  };
  const listed: BackupManifest["files"] = [];
  for (const [name, bytes] of files) {
    await put(name, bytes);
    listed.push({ name, bytes: bytes.length, sha256: sha256(bytes) });
  }
  const manifest: BackupManifest = { object: "tollgate.backup", version: 1, ...facts, files: listed };
  await put(MANIFEST, Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`));
  return manifest;
}

export interface Backup {
  manifest: BackupManifest;
  files: Map<string, Buffer>;
  /** The files that differ from the manifest. */
  damage: string[];
}

export async function readBackup(folder: string): Promise<Backup> {
  const text = await readFile(join(folder, MANIFEST), "utf8").catch((cause: NodeJS.ErrnoException) => {
    throw new CommandError(`${folder} is not a backup: its ${MANIFEST} cannot be read (${cause.code})`, {
      next: 'name the folder that "tollgate admin backup" created',
      cause,
    });
  });
  const manifest = BackupManifest.safeParse(jsonOf(text)).data;
  if (manifest === undefined) {
    throw new CommandError(`${join(folder, MANIFEST)} is damaged, or a newer version wrote it`, {
      next: "use another backup, or the version of tollgate that made it",
    });
  }
  const files = new Map<string, Buffer>();
  for (const name of await listFilesBelow(folder)) files.set(name, await readFile(join(folder, name)));
  const damage = manifest.files.flatMap(({ name, sha256: expected }) => {
    const bytes = files.get(name);
    if (bytes === undefined) return [`${name} is missing`];
    return sha256(bytes) === expected ? [] : [`${name} was changed after the backup`];
  });
  return { manifest, files, damage };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The relative paths of all plain files below a folder. */
export async function listFilesBelow(folder: string): Promise<string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  return found.filter((one) => one.isFile()).map((one) => relative(folder, join(one.parentPath, one.name)));
}
