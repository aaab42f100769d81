/** Signs a cookie in the same way as the sign-in library better-auth. `identities.test.ts` checks that both agree. */
import { createHmac } from "node:crypto";

export function signCookieValue(text: string, secret: string): string {
  const signature = createHmac("sha256", secret).update(text).digest("base64");
  return encodeURIComponent(`${text}.${signature}`);
}
