/** Reads the size of a WebP or SVG picture, so that pages do not shift when it loads. */
export function readPictureSize(file: Uint8Array): { width: number; height: number } {
  const svg = /^<svg [^>]*?width="(\d+)" height="(\d+)"/.exec(Buffer.from(file.subarray(0, 300)).toString());
  return svg === null ? webpSize(file) : { width: Number(svg[1]), height: Number(svg[2]) };
}

function webpSize(file: Uint8Array): { width: number; height: number } {
  const bytes = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const name = (from: number): string => String.fromCharCode(...file.subarray(from, from + 4));
  if (file.length < 30 || name(0) !== "RIFF" || name(8) !== "WEBP")
    throw new Error("this is no WebP picture, and no SVG with its size");
  const threeBytes = (from: number): number => bytes.getUint16(from, true) | (bytes.getUint8(from + 2) << 16);
  switch (name(12)) {
    case "VP8X":
      return { width: threeBytes(24) + 1, height: threeBytes(27) + 1 };
    case "VP8 ":
      return { width: bytes.getUint16(26, true) & 0x3fff, height: bytes.getUint16(28, true) & 0x3fff };
    case "VP8L": {
      const both = bytes.getUint32(21, true);
      return { width: (both & 0x3fff) + 1, height: ((both >>> 14) & 0x3fff) + 1 };
    }
    default:
      throw new Error(`a WebP picture of an unknown kind: ${name(12)}`);
  }
}
