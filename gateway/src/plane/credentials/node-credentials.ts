/**
 * What a node is handed: a key of its own and a JWT for exactly its subjects. A node's key is drawn from the account's and
 * the node's id, so that every gateway of an account hands out the same one, and "this key, everything issued until now"
 * names all that a node ever got without anyone keeping a list.
 */
import { createHmac } from "node:crypto";
import { nodePermissions } from "@tollgate/protocol/subjects.ts";
import { invariant } from "../../base/invariant.ts";
import type { NodeCredentials } from "../plane.ts";
import { keyFromBytes, type SigningKey } from "./nkeys.ts";
import { CREDENTIAL_TTL_MS_MAX, isNodeId, mintUserJwt } from "./user-jwt.ts";

export const CREDENTIAL_TTL_MS = 60 * 60 * 1000;
export const NODE_SUBSCRIPTIONS_MAX = 16;
/** What a NATS server takes by default. */
export const PAYLOAD_BYTES_MAX = 1024 * 1024;

export function nodeKey(account: SigningKey, nodeId: string): SigningKey {
  invariant(isNodeId(nodeId), "a node ID must not be empty or contain dots, spaces, * or >");
  return keyFromBytes("user", createHmac("sha256", account.seed).update(`node key of ${nodeId}`).digest());
}

/**
 * The second to date a new credential with. JWTs tell time in whole seconds, so "issued before the revocation" and "issued
 * after it" can fall into the same one; what is issued afterwards is dated at least a second later. Then a credential is
 * revoked exactly if `iat <= revokedUntilS`.
 */
export function issueSecond(nowMs: number, revokedUntilS: number | undefined): number {
  return Math.max(Math.floor(nowMs / 1000), (revokedUntilS ?? -1) + 1);
}

interface NodeGrant {
  nodeId: string;
  /** Whose node it is, where another key than the account's own signs for it. */
  issuerAccount?: string | undefined;
  /** Where the node connects. */
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

/** A life of no sense stops the start. */
export function checkTtl(ttlMs: number): number {
  invariant(ttlMs >= 1000 && ttlMs <= CREDENTIAL_TTL_MS_MAX, "credentials live between a second and a day");
  return ttlMs;
}
