/**
 * The console's sign-in routes; the identities module decides who may sign in. A response body never contains a
 * session's token: only the cookie does.
 */
import {
  CLIENT_AUTO_RETRY_MAX_S,
  describeAttemptLimit,
  SIGN_IN_REFUSALS,
  type signInRoutes,
} from "@tollgate/api/console/sign-in.ts";
import type { AuthCaller } from "../../accounts/auth-library-call.ts";
import type { SignedInPerson } from "../../accounts/identities.ts";
import { readScriptToken } from "../../accounts/script-sessions.ts";
import type { AccountServices } from "../../accounts/services.ts";
import { SignInRefusal } from "../../accounts/sign-in-refusals.ts";
import type { SecondFactorOwner } from "../../accounts/two-factor.ts";
import { Fault } from "../../faults.ts";
import type { OpenCall } from "../../http/http-call.ts";
import type { Handlers } from "../../http/serve-routes.ts";
import { meObject } from "./accounts.ts";

/** The page that opens after a provider's sign-in. Its `sign_in` parameter contains the result. */
const HOME = "/console/";

export function signInHandlers({ identities }: Pick<AccountServices, "identities">): Handlers<typeof signInRoutes> {
  const { signIn, passwords, twoFactor, openId, offers } = identities;
  return withSignInErrors({
    getSignInMethods: async () => ({
      password: true,
      password_reset: offers.resetByMail,
      email_verification: offers.verifiesEmails,
      providers: openId.providers,
    }),

    async signUp(asked) {
      const { remember_me: remember, ...who } = asked.body();
      return setCookies(asked, await signIn.signUp({ ...who, remember }, readCaller(asked)));
    },
    async signIn(asked) {
      const { remember_me: remember, ...who } = asked.body();
      return setCookies(asked, await signIn.enter({ ...who, remember }, readCaller(asked)));
    },
    async signInWithCode(asked) {
      return setCookies(asked, await signIn.enterCode(asked.body().code, readCaller(asked)));
    },
    async signOut(asked) {
      const token = readScriptToken(asked.call.authorization);
      if (token !== undefined) {
        await identities.scripts.end(token);
        return { status: "signed_out" as const };
      }
      return setCookies(asked, { status: "signed_out" as const, ...(await signIn.leave(readCaller(asked))) });
    },
    async getSession(asked) {
      const { who, cookies } = await signIn.renew(readCaller(asked));
      const me = who === undefined ? { identity: null, accounts: [] } : await meObject(identities, who);
      return setCookies(asked, { cookies, ...me });
    },

    async signInWithOpenId(asked) {
      return setCookies(asked, await openId.begin(asked.body().provider, readCaller(asked)));
    },
    async finishOpenId({ params, ...asked }) {
      const query = new URL(asked.call.request.url ?? "", "http://gateway").searchParams;
      const { outcome, cookies } = await openId.finish(params.provider, query, readCaller(asked));
      return setCookies(asked, { cookies, location: outcome === "signed_in" ? HOME : `${HOME}?sign_in=${outcome}` });
    },

    async requestPasswordReset(asked) {
      await passwords.requestReset(asked.body().email, readCaller(asked));
      return { status: "sent_if_known" };
    },
    async resetPassword(asked) {
      await passwords.reset(asked.body(), readCaller(asked));
      return { status: "password_changed" };
    },
    async requestEmailVerification(asked) {
      await passwords.requestVerification(asked.body().email, readCaller(asked));
      return { status: "sent_if_known" };
    },
    async verifyEmail(asked) {
      await passwords.verify(asked.body().token, readCaller(asked));
      return { status: "email_verified" };
    },
    async changePassword(asked) {
      const { password, new_password: newPassword } = asked.body();
      const { cookies } = await passwords.change({ password, newPassword }, ownerOf(asked));
      return setCookies(asked, { status: "password_changed" as const, cookies });
    },

    async enableTwoFactor(asked) {
      const { uri, secret, backupCodes } = await twoFactor.begin(asked.body().password, ownerOf(asked));
      return { status: "to_confirm", uri, secret, backup_codes: backupCodes };
    },
    async confirmTwoFactor(asked) {
      return setCookies(asked, {
        status: "enabled" as const,
        ...(await twoFactor.confirm(asked.body().code, ownerOf(asked))),
      });
    },
    replaceBackupCodes: async (asked) => ({
      backup_codes: await twoFactor.newBackupCodes(asked.body().password, ownerOf(asked)),
    }),
    async disableTwoFactor(asked) {
      return setCookies(asked, {
        status: "disabled" as const,
        ...(await twoFactor.end(asked.body().password, ownerOf(asked))),
      });
    },
  });
}

/** Converts the identities module's refusals to the API's errors. */
export function withSignInErrors<Table extends Record<string, (asked: never) => Promise<unknown>>>(
  handlers: Table,
): Table {
  const wrapped = Object.entries(handlers).map(([id, handle]) => [
    id,
    (asked: never) =>
      handle(asked).catch((error) => {
        throw error instanceof SignInRefusal ? faultOf(error) : error;
      }),
  ]);
  return Object.fromEntries(wrapped) as Table;
}

function faultOf(refused: SignInRefusal): Fault {
  const { reason, waitS = CLIENT_AUTO_RETRY_MAX_S } = refused;
  const declared = SIGN_IN_REFUSALS[reason];
  if (reason !== "too_many_attempts") return new Fault({ ...declared, cause: refused });
  return new Fault({
    ...declared,
    retry: waitS > CLIENT_AUTO_RETRY_MAX_S ? "never" : "later",
    message: describeAttemptLimit(waitS),
    headers: { "retry-after": String(waitS) },
  });
}

export function readCaller({ call }: { call: OpenCall }): AuthCaller {
  const { cookie, "user-agent": userAgent } = call.request.headers;
  return { cookie, address: call.address(), userAgent };
}

function ownerOf(asked: { call: OpenCall; who: SignedInPerson }): SecondFactorOwner {
  return { identityId: asked.who.identityId, caller: readCaller(asked) };
}

/** Sets the cookies as headers, and removes them from the response body. */
export function setCookies<T extends { cookies: string[] }>(
  { setHeader }: { setHeader: (name: string, value: string[]) => void },
  { cookies, ...answer }: T,
): Omit<T, "cookies"> {
  if (cookies.length > 0) setHeader("set-cookie", cookies);
  return answer;
}
