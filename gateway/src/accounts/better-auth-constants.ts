/** Constants of better-auth's configuration. Separate from the library, which is large and loaded on demand. */

/** The path of better-auth's endpoints. */
export const AUTH_PATH = "/console/api/auth";
/**
 * Contains the caller's address for the session's record. The gateway sets this header and overwrites any value of the
 * caller.
 */
export const CLIENT_ADDRESS_HEADER = "x-tollgate-client-address";
export const COOKIE_PREFIX = "tollgate";
/** The endpoint that returns the identity of a pending second sign-in step: `{identity}`, or a refusal. */
export const CHALLENGE_PATH = "/two-factor/challenge";

export function chooseAuthOrigin(publicUrl: string | undefined, isSecure = false): string {
  return publicUrl === undefined ? `${isSecure ? "https" : "http"}://localhost` : new URL(publicUrl).origin;
}
