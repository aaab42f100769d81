/** Reads the part of a GGUF file's metadata that is needed to extract a vocabulary. */
const U8 = 0;
const STRING = 8;
const ARRAY = 9;
/** Sizes of GGUF's fixed-size value types, by type number. */
const SIZES = new Map([
  [U8, 1],
  [1, 1],
  [2, 2],
  [3, 2],
  [4, 4],
  [5, 4],
  [6, 4],
  [7, 1],
  [10, 8],
  [11, 8],
  [12, 8],
]);

export interface GgufArray {
  strings: string[];
  /** The raw elements of an array that does not contain strings. */
  bytes: Buffer;
}

/** The file's arrays by key. */
export function readGgufArrays(file: Buffer): Map<string, GgufArray> {
  let at = 0;
  const skip = (bytes: number): number => {
    at += bytes;
    return at - bytes;
  };
  const u32 = (): number => file.readUInt32LE(skip(4));
  const u64 = (): number => Number(file.readBigUInt64LE(skip(8)));
  const text = (): string => {
    const start = skip(u64());
    return file.toString("utf8", start, at);
  };
  const sizeOf = (type: number): number => {
    const size = SIZES.get(type);
    if (size === undefined) throw new Error(`GGUF type ${type} is not read here`);
    return size;
  };
  if (file.toString("latin1", 0, 4) !== "GGUF") throw new Error("not a GGUF file");
  // Skips magic number, version and tensor count.
  skip(4 + 4 + 8);
  const arrays = new Map<string, GgufArray>();
  for (let left = u64(); left > 0; left--) {
    const key = text();
    const type = u32();
    if (type === STRING) text();
    else if (type !== ARRAY) skip(sizeOf(type));
    else {
      const elementType = u32();
      const count = u64();
      const strings = elementType === STRING ? Array.from({ length: count }, text) : [];
      const start = at;
      if (elementType !== STRING) skip(count * sizeOf(elementType));
      arrays.set(key, { strings, bytes: file.subarray(start, at) });
    }
  }
  return arrays;
}
