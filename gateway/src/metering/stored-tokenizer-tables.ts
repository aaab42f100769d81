/**
 * Stores a tokenizer's tables, as they are in memory, in a file beside the code. Building them from the data file takes
 * half a second of CPU time at each start and leaves the process tens of megabytes larger.
 *
 * Format: the length of the header (uint32, little-endian); the header as JSON with the position of each array; the
 * arrays, each at a multiple of eight. The file's name contains the SHA-256 of its content, so a truncated, damaged or
 * outdated file is not used. If no file exists and none can be written, the tables are built at each start.
 */
import { createHash } from "node:crypto";
import { mkdir, open, rename, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** The files in this folder are trusted, because users who can write to it could change the code as well. */
const FOLDER = new URL("../../node_modules/.cache/tokenizers/", import.meta.url);
const ALIGNMENT = 8;

const ARRAYS = { Uint8Array, Uint16Array, Int32Array, Float32Array };
type ArrayName = keyof typeof ARRAYS;
type Numbers = InstanceType<(typeof ARRAYS)[ArrayName]>;
/** The place of an array in the file: its type, its offset after the header, and its length. */
interface Place {
  array: ArrayName;
  at: number;
  length: number;
}

/** Returns the tables stored under this name. Undefined if there are none or they are damaged. */
export async function readTables<Tables extends object>(sha256: string, folder = FOLDER): Promise<Tables | undefined> {
  try {
    const bytes = await readShared(new URL(sha256, folder));
    return hashOf(bytes) === sha256 ? (unpack(bytes) as Tables) : undefined;
  } catch (error) {
    if (isTroubleWithFiles(error)) return undefined;
    throw error;
  }
}

/** Stores the tables for the next start, if they match the name and this user may write to the folder. */
export async function writeTables(tables: object, sha256: string, folder = FOLDER): Promise<void> {
  const file = fileURLToPath(new URL(sha256, folder));
  const unfinished = `${file}.${process.pid}`;
  try {
    await mkdir(folder, { recursive: true });
    const bytes = pack(tables);
    if (hashOf(bytes) !== sha256) return;
    await writeFile(unfinished, bytes);
    // Renames the file when it is complete, so that other processes never find an incomplete one.
    await rename(unfinished, file);
  } catch (error) {
    if (!isTroubleWithFiles(error)) throw error;
    // Ignores errors: if the file cannot be removed, it could not be written either.
    await rm(unfinished, { force: true }).catch(() => undefined);
  }
}

/** The name under which the tables are stored. */
export const tableFileName = (tables: object): string => hashOf(pack(tables));

const hashOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

const isTroubleWithFiles = (error: unknown): boolean => error instanceof Error && "syscall" in error;

const aligned = (length: number): number => Math.ceil(length / ALIGNMENT) * ALIGNMENT;

/** Reads the file directly into memory that threads share. */
async function readShared(file: URL): Promise<Uint8Array> {
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    const bytes = new Uint8Array(new SharedArrayBuffer(size));
    for (let at = 0; at < size; ) {
      const { bytesRead } = await handle.read(bytes, at, size - at, at);
      if (bytesRead === 0) break;
      at += bytesRead;
    }
    return bytes;
  } finally {
    await handle.close();
  }
}

function pack(tables: object): Uint8Array {
  const arrays: { bytes: Uint8Array; at: number }[] = [];
  let end = 0;
  const header = JSON.stringify(tables, (_key, value: unknown) => {
    const name = Object.entries(ARRAYS).find(([, one]) => value instanceof one)?.[0];
    if (name === undefined) return value;
    const { buffer, byteOffset, byteLength, length } = value as Numbers;
    const place: Place = { array: name as ArrayName, at: end, length };
    arrays.push({ bytes: new Uint8Array(buffer, byteOffset, byteLength), at: end });
    end = aligned(end + byteLength);
    return place;
  });
  const text = Buffer.from(header);
  const start = aligned(4 + text.length);
  const packed = Buffer.alloc(start + end);
  packed.writeUInt32LE(text.length);
  text.copy(packed, 4);
  for (const { bytes, at } of arrays) packed.set(bytes, start + at);
  return packed;
}

function unpack({ buffer }: Uint8Array): object {
  const bytes = Buffer.from(buffer);
  const headerBytes = bytes.readUInt32LE(0);
  const start = aligned(4 + headerBytes);
  return JSON.parse(bytes.toString("utf8", 4, 4 + headerBytes), (_key, value: Place | string | number | null) => {
    if (typeof value !== "object" || value === null || !("array" in value)) return value;
    // The constructors of all array types are alike, which the compiler cannot verify.
    const Numbers = ARRAYS[value.array] as typeof Uint8Array;
    return new Numbers(buffer, start + value.at, value.length);
  });
}
