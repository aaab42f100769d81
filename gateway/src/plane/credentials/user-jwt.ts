/**
 * Creates and verifies NATS user JWTs, which nodes and gateways present when they connect. The account's key signs a
 * name, the user's public key, the allowed subjects and an expiry. The hub and NATS servers read the same format.
 */
import type { SubjectPermissions } from "@tollgate/protocol/nats-subjects.ts";
import { z } from "zod";
import { invariant } from "../../base/invariant.ts";
import { DAY_MS } from "../../base/time.ts";
import { isPattern } from "../subject-patterns.ts";
import { readSegment, signJwt } from "./jwt.ts";
import { parsePublicKey, type SigningKey, type VerifyingKey } from "./nkeys.ts";

/** The longest lifetime of a node's credential. Older revocations can be dropped. */
export const CREDENTIAL_TTL_MS_MAX = DAY_MS;
export const JWT_CHARS_MAX = 4096;
const PATTERNS_MAX = 16;
/** A node ID is a single token of a subject. Without dots, wildcards or spaces it cannot match other subjects. */
const NODE_ID = /^[A-Za-z0-9_-]{1,64}$/;

export const isNodeId = (text: string): boolean => NODE_ID.test(text);

export interface UserGrant {
  /** The ID of a node, or for a gateway a name that no node ID can equal. */
  name: string;
  /** The public key of the user's NATS account. Set only if a separate signing key signs for the account. */
  issuerAccount?: string | undefined;
  /** The public key of the user. When connecting, the user proves possession of the private key. */
  userKey: string;
  issuedAtS: number;
  /** The expiry in Unix seconds. Undefined: none. The hub refuses credentials without an expiry. */
  expiresAtS: number | undefined;
  notBeforeS?: number;
  subscriptionsMax: number;
  payloadBytesMax: number;
  permissions: SubjectPermissions;
}

export function mintUserJwt(account: SigningKey, grant: UserGrant): string {
  invariant(account.role === "account", "user credentials are signed by an account");
  const jwt = signJwt(account, {
    iat: grant.issuedAtS,
    name: grant.name,
    sub: grant.userKey,
    ...(grant.expiresAtS !== undefined && { exp: grant.expiresAtS }),
    ...(grant.notBeforeS !== undefined && { nbf: grant.notBeforeS }),
    nats: {
      pub: { allow: grant.permissions.publish },
      sub: { allow: grant.permissions.subscribe },
      subs: grant.subscriptionsMax,
      data: -1,
      payload: grant.payloadBytesMax,
      // Excludes leaf nodes, WebSocket and MQTT.
      allowed_connection_types: ["STANDARD"],
      ...(grant.issuerAccount !== undefined && { issuer_account: grant.issuerAccount }),
      type: "user",
      version: 2,
    },
  });
  invariant(jwt.length <= JWT_CHARS_MAX, "a minted credential is one that verification reads");
  return jwt;
}

export interface Claims {
  nodeId: string;
  user: VerifyingKey;
  issuedAtS: number;
  expiresAtS: number;
  permissions: SubjectPermissions;
  subscriptionsMax: number;
  payloadBytesMax: number;
}

export type JwtRefusal =
  | "malformed"
  | "foreign_account"
  | "bad_signature"
  | "bad_claims"
  | "lives_too_long"
  | "not_yet_valid"
  | "expired";

type JwtVerdict = { ok: true; claims: Claims } | { ok: false; refusal: JwtRefusal };

const seconds = z.number().int().nonnegative();
const patterns = z.object({ allow: z.array(z.string().max(256).refine(isPattern)).max(PATTERNS_MAX) });
/** NATS writes "unlimited" as -1. */
const limit = z
  .number()
  .int()
  .min(-1)
  .transform((value) => (value === -1 ? Number.POSITIVE_INFINITY : value));
const claimsSchema = z.object({
  iss: z.string(),
  sub: z.string(),
  name: z.string().regex(NODE_ID),
  iat: seconds,
  exp: seconds,
  nbf: seconds.optional(),
  nats: z.object({ type: z.literal("user"), pub: patterns, sub: patterns, subs: limit, payload: limit }),
});
const headerSchema = z.object({ typ: z.string().regex(/^jwt$/i), alg: z.literal("ed25519-nkey") });
const issuerSchema = z.object({ iss: z.string() });

/**
 * Verifies the account's signature and the dates, and returns the claims. The caller verifies possession of the user's
 * private key.
 */
export function verifyJwt(accounts: VerifyingKey[], jwt: string, nowMs: number): JwtVerdict {
  const refuse = (refusal: JwtRefusal): JwtVerdict => ({ ok: false, refusal });
  const [header, body, signature, ...rest] = jwt.length > JWT_CHARS_MAX ? [] : jwt.split(".");
  if (header === undefined || body === undefined || signature === undefined || rest.length > 0) {
    return refuse("malformed");
  }
  const unverified = readSegment(body);
  const issuer = issuerSchema.safeParse(unverified);
  if (!headerSchema.safeParse(readSegment(header)).success || !issuer.success) return refuse("malformed");
  const account = accounts.find(({ publicKey }) => publicKey === issuer.data.iss);
  if (account === undefined) return refuse("foreign_account");
  const genuine = account.verify(Buffer.from(`${header}.${body}`), Buffer.from(signature, "base64url"));
  if (!genuine) return refuse("bad_signature");

  const parsed = claimsSchema.safeParse(unverified);
  if (!parsed.success) return refuse("bad_claims");
  const { sub, name, iat, exp, nbf, nats } = parsed.data;
  const user = parsePublicKey("user", sub);
  if (user === undefined) return refuse("bad_claims");
  if ((exp - iat) * 1000 > CREDENTIAL_TTL_MS_MAX) return refuse("lives_too_long");
  if (nbf !== undefined && nowMs < nbf * 1000) return refuse("not_yet_valid");
  if (nowMs >= exp * 1000) return refuse("expired");
  return {
    ok: true,
    claims: {
      nodeId: name,
      user,
      issuedAtS: iat,
      expiresAtS: exp,
      permissions: { publish: nats.pub.allow, subscribe: nats.sub.allow },
      subscriptionsMax: nats.subs,
      payloadBytesMax: nats.payload,
    },
  };
}
