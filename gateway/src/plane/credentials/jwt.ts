/**
 * JWTs as NATS signs them: Ed25519 over the text of header and claims. Operators sign accounts, accounts sign users. What
 * the claims say is for the files that make them.
 */
import { createHash } from "node:crypto";
import { base32Encode, type SigningKey } from "./nkeys.ts";

const HEADER = base64url({ typ: "JWT", alg: "ed25519-nkey" });

interface CommonClaims {
  /** Unix seconds: a JWT knows no finer time. */
  iat: number;
  /** The public key of whom it is about. */
  sub: string;
  name: string;
  /** Whatever this version of the house does not read. */
  [claim: string]: unknown;
}

export function signJwt(signer: SigningKey, claims: CommonClaims): string {
  const issued = { ...claims, iss: signer.publicKey, jti: "" };
  // NATS tools name a token by the hash of its claims.
  const jti = base32Encode(createHash("sha512-256").update(JSON.stringify(issued)).digest());
  const signed = `${HEADER}.${base64url({ ...issued, jti })}`;
  return `${signed}.${signer.sign(Buffer.from(signed)).toString("base64url")}`;
}

/** The JSON of a JWT's segment, whoever signed it; undefined when it is none. */
export function readSegment(segment: string | undefined): unknown {
  if (segment === undefined) return undefined;
  try {
    return JSON.parse(Buffer.from(segment, "base64url").toString());
  } catch {
    return undefined; // No schema accepts it.
  }
}

function base64url(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
