/** Test helper: computes the codes of an authenticator app. */
import { createHmac } from "node:crypto";

const STEP_S = 30;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** The six digits for a base32 secret. `steps`: how many periods of 30 s from now. */
export function computeAuthenticatorCode(secret: string, steps = 0): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 1000 / STEP_S) + steps));
  const digest = createHmac("sha1", fromBase32(secret)).update(counter).digest();
  const offset = digest.readUInt8(digest.length - 1) & 15;
  return String((digest.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

function fromBase32(text: string): Buffer {
  let [bits, held] = [0n, 0];
  const bytes: number[] = [];
  for (const char of text.replace(/=+$/, "")) {
    bits = (bits << 5n) | BigInt(ALPHABET.indexOf(char));
    held += 5;
    if (held >= 8) {
      held -= 8;
      bytes.push(Number((bits >> BigInt(held)) & 255n));
    }
  }
  return Buffer.from(bytes);
}
