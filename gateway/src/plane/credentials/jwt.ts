/**
 * JWTs in NATS's format, signed with Ed25519. Operators sign accounts, accounts sign users. The claims are defined by the files that create
 * them.
 */
import { createHash } from "node:crypto";
import { base32Encode, type SigningKey } from "./nkeys.ts";

const HEADER = base64url({ typ: "JWT", alg: "ed25519-nkey" });

interface CommonClaims {
  /** Unix seconds, the precision of JWTs. */
  iat: number;
  /** The subject's public key. */
  sub: string;
  name: string;
  /** Claims that this version does not read. */
  [claim: string]: unknown;
}

export function signJwt(signer: SigningKey, claims: CommonClaims): string {
  const issued = { ...claims, iss: signer.publicKey, jti: "" };
  // NATS tools name a token by the hash of its claims.
  const jti = base32Encode(createHash("sha512-256").update(JSON.stringify(issued)).digest());
  const signed = `${HEADER}.${base64url({ ...issued, jti })}`;
  return `${signed}.${signer.sign(Buffer.from(signed)).toString("base64url")}`;
}

/** The parsed JSON of a JWT segment, without a check of the signature; undefined when it is not JSON. */
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
