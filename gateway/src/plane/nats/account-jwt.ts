/**
 * Reads and changes the account's JWT on the NATS servers. Tollgate changes only the revoked keys, the tag with the
 * plane's deployment and the signing keys. It keeps everything else, so that operators may change limits with other
 * tools. Pure.
 */
import { z } from "zod";
import { readSegment } from "../credentials/jwt.ts";
import { CREDENTIAL_TTL_MS_MAX } from "../credentials/user-jwt.ts";

/** Maps a user's public key to the Unix second up to which its credentials are revoked. */
const RevokedKeys = z.record(z.string(), z.number().int());
export type RevokedKeys = z.infer<typeof RevokedKeys>;

const AccountClaims = z.looseObject({
  iat: z.number().int(),
  name: z.string(),
  sub: z.string(),
  nats: z.looseObject({
    type: z.literal("account"),
    revocations: RevokedKeys.optional(),
    tags: z.array(z.string()).optional(),
    /** Public keys. Scoped signing keys of an operator's own tools are objects and stay unchanged. */
    signing_keys: z.array(z.unknown()).optional(),
  }),
});
export type AccountClaims = z.infer<typeof AccountClaims>;

/**
 * Parses an account's JWT. Returns undefined for any other text. The server that sent it has verified its signature.
 */
export function readAccountJwt(jwt: string): AccountClaims | undefined {
  return AccountClaims.safeParse(readSegment(jwt.split(".")[1])).data;
}

/** Parses revocations that another gateway announced. Returns undefined if they are malformed. */
export function readRevokedKeys(payload: Uint8Array): RevokedKeys | undefined {
  return RevokedKeys.safeParse(JSON.parse(Buffer.from(payload).toString())).data;
}

export function readRevokedUntilS({ nats }: AccountClaims, userKey: string): number | undefined {
  return nats.revocations?.[userKey];
}

/** Whether the account contains all of these revocations, each at the given second or later. */
export function includesRevocations(account: AccountClaims, revoked: RevokedKeys): boolean {
  return Object.entries(revoked).every(([key, untilS]) => (readRevokedUntilS(account, key) ?? -1) >= untilS);
}

/** Drops revocations that are older than any valid credential. */
export function dropExpiredRevocations(revoked: RevokedKeys, nowS: number): RevokedKeys {
  const oldestS = nowS - CREDENTIAL_TTL_MS_MAX / 1000;
  return Object.fromEntries(Object.entries(revoked).filter(([, untilS]) => untilS >= oldestS));
}

export function mergeRevokedKeys(one: RevokedKeys, other: RevokedKeys): RevokedKeys {
  const merged = { ...one };
  for (const [key, untilS] of Object.entries(other)) merged[key] = Math.max(merged[key] ?? -1, untilS);
  return merged;
}

const DEPLOYMENT_TAG = "deployment:";

/** The ID of the deployment that owns the plane. Undefined if none does. */
export function readDeploymentTag({ nats }: AccountClaims): string | undefined {
  return nats.tags?.find((tag) => tag.startsWith(DEPLOYMENT_TAG))?.slice(DEPLOYMENT_TAG.length);
}

export function withDeployment(account: AccountClaims, deployment: string): AccountClaims {
  const others = (account.nats.tags ?? []).filter((tag) => !tag.startsWith(DEPLOYMENT_TAG));
  return { ...account, nats: { ...account.nats, tags: [...others, `${DEPLOYMENT_TAG}${deployment}`] } };
}

/** The keys that sign for the account besides its own key. */
export const listSigningKeys = ({ nats }: AccountClaims): string[] =>
  (nats.signing_keys ?? []).filter((key) => typeof key === "string");

export function withSigningKeys(account: AccountClaims, keys: string[], nowS: number): AccountClaims {
  const scoped = (account.nats.signing_keys ?? []).filter((key) => typeof key !== "string");
  const nats = { ...account.nats, signing_keys: [...scoped, ...keys] };
  return { ...account, iat: Math.max(nowS, account.iat + 1), nats };
}

/**
 * Adds revocations to the claims. Each version is dated after its predecessor, because servers that were separated keep
 * the later version.
 */
export function addRevokedKeys(account: AccountClaims, revoked: RevokedKeys, nowS: number): AccountClaims {
  const revocations = mergeRevokedKeys(dropExpiredRevocations(account.nats.revocations ?? {}, nowS), revoked);
  return { ...account, iat: Math.max(nowS, account.iat + 1), nats: { ...account.nats, revocations } };
}
