/** Changes passwords, with an emailed link or with the current password, and confirms email addresses. */
import type pg from "pg";
import type { Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { type AttemptLimits, groupAddressByNetwork } from "./attempt-limits.ts";
import type { AuthCaller, AuthLibraryCall } from "./auth-library-call.ts";
import type { SessionSignatureReplacer } from "./session-signature-replacer.ts";
import { invalidateEmailedLinks } from "./sessions.ts";
import { SignInRefusal } from "./sign-in-refusals.ts";

export interface Passwords {
  /**
   * Emails a link for a new password if the address is registered. Returns before the lookup, so that the response does
   * not reveal whether it is.
   */
  requestReset(email: string, caller: AuthCaller): Promise<void>;
  /**
   * Sets a new password with the token of an emailed link, which works once. Ends every session and every other link of
   * the identity.
   */
  reset(fields: { token: string; password: string }, caller: AuthCaller): Promise<void>;
  /**
   * Sets a new password with the current one. Ends every other session and every emailed link. The current session gets
   * a new cookie.
   */
  change(
    fields: { password: string; newPassword: string },
    by: { identityId: Uuid; caller: AuthCaller },
  ): Promise<{ cookies: string[] }>;
  requestVerification(email: string, caller: AuthCaller): Promise<void>;
  verify(token: string, caller: AuthCaller): Promise<void>;
  /** Resolves when no email is in flight. */
  idle(): Promise<void>;
}

interface PasswordsOptions {
  pool: pg.Pool;
  ask: AuthLibraryCall;
  attempts: AttemptLimits;
  log: Log;
  /** Present while the secret that signs links is being replaced. */
  resigning?: SessionSignatureReplacer | undefined;
  /** Whether email is configured. Without it, requests for a link are refused. */
  canMail: boolean;
}

export function openPasswordService({ pool, ask, attempts, log, canMail, resigning }: PasswordsOptions): Passwords {
  const inFlight = new Set<Promise<unknown>>();
  /** Sends a link in the background, so that the response time does not reveal whether the address is registered. */
  const mail = async (path: string, email: string, caller: AuthCaller): Promise<void> => {
    if (!canMail) throw new SignInRefusal("mail_off");
    await attempts.take("lettersFromAddress", groupAddressByNetwork(caller.address));
    await attempts.take("lettersToEmail", email.toLowerCase());
    // Calls the library without cookies, because with a session cookie it would act for that session's identity.
    const asked = ask({ ...caller, cookie: undefined }, { path, body: { email } })
      .catch((error: Error) =>
        log.error({ path, reason: error.message }, "could not send the email for a password reset or a confirmation"),
      )
      .finally(() => inFlight.delete(asked));
    inFlight.add(asked);
  };
  return {
    requestReset: (email, caller) => mail("/request-password-reset", email, caller),
    requestVerification: (email, caller) => mail("/send-verification-email", email, caller),
    async reset({ token, password }, caller) {
      await attempts.take("address", groupAddressByNetwork(caller.address));
      await ask(caller, { path: "/reset-password", body: { token, newPassword: password } });
    },
    async change({ password, newPassword }, { identityId, caller }) {
      await attempts.take("identity", identityId);
      const body = { currentPassword: password, newPassword, revokeOtherSessions: true };
      const { cookies } = await ask(caller, { path: "/change-password", body });
      await invalidateEmailedLinks(pool, identityId);
      await attempts.forget("identity", identityId);
      return { cookies };
    },
    async verify(token, caller) {
      await attempts.take("address", groupAddressByNetwork(caller.address));
      const query = new URLSearchParams({ token: resigning?.token(token) ?? token });
      await ask({ ...caller, cookie: undefined }, { path: "/verify-email", query });
    },
    async idle() {
      await Promise.all(inFlight);
    },
  };
}
