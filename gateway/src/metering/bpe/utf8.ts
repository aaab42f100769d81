/** Converts UTF-16 to UTF-8 without strings. */
import { codePointAt } from "../character-classes.ts";

/** The most UTF-8 bytes of one UTF-16 unit. */
export const BYTES_PER_UNIT_MAX = 3;

/** Writes `units[from..to)`, which must be well-formed, to `bytes` at `at`. Returns the end. */
export function writeUtf8(units: Uint16Array, from: number, to: number, bytes: Uint8Array, at: number): number {
  let write = at;
  for (let i = from; i < to; i++) {
    const unit = units[i] as number;
    if (unit < 0x80) {
      bytes[write++] = unit;
    } else if (unit < 0x800) {
      bytes[write++] = 0xc0 | (unit >> 6);
      bytes[write++] = 0x80 | (unit & 0x3f);
    } else if ((unit & 0xf800) !== 0xd800) {
      bytes[write++] = 0xe0 | (unit >> 12);
      bytes[write++] = 0x80 | ((unit >> 6) & 0x3f);
      bytes[write++] = 0x80 | (unit & 0x3f);
    } else {
      const codePoint = codePointAt(units, i++);
      bytes[write++] = 0xf0 | (codePoint >> 18);
      bytes[write++] = 0x80 | ((codePoint >> 12) & 0x3f);
      bytes[write++] = 0x80 | ((codePoint >> 6) & 0x3f);
      bytes[write++] = 0x80 | (codePoint & 0x3f);
    }
  }
  return write;
}
