/**
 * Which credentials of a node are refused: those issued up to a moment. JWTs tell time in whole seconds, so "issued
 * before the revocation" and "issued after it" can carry the same second. Rather than add a claim that NATS does not
 * know, an issue after a revocation is dated at least one second after it; then `iat <= revoked` is exact.
 */
import { CREDENTIAL_TTL_MS_MAX } from "./credentials.ts";

export interface Revocations {
  /** The second to date a new credential of this node with. */
  issueSecond(nodeId: string, nowMs: number): number;
  /** Refuses everything issued to this node until now. */
  revoke(nodeId: string, nowMs: number): void;
  refuses(nodeId: string, issuedAtS: number): boolean;
}

export function memoryRevocations(): Revocations {
  const revokedUntilS = new Map<string, number>();
  // A wall clock may step back: a revocation has to cover what was dated before the step, too.
  let latestIssueS = 0;

  const forgetExpired = (nowS: number): void => {
    for (const [nodeId, untilS] of revokedUntilS) {
      if (untilS + CREDENTIAL_TTL_MS_MAX / 1000 < nowS) revokedUntilS.delete(nodeId);
    }
  };

  return {
    issueSecond(nodeId, nowMs) {
      const issuedAtS = Math.max(Math.floor(nowMs / 1000), (revokedUntilS.get(nodeId) ?? -1) + 1);
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
