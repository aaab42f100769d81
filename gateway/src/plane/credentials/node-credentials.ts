/**
 * Issues a node's credentials: a key of its own, and a JWT for exactly the node's subjects. The key is derived from the
 * account's key and the node's ID, so every gateway of an account issues the same key. Revoking this key up to the
 * present therefore covers all credentials that the node ever received, and no list of them is needed.
 */
import { createHmac } from "node:crypto";
import { nodePermissions } from "@tollgate/protocol/nats-subjects.ts";
import { invariant } from "../../base/invariant.ts";
import { HOUR_MS } from "../../base/time.ts";
import type { NodeCredentials } from "../plane.ts";
import { keyFromBytes, type SigningKey } from "./nkeys.ts";
import { CREDENTIAL_TTL_MS_MAX, isNodeId, mintUserJwt } from "./user-jwt.ts";

export const CREDENTIAL_TTL_MS = HOUR_MS;
export const NODE_SUBSCRIPTIONS_MAX = 16;
export const NODE_CONNECTIONS_MAX = 4;
/** The largest message in bytes: the default limit of a NATS server. */
export const PAYLOAD_BYTES_MAX = 1024 * 1024;

export function deriveNodeKey(account: SigningKey, nodeId: string): SigningKey {
  invariant(isNodeId(nodeId), "a node ID must not be empty or contain dots, spaces, * or >");
  return keyFromBytes("user", createHmac("sha256", account.seed).update(`node key of ${nodeId}`).digest());
}

/**
 * Returns the issue date for a new credential. JWTs have whole seconds, so a revocation and a later credential can be
 * in the same second. A credential after a revocation is dated at least a second later, so that exactly those with `iat
 * <= revokedUntilS` are revoked.
 */
export function chooseIssueSecond(nowMs: number, revokedUntilS: number | undefined): number {
  return Math.max(Math.floor(nowMs / 1000), (revokedUntilS ?? -1) + 1);
}

interface NodeGrant {
  nodeId: string;
  /** The public key of the node's NATS account. Set only if a separate signing key signs for the account. */
  issuerAccount?: string | undefined;
  /** The address that the node connects to. */
  url: string;
  /** The second at which the credentials count as issued (see `chooseIssueSecond`), in Unix seconds. */
  issuedAtS: number;
  nowMs: number;
  ttlMs: number;
  limits?: { subscriptionsMax: number; payloadBytesMax: number };
}

export function issueNodeCredentials(account: SigningKey, grant: NodeGrant): NodeCredentials {
  const { nodeId, issuerAccount, url, issuedAtS, nowMs, ttlMs, limits } = grant;
  const user = deriveNodeKey(account, nodeId);
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

/** Throws if the lifetime is invalid, which stops the gateway's start. */
export function checkTtl(ttlMs: number): number {
  invariant(ttlMs >= 1000 && ttlMs <= CREDENTIAL_TTL_MS_MAX, "credentials live between a second and a day");
  return ttlMs;
}
