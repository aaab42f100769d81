/**
 * A file beside the code with a tokenizer's tables as they are in memory. Building them from the asset takes half a second of CPU time at
 * each start and leaves the process tens of megabytes larger. Format: a uint32 LE length of the header; the header as JSON with the
 * position of each array; the arrays, each at a multiple of eight. The file's name contains its SHA-256, so a truncated, damaged or
 * outdated file is not used. If none exists and none can be written, the tables are built.
 */
import { createHash } from "node:crypto";
import { mkdir, open, rename, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** Users who can write here could change the code as well. */
const FOLDER = new URL("../../node_modules/.cache/tokenizers/", import.meta.url);
const ALIGNMENT = 8;

const ARRAYS = { Uint8Array, Uint16Array, Int32Array, Float32Array };
type ArrayName = keyof typeof ARRAYS;
type Numbers = InstanceType<(typeof ARRAYS)[ArrayName]>;
/** Represents an array in the header: its type, its offset after the header, and its length. */
interface Place {
  array: ArrayName;
  at: number;
  length: number;
}

/** The tables stored under this name; undefined if there are none or they are damaged. */
export async function readTables<Tables extends object>(sha256: string, folder = FOLDER): Promise<Tables | undefined> {
  try {
    const bytes = await readShared(new URL(sha256, folder));
    return hashOf(bytes) === sha256 ? (unpack(bytes) as Tables) : undefined;
  } catch (error) {
    if (isTroubleWithFiles(error)) return undefined;
    throw error;
  }
}

/** Stores the tables for the next start, if the name matches and this user may write there. */
export async function writeTables(tables: object, sha256: string, folder = FOLDER): Promise<void> {
  const file = fileURLToPath(new URL(sha256, folder));
  const unfinished = `${file}.${process.pid}`;
  try {
    await mkdir(folder, { recursive: true });
    const bytes = pack(tables);
    if (hashOf(bytes) !== sha256) return;
    await writeFile(unfinished, bytes);
    // Renamed at the end, so that another process finds a complete file or none.
    await rename(unfinished, file);
  } catch (error) {
    if (!isTroubleWithFiles(error)) throw error;
    // A file that cannot be removed could not be written either.
    await rm(unfinished, { force: true }).catch(() => undefined);
  }
}

/** The name under which tables are stored. */
export const tableFileName = (tables: object): string => hashOf(pack(tables));

const hashOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

const isTroubleWithFiles = (error: unknown): boolean => error instanceof Error && "syscall" in error;

const aligned = (length: number): number => Math.ceil(length / ALIGNMENT) * ALIGNMENT;

/** Reads into the memory that threads share, without a copy. */
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
    // All have the same constructor, which the compiler only knows for one type at a time.
    const Numbers = ARRAYS[value.array] as typeof Uint8Array;
    return new Numbers(buffer, start + value.at, value.length);
  });
}
