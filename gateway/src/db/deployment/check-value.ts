/**
 * Recognises a secret without keeping it: an HMAC under the secret, of a salt that is drawn for each record. Two databases with the same
 * secret have different values, and nothing is learned from one but whether a secret that someone has is the same.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

const macOf = (secret: string, salt: string): Buffer =>
  createHmac("sha256", secret).update(`tollgate deployment ${salt}`).digest();

export function checkValueOf(secret: string, salt = randomBytes(16).toString("base64url")): string {
  return `${salt}.${macOf(secret, salt).toString("base64url")}`;
}

/** Takes the same time whatever differs. */
export function isCheckValueOf(value: string, secret: string): boolean {
  const [salt = "", mac = ""] = value.split(".");
  const [expected, found] = [macOf(secret, salt), Buffer.from(mac, "base64url")];
  return found.length === expected.length && timingSafeEqual(found, expected);
}
