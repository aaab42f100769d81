/**
 * Recognizes a secret without storing it: the check value is an HMAC with the secret over a random salt. Check values
 * of the same secret differ between databases, and reveal only whether a given secret matches.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

const macOf = (secret: string, salt: string): Buffer =>
  createHmac("sha256", secret).update(`tollgate deployment ${salt}`).digest();

export function hashSecretForComparison(secret: string): string {
  const salt = randomBytes(16).toString("base64url");
  return `${salt}.${macOf(secret, salt).toString("base64url")}`;
}

/** Whether the check value belongs to this secret. Compares in constant time. */
export function matchesSecretHash(value: string, secret: string): boolean {
  const [salt = "", mac = ""] = value.split(".");
  const [expected, found] = [macOf(secret, salt), Buffer.from(mac, "base64url")];
  return found.length === expected.length && timingSafeEqual(found, expected);
}
