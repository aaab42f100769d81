/** For tests: reads the files of a ZIP file by its central directory, as other programs do. */
import assert from "node:assert/strict";
import { crc32, inflateRawSync } from "node:zlib";

export function readZip(zip: Buffer): Record<string, string> {
  const end = zip.length - 22;
  assert.equal(zip.readUInt32LE(end), 0x06054b50);
  const files: Record<string, string> = {};
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    const [packed, size, nameLength, offset] = [20, 24]
      .map((o) => zip.readUInt32LE(at + o))
      .concat(zip.readUInt16LE(at + 28), zip.readUInt32LE(at + 42)) as [number, number, number, number];
    const name = zip.toString("utf8", at + 46, at + 46 + nameLength);
    const data = offset + 30 + zip.readUInt16LE(offset + 26);
    const text = inflateRawSync(zip.subarray(data, data + packed));
    assert.deepEqual([text.length, crc32(text)], [size, zip.readUInt32LE(at + 16)]);
    files[name] = text.toString();
    at += 46 + nameLength;
  }
  return files;
}
