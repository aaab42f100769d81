/**
 * Re-signs session cookies and links while the signing secret is replaced. The sign-in library supports only one
 * secret, so signatures of another valid secret are replaced before the library is called.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { COOKIE_PREFIX } from "./better-auth-constants.ts";

export interface SessionSignatureReplacer {
  /** Re-signs the cookies of a `Cookie` header. */
  cookies(header: string): string;
  /** Re-signs a JWT from a link. */
  token(jwt: string): string;
}

export function createSessionSignatureReplacer({
  secret,
  others,
}: {
  secret: string;
  others: string[];
}): SessionSignatureReplacer {
  /** Returns our signature of the text if another valid secret signed it, otherwise the given signature. */
  const resigned = (text: string, signature: string, encoding: "base64" | "base64url"): string => {
    const signedWith = (key: string): string => createHmac("sha256", key).update(text).digest(encoding);
    return others.some((other) => isSame(signedWith(other), signature)) ? signedWith(secret) : signature;
  };
  return {
    cookies: (header) =>
      header
        .split(/;\s*/)
        .map((pair) => {
          const [name = "", value] = split(pair, pair.indexOf("="));
          if (value === undefined || !name.includes(`${COOKIE_PREFIX}.`)) return pair;
          const decoded = decode(value);
          const [text, signature] = split(decoded, decoded.lastIndexOf("."));
          if (text === undefined || signature === undefined) return pair;
          return `${name}=${encodeURIComponent(`${text}.${resigned(text, signature, "base64")}`)}`;
        })
        .join("; "),
    token(jwt) {
      const [text, signature] = split(jwt, jwt.lastIndexOf("."));
      return text === undefined || signature === undefined ? jwt : `${text}.${resigned(text, signature, "base64url")}`;
    },
  };
}

/** The parts of the text before and after the position `at`. */
const split = (text: string, at: number): [string, string] | [] =>
  at < 1 ? [] : [text.slice(0, at), text.slice(at + 1)];

const isSame = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));

function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value; // No valid secret signed this value.
  }
}
