/** A cookie's value as better-auth signs it; `identities.test.ts` holds it to that. */
import { createHmac } from "node:crypto";

export function signedValue(text: string, secret: string): string {
  const signature = createHmac("sha256", secret).update(text).digest("base64");
  return encodeURIComponent(`${text}.${signature}`);
}
