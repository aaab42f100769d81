/** Signs a cookie like better-auth; `identities.test.ts` checks that they agree. */
import { createHmac } from "node:crypto";

export function signedValue(text: string, secret: string): string {
  const signature = createHmac("sha256", secret).update(text).digest("base64");
  return encodeURIComponent(`${text}.${signature}`);
}
