/** Signs people up, in and out, with an email address, a password, and the second factor if one is set up. */
import type pg from "pg";
import { z } from "zod";
import { queryRows, row } from "../db/rows.ts";
import { type AttemptLimits, groupAddressByNetwork, refuseUsedCode } from "./attempt-limits.ts";
import { type AuthAnswer, type AuthCaller, type AuthLibraryCall, UnknownAuthError } from "./auth-library-call.ts";
import { CHALLENGE_PATH, COOKIE_PREFIX } from "./better-auth-constants.ts";
import type { SecretReencryption } from "./secret-reencryption.ts";
import { SignInRefusal } from "./sign-in-refusals.ts";
import { convertBetterAuthSession, type PersonAndSession, type SignedInPerson } from "./signed-in-person.ts";

/** The result of a step of the sign-in, with the cookies for the browser. */
interface Entered {
  status: "signed_in" | "two_factor_required" | "verification_required";
  cookies: string[];
}

export interface SignInService {
  signUp(
    fields: { email: string; password: string; name: string; remember: boolean },
    caller: AuthCaller,
  ): Promise<Entered>;
  enter(fields: { email: string; password: string; remember: boolean }, caller: AuthCaller): Promise<Entered>;
  /** Completes the second step with a code from the app, or a backup code. */
  enterCode(code: string, caller: AuthCaller): Promise<Entered>;
  leave(caller: AuthCaller): Promise<{ cookies: string[] }>;
  /** Extends the session and its cookie. Returns the identity, or undefined without a session. */
  renew(caller: AuthCaller): Promise<{ who: SignedInPerson | undefined; cookies: string[] }>;
}

interface SignInOptions {
  ask: AuthLibraryCall;
  attempts: AttemptLimits;
  pool: pg.Pool;
  verifyEmails: boolean;
  /**
   * Re-encrypts second factors with the current secret. Present only while the secret that encrypts second factors is
   * being replaced.
   */
  kept?: Pick<SecretReencryption, "makeReadable"> | undefined;
}

const CONFLICT = 409;

const Address = row({ address: z.string() });

export function openSignInService({ ask, attempts, pool, verifyEmails, kept }: SignInOptions): SignInService {
  return {
    async signUp({ email, password, name, remember }, caller) {
      await attempts.take("address", groupAddressByNetwork(caller.address));
      // Counted per address, because a sign-up sends an email to any address, registered or not.
      if (verifyEmails) await attempts.take("lettersToEmail", email.toLowerCase());
      const body = { email, password, name, rememberMe: remember };
      const answer = await ask(caller, { path: "/sign-up/email", body }).catch(async (error: Error) => {
        // This error means that a concurrent sign-up took the address. The library gives no clearer reason.
        const isTaken = error instanceof UnknownAuthError && error.code === "FAILED_TO_CREATE_USER";
        if (!isTaken || !(await isKnown(pool, email))) throw error;
        if (!verifyEmails) throw new SignInRefusal("email_taken", { cause: error });
      });
      if (verifyEmails) return { status: "verification_required", cookies: [] };
      return { status: "signed_in", cookies: answer?.cookies ?? [] };
    },

    async enter({ email, password, remember }, caller) {
      await attempts.take("address", groupAddressByNetwork(caller.address));
      const address = email.toLowerCase();
      // Attempts from a network where the person is signed in are not limited, so that strangers elsewhere cannot lock
      // the person out.
      if (!(await isAtHome(pool, address, caller.address))) await attempts.take("email", address);
      const body = { email, password, rememberMe: remember };
      const answer = await ask(caller, { path: "/sign-in/email", body });
      await attempts.forget("email", address);
      return makeSignInResult(answer);
    },

    async enterCode(code, caller) {
      await attempts.take("address", groupAddressByNetwork(caller.address));
      // Removes the session cookie. With it, the library would check the code for that session's identity.
      const challenged = { ...caller, cookie: withoutSession(caller.cookie) };
      // Finds the identity of the pending sign-in first, because the guess is counted for that identity before the code
      // is checked. Otherwise concurrent guesses could exceed the limit. A sign-in is pending only after the right
      // password, so a stranger cannot use up these attempts.
      const { body } = await ask(challenged, { path: CHALLENGE_PATH });
      const identityId = String(body?.identity);
      await attempts.take("secondFactor", identityId);
      await kept?.makeReadable(identityId);
      const isTotp = /^\d{6}$/.test(code);
      const path = isTotp ? "/two-factor/verify-totp" : "/two-factor/verify-backup-code";
      const answer = await ask(challenged, { path, body: { code } }).catch((error: Error) => {
        // This error means that a concurrent request used a backup code first. The library gives no clearer reason.
        const isLost = error instanceof UnknownAuthError && error.status === CONFLICT;
        throw isLost ? new SignInRefusal("wrong_code", { cause: error }) : error;
      });
      if (isTotp) await refuseSecondUse(answer, code);
      await attempts.forget("secondFactor", identityId);
      return { status: "signed_in", cookies: answer.cookies };
    },

    async leave(caller) {
      const { cookies } = await ask(caller, { path: "/sign-out", body: {} });
      return { cookies };
    },

    async renew(caller) {
      const { body, cookies } = await ask(caller, { path: "/get-session" });
      return {
        who: body === null ? undefined : convertBetterAuthSession(body as unknown as PersonAndSession),
        cookies,
      };
    },
  };

  async function refuseSecondUse({ body }: AuthAnswer, code: string): Promise<void> {
    const { user, token } = body as { user: { id: string }; token: string };
    try {
      await refuseUsedCode(attempts, user.id, code);
    } catch (refusal) {
      await pool.query("delete from identity_session where token = $1", [token]);
      throw refusal;
    }
  }
}

/** Reads whether the sign-in is complete, or whether a second step must follow the password or the OpenID sign-in. */
export function makeSignInResult({
  body,
  cookies,
}: AuthAnswer): Entered & { status: "signed_in" | "two_factor_required" } {
  return { status: body?.twoFactorRedirect === true ? "two_factor_required" : "signed_in", cookies };
}

async function isKnown(pool: pg.Pool, email: string): Promise<boolean> {
  const { rowCount } = await pool.query("select from identity where email = $1", [email.toLowerCase()]);
  return rowCount === 1;
}

async function isAtHome(pool: pg.Pool, email: string, address: string): Promise<boolean> {
  const homes = await queryRows(
    pool,
    Address,
    `select distinct s.ip_address as address from identity_session s join identity i on i.id = s.identity_id
      where i.email = $1 and s.ip_address is not null and s.expires_at > now()`,
    [email],
  );
  return homes.some((home) => groupAddressByNetwork(home.address) === groupAddressByNetwork(address));
}

function withoutSession(cookie: string | undefined): string | undefined {
  const kept = cookie?.split(/;\s*/).filter((pair) => !pair.split("=")[0]?.endsWith(`${COOKIE_PREFIX}.session_token`));
  return kept?.join("; ");
}
