/** Test helper: hashes passwords with scrypt at a thousandth of the cost. */
import { randomBytes, scryptSync, timingSafeEqual } from "node:crypto";
import type { PasswordHash } from "../password-hash.ts";

const KEY_BYTES = 64;
const CHEAP = { N: 16, r: 16, p: 1 };

export const cheapPasswordHash: PasswordHash = {
  async hash(password) {
    const salt = randomBytes(16).toString("hex");
    return `${salt}:${keyOf(password, salt).toString("hex")}`;
  },
  async verify({ hash, password }) {
    const [salt = "", key = ""] = hash.split(":");
    return timingSafeEqual(keyOf(password, salt), Buffer.from(key, "hex"));
  },
};

const keyOf = (password: string, salt: string): Buffer =>
  scryptSync(password.normalize("NFKC"), salt, KEY_BYTES, CHEAP);
