/**
 * Writes ZIP files while their contents are read, so that no file is in memory as a whole. Sizes are written after each
 * file's data (APPNOTE.TXT 6.3, section 4.3.9).
 */
import { crc32, createDeflateRaw } from "node:zlib";

export interface ZipEntry {
  name: string;
  text: AsyncIterable<string>;
}

interface Written {
  name: Buffer;
  crc: number;
  packed: number;
  size: number;
  offset: number;
}

/** Bit 3: sizes follow the data. Bit 11: names are UTF-8. */
const FLAGS = 0x0808;
const DEFLATE = 8;
const VERSION = 20;
/** The first day that the format can express. The files' contents have their own times, in UTC. */
const DATE = 0x21;
/** The largest size. Larger ones need other fields (ZIP64). */
const BYTES_MAX = 0xffffffff;

export async function* writeZip(entries: AsyncIterable<ZipEntry>): AsyncGenerator<Buffer> {
  const written: Written[] = [];
  let offset = 0;
  const count = (piece: Buffer): Buffer => {
    offset += piece.length;
    if (offset > BYTES_MAX) throw new RangeError("a ZIP file without ZIP64 fields can have at most 4 GiB");
    return piece;
  };
  for await (const { name, text } of entries) {
    const entry: Written = { name: Buffer.from(name), crc: 0, packed: 0, size: 0, offset };
    yield count(Buffer.concat([headOf(entry), entry.name]));
    for await (const piece of packed(text, entry)) {
      entry.packed += piece.length;
      yield count(piece);
    }
    yield count(sizesOf(entry));
    written.push(entry);
  }
  const start = offset;
  for (const entry of written) yield count(Buffer.concat([directoryOf(entry), entry.name]));
  yield endOf(written.length, start, offset - start);
}

/** Compresses a file's text and counts its bytes. Reads the text only as fast as the result is consumed. */
async function* packed(text: AsyncIterable<string>, entry: Written): AsyncGenerator<Buffer> {
  const deflate = createDeflateRaw();
  const feeding = feed();
  for await (const piece of deflate) yield piece as Buffer;
  await feeding;

  async function feed(): Promise<void> {
    try {
      for await (const part of text) {
        const bytes = Buffer.from(part);
        entry.crc = crc32(bytes, entry.crc);
        entry.size += bytes.length;
        if (!deflate.write(bytes)) await new Promise((resolve) => deflate.once("drain", resolve));
      }
      deflate.end();
    } catch (error) {
      deflate.destroy(error as Error);
    }
  }
}

function headOf({ name }: Written): Buffer {
  const head = Buffer.alloc(30);
  head.writeUInt32LE(0x04034b50, 0);
  head.writeUInt16LE(VERSION, 4);
  head.writeUInt16LE(FLAGS, 6);
  head.writeUInt16LE(DEFLATE, 8);
  head.writeUInt16LE(DATE, 12);
  head.writeUInt16LE(name.length, 26);
  return head;
}

function sizesOf({ crc, packed: bytes, size }: Written): Buffer {
  const sizes = Buffer.alloc(16);
  sizes.writeUInt32LE(0x08074b50, 0);
  sizes.writeUInt32LE(crc, 4);
  sizes.writeUInt32LE(bytes, 8);
  sizes.writeUInt32LE(size, 12);
  return sizes;
}

function directoryOf({ name, crc, packed: bytes, size, offset }: Written): Buffer {
  const line = Buffer.alloc(46);
  line.writeUInt32LE(0x02014b50, 0);
  line.writeUInt16LE(VERSION, 4);
  line.writeUInt16LE(VERSION, 6);
  line.writeUInt16LE(FLAGS, 8);
  line.writeUInt16LE(DEFLATE, 10);
  line.writeUInt16LE(DATE, 14);
  line.writeUInt32LE(crc, 16);
  line.writeUInt32LE(bytes, 20);
  line.writeUInt32LE(size, 24);
  line.writeUInt16LE(name.length, 28);
  line.writeUInt32LE(offset, 42);
  return line;
}

function endOf(entries: number, start: number, bytes: number): Buffer {
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries, 8);
  end.writeUInt16LE(entries, 10);
  end.writeUInt32LE(bytes, 12);
  end.writeUInt32LE(start, 16);
  return end;
}
