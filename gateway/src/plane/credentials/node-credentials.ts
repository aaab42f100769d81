/**
 * A node's credentials: its own key, and a JWT for exactly its subjects. The key is derived from the account's key and the node's id, so
 * every gateway of an account issues the same one. Revoking this key up to now therefore covers everything the node ever received, without
 * a list.
 */
import { createHmac } from "node:crypto";
import { nodePermissions } from "@tollgate/protocol/subjects.ts";
import { invariant } from "../../base/invariant.ts";
import type { NodeCredentials } from "../plane.ts";
import { keyFromBytes, type SigningKey } from "./nkeys.ts";
import { CREDENTIAL_TTL_MS_MAX, isNodeId, mintUserJwt } from "./user-jwt.ts";

export const CREDENTIAL_TTL_MS = 60 * 60 * 1000;
export const NODE_SUBSCRIPTIONS_MAX = 16;
/** The default limit of a NATS server. */
export const PAYLOAD_BYTES_MAX = 1024 * 1024;

export function nodeKey(account: SigningKey, nodeId: string): SigningKey {
  invariant(isNodeId(nodeId), "a node ID must not be empty or contain dots, spaces, * or >");
  return keyFromBytes("user", createHmac("sha256", account.seed).update(`node key of ${nodeId}`).digest());
}

/**
 * The issue date for a new credential. JWTs have whole seconds, so a revocation and a later credential can fall into the same second.
 * Credentials after a revocation are dated at least a second later, so that exactly those with `iat <= revokedUntilS` are revoked.
 */
export function issueSecond(nowMs: number, revokedUntilS: number | undefined): number {
  return Math.max(Math.floor(nowMs / 1000), (revokedUntilS ?? -1) + 1);
}

interface NodeGrant {
  nodeId: string;
  /** The account of the node, when a key other than the account's own signs. */
  issuerAccount?: string | undefined;
  /** The address that the node connects to. */
  url: string;
  /** From `issueSecond`. */
  issuedAtS: number;
  nowMs: number;
  ttlMs: number;
  limits?: { subscriptionsMax: number; payloadBytesMax: number };
}

export function issueNodeCredentials(account: SigningKey, grant: NodeGrant): NodeCredentials {
  const { nodeId, issuerAccount, url, issuedAtS, nowMs, ttlMs, limits } = grant;
  const user = nodeKey(account, nodeId);
  const expiresAtS = Math.floor((nowMs + ttlMs) / 1000);
  const jwt = mintUserJwt(account, {
    name: nodeId,
    issuerAccount,
    userKey: user.publicKey,
    issuedAtS,
    expiresAtS,
    subscriptionsMax: limits?.subscriptionsMax ?? NODE_SUBSCRIPTIONS_MAX,
    payloadBytesMax: limits?.payloadBytesMax ?? PAYLOAD_BYTES_MAX,
    permissions: nodePermissions(nodeId),
  });
  return { url, jwt, seed: user.seed, expiresAt: expiresAtS * 1000 };
}

/** Rejects an invalid lifetime, which stops the start. */
export function checkTtl(ttlMs: number): number {
  invariant(ttlMs >= 1000 && ttlMs <= CREDENTIAL_TTL_MS_MAX, "credentials live between a second and a day");
  return ttlMs;
}
