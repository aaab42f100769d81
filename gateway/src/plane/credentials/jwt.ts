/**
 * JWTs in NATS's format, signed with Ed25519. Operators sign accounts, accounts sign users. Which claims a token has is
 * decided by the files that create them.
 */
import { createHash } from "node:crypto";
import { base32Encode, type SigningKey } from "./nkeys.ts";

const HEADER = base64url({ typ: "JWT", alg: "ed25519-nkey" });

interface CommonClaims {
  /** The issue date in Unix seconds, the precision of JWTs. */
  iat: number;
  /** The public key of the token's subject. */
  sub: string;
  name: string;
  /** Claims that this version does not read. */
  [claim: string]: unknown;
}

export function signJwt(signer: SigningKey, claims: CommonClaims): string {
  const issued = { ...claims, iss: signer.publicKey, jti: "" };
  // NATS tools identify a token by the hash of its claims.
  const jti = base32Encode(createHash("sha512-256").update(JSON.stringify(issued)).digest());
  const signed = `${HEADER}.${base64url({ ...issued, jti })}`;
  return `${signed}.${signer.sign(Buffer.from(signed)).toString("base64url")}`;
}

/** Parses the JSON of a JWT segment without checking the signature. Returns undefined when it is not JSON. */
export function readSegment(segment: string | undefined): unknown {
  if (segment === undefined) return undefined;
  try {
    return JSON.parse(Buffer.from(segment, "base64url").toString());
  } catch {
    return undefined; // Not JSON: returns undefined, which every schema refuses.
  }
}

function base64url(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
