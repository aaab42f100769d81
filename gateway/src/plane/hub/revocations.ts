/**
 * The revoked credentials of nodes: all that were issued up to a certain time. Kept only in memory, because the gateway
 * repeats revocations after a restart.
 */
import { chooseIssueSecond } from "../credentials/node-credentials.ts";
import { CREDENTIAL_TTL_MS_MAX } from "../credentials/user-jwt.ts";

const FORGET_EVERY_S = 60;

export interface Revocations {
  /** Returns the issue date for a new credential of this node. */
  issueSecond(nodeId: string, nowMs: number): number;
  /** Revokes all credentials that were issued to this node until now. */
  revoke(nodeId: string, nowMs: number): void;
  refuses(nodeId: string, issuedAtS: number): boolean;
}

export function createMemoryRevocations(): Revocations {
  const revokedUntilS = new Map<string, number>();
  // The latest issue date so far. A revocation covers all dates up to it, because the wall clock may be set back after
  // a credential was issued.
  let latestIssueS = 0;
  let forgetAtS = 0;

  const forgetExpired = (nowS: number): void => {
    if (nowS < forgetAtS) return;
    forgetAtS = nowS + FORGET_EVERY_S;
    for (const [nodeId, untilS] of revokedUntilS) {
      if (untilS + CREDENTIAL_TTL_MS_MAX / 1000 < nowS) revokedUntilS.delete(nodeId);
    }
  };

  return {
    issueSecond(nodeId, nowMs) {
      const issuedAtS = chooseIssueSecond(nowMs, revokedUntilS.get(nodeId));
      latestIssueS = Math.max(latestIssueS, issuedAtS);
      return issuedAtS;
    },
    revoke(nodeId, nowMs) {
      const nowS = Math.floor(nowMs / 1000);
      forgetExpired(nowS);
      revokedUntilS.set(nodeId, Math.max(nowS, latestIssueS));
    },
    refuses: (nodeId, issuedAtS) => issuedAtS <= (revokedUntilS.get(nodeId) ?? -1),
  };
}
