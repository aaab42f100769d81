/**
 * Reads the file with a tokenizer's data. `gateway/tools/convert-tokenizers.ts` writes these files.
 *
 * After the 8 bytes "TGTOKEN1" comes one Zstandard frame, which contains:
 *   1. the length of the header (uint32, little-endian),
 *   2. the header as JSON, which describes the tokenizer and lists `sections` with name and length,
 *   3. the sections, one after another.
 * A section contains bytes, or whole numbers as byte planes (all lowest bytes, then all second bytes, …), which
 * compress better and need no alignment. Numbers are unsigned and little-endian.
 *
 * The pinned SHA-256 is that of the compressed file. It covers everything that a token count depends on: vocabulary,
 * merges and Unicode classes.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { zstdDecompressSync } from "node:zlib";
import { invariant } from "../base/invariant.ts";

export const ASSET_MAGIC = "TGTOKEN1";

interface SectionSize {
  name: string;
  byteLength: number;
}

export interface BpeHeader {
  kind: "bpe";
  /** Where the data comes from, for human readers. */
  source: string;
  /** The most digits in one piece. */
  digitsMax: number;
  /** Whether text is normalized to Unicode's form NFC before it is split into pieces. */
  nfc: boolean;
  /** The length of the longest token in UTF-8 bytes. A text of n bytes has at least n / tokenBytesMax tokens. */
  tokenBytesMax: number;
  merges: number;
  words: number;
  /** Special texts such as `<|im_start|>`, each of which is one token anywhere in a prompt. */
  addedTokens: string[];
  sections: SectionSize[];
}

export interface UnigramHeader {
  kind: "unigram";
  source: string;
  nodes: number;
  /**
   * The trie node of the unknown piece (`<unk>`). If a text contains it, its token is joined with unknown characters
   * beside it.
   */
  unknownNode: number;
  pieceUnitsMax: number;
  scoreMin: number;
  addedTokens: string[];
  sections: SectionSize[];
}

export type AssetHeader = BpeHeader | UnigramHeader;

export interface TokenizerAsset<Header extends AssetHeader = AssetHeader> {
  header: Header;
  section(name: string): Uint8Array;
}

/** The file is not the one that the gateway was built with. Its counts would differ, and so would charges. */
export class AssetMismatchError extends Error {
  override name = "AssetMismatchError";
}

export async function readAsset(file: URL, sha256: string): Promise<TokenizerAsset> {
  const bytes = await readFile(file);
  const found = createHash("sha256").update(bytes).digest("hex");
  if (found !== sha256) {
    throw new AssetMismatchError(`Tokenizer data ${file.pathname} has SHA-256 ${found}, expected ${sha256}.`);
  }
  return parseAsset(bytes);
}

function parseAsset(bytes: Buffer): TokenizerAsset {
  invariant(bytes.toString("latin1", 0, ASSET_MAGIC.length) === ASSET_MAGIC, "not a tokenizer asset");
  // The default chunk size is small and would require joining a few hundred chunks.
  const payload = zstdDecompressSync(bytes.subarray(ASSET_MAGIC.length), { chunkSize: 1024 * 1024 });
  const headerBytes = payload.readUInt32LE(0);
  const header = JSON.parse(payload.toString("utf8", 4, 4 + headerBytes)) as AssetHeader;
  const sections = new Map<string, Uint8Array>();
  let at = 4 + headerBytes;
  for (const { name, byteLength } of header.sections) {
    sections.set(name, payload.subarray(at, at + byteLength));
    at += byteLength;
  }
  invariant(at === payload.length, "tokenizer asset is cut short");
  return {
    header,
    section(name) {
      const found = sections.get(name);
      invariant(found !== undefined, `tokenizer asset has no section ${name}`);
      return found;
    },
  };
}

/** Reads numbers from byte planes: `bytesPerNumber` planes of equal length, one after another. */
export function readBytePlanes(section: Uint8Array, bytesPerNumber: number): Int32Array {
  const count = section.length / bytesPerNumber;
  const numbers = sharedInt32(count);
  for (let plane = 0; plane < bytesPerNumber; plane++) {
    const shift = plane * 8;
    const offset = plane * count;
    for (let i = 0; i < count; i++) numbers[i] = (numbers[i] as number) | ((section[offset + i] as number) << shift);
  }
  return numbers;
}

export function readBytePlanes16(section: Uint8Array): Uint16Array {
  const count = section.length / 2;
  const numbers = sharedUint16(count);
  for (let i = 0; i < count; i++) numbers[i] = (section[i] as number) | ((section[count + i] as number) << 8);
  return numbers;
}

/** Shared memory, so that worker threads use the tables of the main thread. */
export const sharedInt32 = (length: number): Int32Array => new Int32Array(new SharedArrayBuffer(length * 4));
export const sharedUint16 = (length: number): Uint16Array => new Uint16Array(new SharedArrayBuffer(length * 2));
export const sharedUint8 = (length: number): Uint8Array => new Uint8Array(new SharedArrayBuffer(length));

export function copyToSharedMemory(bytes: Uint8Array): Uint8Array {
  const shared = sharedUint8(bytes.length);
  shared.set(bytes);
  return shared;
}
