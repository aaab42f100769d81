/**
 * nkeys, the text form of Ed25519 keys in NATS: Base32 of a role byte (two for a seed), the 32-byte key and a CRC-16.
 * The role and the checksum catch keys in the wrong place and typing errors.
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import type { Random } from "../../base/random.ts";

/**
 * The role byte decides the first letter of the text: U (user), A (account) or O (operator). A seed starts with S and
 * that letter.
 */
const ROLES = { user: 20 << 3, account: 0, operator: 14 << 3 } as const;
const SEED = 18 << 3;
const KEY_BYTES = 32;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

// The DER bytes before a raw private key of 32 bytes, because node:crypto does not accept raw Ed25519 keys.
const PRIVATE_DER = Buffer.from("302e020100300506032b657004220420", "hex");
const PUBLIC_DER = Buffer.from("302a300506032b6570032100", "hex");

type KeyRole = keyof typeof ROLES;

export interface SigningKey {
  role: KeyRole;
  /** The public key as text. */
  publicKey: string;
  /** The private key as text: a secret. */
  seed: string;
  sign(data: Uint8Array): Buffer;
}

export interface VerifyingKey {
  role: KeyRole;
  publicKey: string;
  verify(data: Uint8Array, signature: Uint8Array): boolean;
}

export class InvalidKeyError extends Error {
  override name = "InvalidKeyError";
}

export function createKey(role: KeyRole, random: Random): SigningKey {
  const raw = Buffer.alloc(KEY_BYTES);
  random.fill(raw);
  return keyFromBytes(role, raw);
}

/** Throws `InvalidKeyError` when the text is not a seed of this role. The message does not repeat the seed. */
export function keyFromSeed(seed: string, wanted?: KeyRole): SigningKey {
  const bytes = decode(seed);
  if (bytes === undefined || bytes.length !== KEY_BYTES + 2) throw new InvalidKeyError("the text is not an nkey seed");
  const [first = 0, second = 0] = bytes;
  const role = roleOf(((first & 0b111) << 5) | (second >> 3));
  if ((first & 0b11111000) !== SEED || role === undefined) throw new InvalidKeyError("the text is not an nkey seed");
  if (wanted !== undefined && role !== wanted)
    throw new InvalidKeyError(`the nkey seed has role ${role}, not ${wanted}`);
  return keyFromBytes(role, bytes.subarray(2));
}

/** Parses a public key. Returns undefined when the text is not a key of this role. */
export function parsePublicKey(role: KeyRole, text: string): VerifyingKey | undefined {
  const bytes = decode(text);
  if (bytes === undefined || bytes.length !== KEY_BYTES + 1 || bytes[0] !== ROLES[role]) return undefined;
  const der = Buffer.concat([PUBLIC_DER, bytes.subarray(1)]);
  const key = createPublicKey({ key: der, format: "der", type: "spki" });
  return { role, publicKey: text, verify: (data, signature) => verify(null, data, key, signature) };
}

/** Creates the key with these 32 secret bytes. */
export function keyFromBytes(role: KeyRole, raw: Buffer): SigningKey {
  const key: KeyObject = createPrivateKey({ key: Buffer.concat([PRIVATE_DER, raw]), format: "der", type: "pkcs8" });
  const publicRaw = createPublicKey(key).export({ format: "der", type: "spki" }).subarray(PUBLIC_DER.length);
  const code = ROLES[role];
  return {
    role,
    publicKey: encode(Buffer.concat([Buffer.of(code), publicRaw])),
    seed: encode(Buffer.concat([Buffer.of(SEED | (code >> 5), (code & 0b11111) << 3), raw])),
    sign: (data) => sign(null, data, key),
  };
}

function roleOf(code: number): KeyRole | undefined {
  for (const role of ["user", "account", "operator"] as const) if (ROLES[role] === code) return role;
  return undefined;
}

function encode(bytes: Buffer): string {
  const check = Buffer.alloc(2);
  check.writeUInt16LE(crc16(bytes));
  return base32Encode(Buffer.concat([bytes, check]));
}

function decode(text: string): Buffer | undefined {
  const bytes = base32Decode(text);
  if (bytes === undefined || bytes.length < 3) return undefined;
  const body = bytes.subarray(0, -2);
  return crc16(body) === bytes.readUInt16LE(body.length) ? body : undefined;
}

/** CRC-16/XMODEM. */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  }
  return crc;
}

/** Base32 without padding, in the alphabet of RFC 4648. */
export function base32Encode(bytes: Uint8Array): string {
  let text = "";
  let value = 0;
  let bits = 0;
  for (const byte of bytes) {
    value = (value << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET.charAt((value >>> bits) & 31);
    }
    value &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + ALPHABET.charAt((value << (5 - bits)) & 31);
}

/**
 * Returns undefined for an unknown character, or if the leftover bits are not zero, so that each key has a single
 * spelling.
 */
export function base32Decode(text: string): Buffer | undefined {
  const bytes = Buffer.alloc(Math.floor((text.length * 5) / 8));
  let at = 0;
  let value = 0;
  let bits = 0;
  for (const char of text) {
    const digit = ALPHABET.indexOf(char);
    if (digit < 0) return undefined;
    value = (value << 5) | digit;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes[at++] = value >>> bits;
      value &= (1 << bits) - 1;
    }
  }
  return value === 0 && bits < 5 ? bytes : undefined;
}
