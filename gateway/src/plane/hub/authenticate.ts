/** Decides from a connection's CONNECT line what the connection may do. */
import { z } from "zod";
import type { VerifyingKey } from "../credentials/nkeys.ts";
import { type Claims, JWT_CHARS_MAX, type JwtRefusal, verifyJwt } from "../credentials/user-jwt.ts";
import type { Revocations } from "./revocations.ts";

/** The fields of CONNECT that are used. Clients send more. `pedantic` requests checks that the hub always makes. */
const connectSchema = z.object({
  jwt: z.string().max(JWT_CHARS_MAX),
  sig: z.string().max(128),
  verbose: z.boolean().optional(),
});

type Refusal = JwtRefusal | "bad_connect" | "revoked" | "wrong_key";

type Verdict =
  | { ok: true; claims: Claims; verbose: boolean }
  | { ok: false; refusal: Refusal; nodeId: string | undefined };

export interface AcceptedCredentials {
  /** The accounts whose credentials are accepted, including the previous one. */
  accounts: VerifyingKey[];
  revocations: Revocations;
}

export function authenticate(verifier: AcceptedCredentials, options: string, nonce: string, nowMs: number): Verdict {
  const connect = parseConnect(options);
  if (connect === undefined) return { ok: false, refusal: "bad_connect", nodeId: undefined };
  const verdict = verifyJwt(verifier.accounts, connect.jwt, nowMs);
  if (!verdict.ok) return { ...verdict, nodeId: undefined };
  const { claims } = verdict;
  const { nodeId } = claims;
  if (verifier.revocations.refuses(nodeId, claims.issuedAtS)) return { ok: false, refusal: "revoked", nodeId };
  // Clients encode the signature in standard or URL-safe Base64. Buffer reads both.
  const proven = claims.user.verify(Buffer.from(nonce), Buffer.from(connect.sig, "base64"));
  if (!proven) return { ok: false, refusal: "wrong_key", nodeId };
  return { ok: true, claims, verbose: connect.verbose === true };
}

function parseConnect(options: string): z.infer<typeof connectSchema> | undefined {
  try {
    return connectSchema.safeParse(JSON.parse(options)).data;
  } catch {
    return undefined; // Not JSON: refused as "bad_connect".
  }
}
