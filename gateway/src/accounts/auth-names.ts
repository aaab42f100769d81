/** Constants of better-auth's configuration, separate from the library, which is large and loaded on demand. */

/** The path of better-auth's endpoints. */
export const AUTH_PATH = "/console/api/auth";
/** The caller's address for the session's record. Set by us, overwriting the caller's header. */
export const CLIENT_ADDRESS_HEADER = "x-tollgate-client-address";
export const COOKIE_PREFIX = "tollgate";
/** Endpoint that returns the identity of a pending second step: `{identity}`, or a refusal. */
export const CHALLENGE_PATH = "/two-factor/challenge";

export function originOf(publicUrl: string | undefined, isSecure = false): string {
  return publicUrl === undefined ? `${isSecure ? "https" : "http"}://localhost` : new URL(publicUrl).origin;
}
