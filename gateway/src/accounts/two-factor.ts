/** Manages the second factor: the secret of an authenticator app, and backup codes. */
import type { Uuid } from "../base/ids.ts";
import { invariant } from "../base/invariant.ts";
import { type AttemptLimits, refuseUsedCode } from "./attempt-limits.ts";
import { type AuthAnswer, type AuthCaller, type AuthLibraryCall, UnknownAuthError } from "./auth-library-call.ts";
import type { SecretReencryption } from "./secret-reencryption.ts";
import { SignInRefusal } from "./sign-in-refusals.ts";

const CONFLICT = 409;

/** The signed-in person whose second factor is changed, with the session. */
export interface SecondFactorOwner {
  identityId: Uuid;
  caller: AuthCaller;
}

export interface SecondFactors {
  /** Creates a secret and returns it, once. Sign-in requires it only after `confirm`. */
  begin(password: string, by: SecondFactorOwner): Promise<{ uri: string; secret: string; backupCodes: string[] }>;
  /** Enables the second factor with the app's first code. The session gets a new cookie. */
  confirm(code: string, by: SecondFactorOwner): Promise<{ cookies: string[] }>;
  /**
   * Checks that the signed-in person has the second factor now. Takes a code of the app or a backup code, each valid
   * once.
   */
  prove(code: string, by: SecondFactorOwner): Promise<void>;
  /** Creates new backup codes and invalidates the old ones. */
  newBackupCodes(password: string, by: SecondFactorOwner): Promise<string[]>;
  end(password: string, by: SecondFactorOwner): Promise<{ cookies: string[] }>;
}

interface TwoFactorOptions {
  ask: AuthLibraryCall;
  attempts: AttemptLimits;
  /** Present while the secret that encrypts second factors is being replaced. */
  kept?: Pick<SecretReencryption, "makeReadable"> | undefined;
}

export function openSecondFactors({ ask, attempts, kept }: TwoFactorOptions): SecondFactors {
  const asOwner = async (
    { identityId, caller }: SecondFactorOwner,
    path: string,
    body: object,
  ): Promise<AuthAnswer> => {
    await attempts.take("identity", identityId);
    await kept?.makeReadable(identityId);
    const answer = await ask(caller, { path: `/two-factor/${path}`, body });
    await attempts.forget("identity", identityId);
    return answer;
  };
  return {
    async begin(password, by) {
      const { body } = await asOwner(by, "enable", { password });
      const { totpURI: uri, backupCodes } = body as { totpURI: string; backupCodes: string[] };
      const secret = new URL(uri).searchParams.get("secret");
      invariant(secret !== null, "a TOTP address without its secret");
      return { uri, secret, backupCodes };
    },
    async confirm(code, by) {
      const { cookies } = await asOwner(by, "verify-totp", { code });
      await refuseUsedCode(attempts, by.identityId, code);
      return { cookies };
    },
    async prove(code, { identityId, caller }) {
      await attempts.take("secondFactor", identityId);
      await kept?.makeReadable(identityId);
      const isTotp = /^\d{6}$/.test(code);
      const path = isTotp ? "/two-factor/verify-totp" : "/two-factor/verify-backup-code";
      await ask(caller, { path, body: { code } }).catch((error: Error) => {
        // This error means that a concurrent request used the backup code first.
        const isLost = error instanceof UnknownAuthError && error.status === CONFLICT;
        throw isLost ? new SignInRefusal("wrong_code", { cause: error }) : error;
      });
      if (isTotp) await refuseUsedCode(attempts, identityId, code);
      await attempts.forget("secondFactor", identityId);
    },
    async newBackupCodes(password, by) {
      const { body } = await asOwner(by, "generate-backup-codes", { password });
      return (body as { backupCodes: string[] }).backupCodes;
    },
    async end(password, by) {
      const { cookies } = await asOwner(by, "disable", { password });
      return { cookies };
    },
  };
}
