/** Calls better-auth, the sign-in library, with the HTTP request that it expects, and translates its responses. */
import type { AuthLibrary } from "./auth-library.ts";
import { AUTH_PATH, CLIENT_ADDRESS_HEADER } from "./better-auth-constants.ts";
import type { DatabaseErrorCapture } from "./database-error-capture.ts";
import type { SessionSignatureReplacer } from "./session-signature-replacer.ts";
import { type RefusalReason, SignInRefusal } from "./sign-in-refusals.ts";

/** The browser or client on whose behalf the library is called. */
export interface AuthCaller {
  cookie: string | undefined;
  address: string;
  userAgent: string | undefined;
}

interface Question {
  path: string;
  query?: URLSearchParams;
  /** The request's body. Requests with a body use POST, others GET. */
  body?: object;
}

export interface AuthAnswer {
  body: Record<string, unknown> | null;
  /** The URL of a redirect in the response. */
  location: URL | undefined;
  cookies: string[];
}

export type AuthLibraryCall = (caller: AuthCaller, question: Question) => Promise<AuthAnswer>;

/** An error of the library that is not in our error catalogue. Unless the caller handles it, it is a bug. */
export class UnknownAuthError extends Error {
  override name = "UnknownRefusal";
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string) {
    super(`better-auth answered ${status} ${code}`);
    this.status = status;
    this.code = code;
  }
}

const REASONS: Record<string, RefusalReason> = {
  INVALID_EMAIL_OR_PASSWORD: "wrong_credentials",
  EMAIL_NOT_VERIFIED: "email_not_verified",
  USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL: "email_taken",
  INVALID_TWO_FACTOR_COOKIE: "no_challenge",
  TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE: "no_challenge",
  INVALID_CODE: "wrong_code",
  INVALID_BACKUP_CODE: "wrong_code",
  INVALID_PASSWORD: "wrong_password",
  CREDENTIAL_ACCOUNT_NOT_FOUND: "wrong_password",
  INVALID_TOKEN: "bad_token",
  TOKEN_EXPIRED: "bad_token",
  USER_NOT_FOUND: "bad_token",
  TOTP_ALREADY_ENABLED: "two_factor_on",
  TOTP_NOT_ENABLED: "two_factor_off",
  TWO_FACTOR_NOT_ENABLED: "two_factor_off",
  UNAUTHORIZED: "not_signed_in",
  PROVIDER_NOT_FOUND: "unknown_provider",
  PROVIDER_AWAY: "provider_away",
};

export function createAuthLibraryCall(
  loaded: () => Promise<AuthLibrary>,
  witness: DatabaseErrorCapture,
  resigning?: SessionSignatureReplacer,
): AuthLibraryCall {
  return async (caller, { path, query, body }) => {
    const url = new URL(`http://localhost${AUTH_PATH}${path}`);
    if (query !== undefined) url.search = query.toString();
    // Builds new headers, so that no other header of the caller has an effect.
    const headers = new Headers({ [CLIENT_ADDRESS_HEADER]: caller.address });
    if (caller.cookie !== undefined) headers.set("cookie", resigning?.cookies(caller.cookie) ?? caller.cookie);
    if (caller.userAgent !== undefined) headers.set("user-agent", caller.userAgent);
    if (body !== undefined) headers.set("content-type", "application/json");
    const request = new Request(
      url,
      body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) },
    );
    const auth = await loaded();
    const response = await witness.ask(() => auth.handler(request), { isFailure: ({ status }) => status >= 400 });
    const text = await response.text();
    const parsed = text === "" ? null : JSON.parse(text);
    if (response.status >= 400) throw refusalOf(response.status, parsed?.code);
    const location = response.status >= 300 ? response.headers.get("location") : null;
    return {
      body: parsed,
      location: location === null ? undefined : new URL(location, url),
      cookies: response.headers.getSetCookie(),
    };
  };
}

function refusalOf(status: number, code: unknown): Error {
  const reason = typeof code === "string" ? REASONS[code] : undefined;
  return reason === undefined ? new UnknownAuthError(status, String(code ?? "")) : new SignInRefusal(reason);
}
