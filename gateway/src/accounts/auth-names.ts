/** What better-auth is set up with and others must know of, apart from it: the library is large, and not always loaded. */

/** Where its requests live. */
export const AUTH_PATH = "/console/api/auth";
/** The caller's address, for the record of a session. Set by us, whatever the caller sent. */
export const CLIENT_ADDRESS_HEADER = "x-tollgate-client-address";
export const COOKIE_PREFIX = "tollgate";
/** Where it is asked whose second step it is: answers `{identity}`, or refuses where no one's code is asked for. */
export const CHALLENGE_PATH = "/two-factor/challenge";

export function originOf(publicUrl: string | undefined, isSecure = false): string {
  return publicUrl === undefined ? `${isSecure ? "https" : "http"}://localhost` : new URL(publicUrl).origin;
}
