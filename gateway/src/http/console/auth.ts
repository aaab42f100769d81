/**
 * The console's sign-in routes. Fields are checked here; how people are let in is the identities' business. An answer never
 * holds a session's token: that is in the cookie alone.
 */
import type { Caller } from "../../accounts/ask.ts";
import type { Identities, SignedIn } from "../../accounts/identities.ts";
import { SignInRefusal } from "../../accounts/refusals.ts";
import type { Owner } from "../../accounts/two-factor.ts";
import { meObject } from "./accounts.ts";
import { faultOf } from "./auth-faults.ts";
import * as fields from "./auth-fields.ts";
import type { ConsoleRoute, Guard, Guards, Method } from "./guards.ts";
import type { Visit } from "./visit.ts";

const AUTH = "/console/api/auth";
/** Where a browser lands that comes back from a provider. What became of it is in `sign_in`. */
const HOME = "/console/";

export function authRoutes(consoleRoute: ConsoleRoute, guards: Guards, identities: Identities): void {
  const { anyone, signedIn } = guards;
  const { signIn, passwords, twoFactor, openId, offers } = identities;
  const route = <Found extends object>(
    method: Method,
    path: string,
    guard: Guard<Found>,
    handle: (visit: Visit & Found) => Promise<void>,
  ): void =>
    consoleRoute(method, `${AUTH}/${path}`, guard, async (visit) => {
      try {
        await handle(visit);
      } catch (error) {
        throw error instanceof SignInRefusal ? faultOf(error) : error;
      }
    });

  route("GET", "methods", anyone, async ({ json }) => {
    json({
      password: true,
      password_reset: offers.resetByMail,
      email_verification: offers.verifiesEmails,
      providers: openId.providers,
    });
  });

  route("POST", "sign-up/email", anyone, async (visit) => {
    const { remember_me: remember, ...who } = await visit.fields(fields.SignUpFields);
    answer(visit, await signIn.signUp({ ...who, remember }, callerOf(visit)));
  });
  route("POST", "sign-in/email", anyone, async (visit) => {
    const { remember_me: remember, ...who } = await visit.fields(fields.SignInFields);
    answer(visit, await signIn.enter({ ...who, remember }, callerOf(visit)));
  });
  route("POST", "sign-in/code", anyone, async (visit) => {
    const { code } = await visit.fields(fields.CodeFields);
    answer(visit, await signIn.enterCode(code, callerOf(visit)));
  });
  route("POST", "sign-out", anyone, async (visit) => {
    answer(visit, { status: "signed_out", ...(await signIn.leave(callerOf(visit))) });
  });
  route("GET", "get-session", anyone, async (visit) => {
    const { cookie } = visit.call.request.headers;
    const who = cookie === undefined ? undefined : await identities.session(new Headers({ cookie }));
    const { cookies } = await signIn.renew(callerOf(visit));
    const me = who === undefined ? { identity: null, accounts: [] } : await meObject(identities, who);
    answer(visit, { cookies, ...me });
  });

  route("POST", "sign-in/openid", anyone, async (visit) => {
    const { provider } = await visit.fields(fields.ProviderFields);
    answer(visit, await openId.begin(provider, callerOf(visit)));
  });
  route("GET", "callback/:provider", anyone, async (visit) => {
    const { params, query, response } = visit;
    const { outcome, cookies } = await openId.finish(params.provider ?? "", query, callerOf(visit));
    keep(visit, cookies);
    response.writeHead(302, { location: outcome === "signed_in" ? HOME : `${HOME}?sign_in=${outcome}` }).end();
  });

  route("POST", "request-password-reset", anyone, async (visit) => {
    const { email } = await visit.fields(fields.EmailFields);
    await passwords.requestReset(email, callerOf(visit));
    visit.json({ status: "sent_if_known" });
  });
  route("POST", "reset-password", anyone, async (visit) => {
    await passwords.reset(await visit.fields(fields.ResetFields), callerOf(visit));
    visit.json({ status: "password_changed" });
  });
  route("POST", "request-email-verification", anyone, async (visit) => {
    const { email } = await visit.fields(fields.EmailFields);
    await passwords.requestVerification(email, callerOf(visit));
    visit.json({ status: "sent_if_known" });
  });
  route("POST", "verify-email", anyone, async (visit) => {
    const { token } = await visit.fields(fields.VerifyFields);
    await passwords.verify(token, callerOf(visit));
    visit.json({ status: "email_verified" });
  });
  route("POST", "change-password", signedIn, async (visit) => {
    const { password, new_password: newPassword } = await visit.fields(fields.ChangeFields);
    const { cookies } = await passwords.change({ password, newPassword }, ownerOf(visit));
    answer(visit, { status: "password_changed", cookies });
  });

  route("POST", "two-factor/enable", signedIn, async (visit) => {
    const { password } = await visit.fields(fields.PasswordFields);
    const { uri, secret, backupCodes } = await twoFactor.begin(password, ownerOf(visit));
    visit.json({ status: "to_confirm", uri, secret, backup_codes: backupCodes });
  });
  route("POST", "two-factor/confirm", signedIn, async (visit) => {
    const { code } = await visit.fields(fields.AppCodeFields);
    answer(visit, { status: "enabled", ...(await twoFactor.confirm(code, ownerOf(visit))) });
  });
  route("POST", "two-factor/backup-codes", signedIn, async (visit) => {
    const { password } = await visit.fields(fields.PasswordFields);
    visit.json({ backup_codes: await twoFactor.newBackupCodes(password, ownerOf(visit)) });
  });
  route("POST", "two-factor/disable", signedIn, async (visit) => {
    const { password } = await visit.fields(fields.PasswordFields);
    answer(visit, { status: "disabled", ...(await twoFactor.end(password, ownerOf(visit))) });
  });
}

function callerOf({ call, address }: Visit): Caller {
  const { cookie, "user-agent": userAgent } = call.request.headers;
  return { cookie, address, userAgent };
}

function ownerOf(visit: Visit & { who: SignedIn }): Owner {
  return { identityId: visit.who.identityId, caller: callerOf(visit) };
}

function answer<T extends { cookies: string[] }>(visit: Visit, { cookies, ...body }: T): void {
  keep(visit, cookies);
  visit.json(body);
}

function keep({ response }: Visit, cookies: string[]): void {
  if (cookies.length > 0) response.setHeader("set-cookie", cookies);
}
