/**
 * IDs are UUIDv7 (48 bits of time, then randomness), so that they sort by age. PostgreSQL stores them as `uuid`. People
 * and APIs see a prefix and 26 lowercase characters of Crockford Base32 (`req_06dfk…`).
 */
import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const VALUE = new Map([...ALPHABET].map((char, value) => [char, BigInt(value)]));
const CODES = Buffer.from(ALPHABET, "latin1");
const SUFFIX_LENGTH = 26;
/** A buffer in which a suffix is built. A string that grows by single characters would stay a list of its parts. */
const scratch = Buffer.alloc(SUFFIX_LENGTH);
const [DASH, ZERO, NINE, LETTER_A] = ["-", "0", "9", "a"].map((char) => char.charCodeAt(0)) as [
  number,
  number,
  number,
  number,
];
const SUFFIX = /^[0-9a-hjkmnp-tv-z]{26}$/;
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const PREFIXES = ["req", "key", "acc", "node", "pay", "evt", "usr", "hst", "inv", "ntf", "dlv", "inc"] as const;
type Prefix = (typeof PREFIXES)[number];

/** A UUID in its usual text form, as PostgreSQL reads and writes it. */
export type Uuid = string & { readonly __uuid: true };

export type NewId = () => Uuid;

/**
 * Within a millisecond, IDs sort in the order of creation: the 12 bits after the time are a counter with a random
 * start.
 */
export function newIds(clock: Clock, random: Random): NewId {
  const bytes = new Uint8Array(16);
  const view = Buffer.from(bytes.buffer);
  let lastMs = -1;
  let count = 0;
  return () => {
    random.fill(bytes);
    const nowMs = clock.now();
    count = nowMs === lastMs ? count + 1 : view.readUInt16BE(6) & 0x7ff;
    lastMs = nowMs;
    view.writeUIntBE(nowMs, 0, 6);
    view.writeUInt16BE(0x7000 | (count & 0xfff), 6);
    view[8] = 0x80 | (view.readUInt8(8) & 0x3f);
    return hexToUuid(view.toString("hex"));
  };
}

function hexToUuid(hex: string): Uuid {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}` as Uuid;
}

/** The 26 characters that stand for a UUID in APIs. */
export function publicIdSuffix(id: Uuid): string {
  // The 128 bits are split into 26 groups of five. The first group has only three bits.
  let length = 0;
  let bits = 0;
  let count = 2;
  for (let i = 0; i < id.length; i++) {
    const code = id.charCodeAt(i);
    if (code === DASH) continue;
    bits = (bits << 4) | (code <= NINE ? code - ZERO : code - LETTER_A + 10);
    count += 4;
    if (count < 5) continue;
    count -= 5;
    scratch[length++] = CODES[bits >> count] as number;
    bits &= (1 << count) - 1;
  }
  return scratch.toString("latin1", 0, length);
}

export function publicId(prefix: Prefix, id: Uuid): string {
  return `${prefix}_${publicIdSuffix(id)}`;
}

/** Returns the UUID of `prefix_suffix`, or undefined if the text is not an ID with this prefix. */
export function parseId(prefix: Prefix, text: string): Uuid | undefined {
  if (!text.startsWith(`${prefix}_`)) return undefined;
  const suffix = text.slice(prefix.length + 1);
  if (!SUFFIX.test(suffix)) return undefined;
  let value = 0n;
  for (const char of suffix) value = (value << 5n) | (VALUE.get(char) as bigint);
  if (value >> 128n !== 0n) return undefined;
  return hexToUuid(value.toString(16).padStart(32, "0"));
}

/** Returns the Unix time in milliseconds at which a UUIDv7 was created. */
export function creationTimeMsOf(id: Uuid): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

/** Draws `length` characters evenly from 0-9A-Za-z. */
export function makeBase62(random: Random, length: number): string {
  let out = "";
  for (let i = 0; i < length; i++) out += BASE62.charAt(random.below(62));
  return out;
}
