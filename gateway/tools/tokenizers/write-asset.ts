/** Writes an asset in the format that `src/metering/tokenizer-asset.ts` describes. */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { constants, zstdCompressSync } from "node:zlib";
import { ASSET_MAGIC, type AssetHeader } from "../../src/metering/tokenizer-asset.ts";

/** Splits whole numbers into byte planes: all lowest bytes first, then the next ones. */
export function splitBytePlanes(numbers: ArrayLike<number>, bytesPerNumber: number): Uint8Array {
  const out = new Uint8Array(numbers.length * bytesPerNumber);
  for (let i = 0; i < numbers.length; i++) {
    const number = numbers[i] ?? 0;
    if (number < 0 || number >= 256 ** bytesPerNumber)
      throw new Error(`${number} does not fit ${bytesPerNumber} bytes`);
    for (let plane = 0; plane < bytesPerNumber; plane++) {
      out[plane * numbers.length + i] = Math.floor(number / 256 ** plane) % 256;
    }
  }
  return out;
}

type Described = AssetHeader extends infer Header
  ? Header extends AssetHeader
    ? Omit<Header, "sections">
    : never
  : never;

/** Writes the file and returns its SHA-256. */
export function writeAsset(file: string, described: Described, sections: Record<string, Uint8Array>): string {
  const sizes = Object.entries(sections).map(([name, bytes]) => ({ name, byteLength: bytes.length }));
  const header = Buffer.from(JSON.stringify({ ...described, sections: sizes }));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(header.length);
  const payload = Buffer.concat([length, header, ...Object.values(sections)]);
  const frame = zstdCompressSync(payload, { params: { [constants.ZSTD_c_compressionLevel]: 22 } });
  const bytes = Buffer.concat([Buffer.from(ASSET_MAGIC, "latin1"), frame]);
  writeFileSync(file, bytes);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  console.log(
    `${described.kind} ${file.split("/").at(-1)} ${bytes.length} bytes (${payload.length} unpacked) ${sha256}`,
  );
  return sha256;
}
