/**
 * Whose second step it is. The library finds that out and looks at the code in one go; a guess must be counted against its
 * identity before it is looked at, so the first half is asked for alone. The challenge's cookie is signed by us and given
 * only to whoever gave the password (or came from an OpenID provider).
 */
import { APIError, type BetterAuthPlugin } from "better-auth";
import { createAuthEndpoint } from "better-auth/api";

/** Where it is asked: answers `{identity}`, or refuses where nobody's code is asked for. */
export const CHALLENGE_PATH = "/two-factor/challenge";
/** The library's names: of its cookie, and of the refusal where there is no challenge behind it. */
const COOKIE = "two_factor";
const NO_CHALLENGE = "INVALID_TWO_FACTOR_COOKIE";

export function challengePlugin(): BetterAuthPlugin {
  return {
    id: "tollgate-challenge",
    endpoints: {
      challenge: createAuthEndpoint(CHALLENGE_PATH, { method: "GET" }, async (request) => {
        const { context } = request;
        const key = await request.getSignedCookie(context.createAuthCookie(COOKIE).name, context.secret);
        // False where the signature is not ours.
        const found = key ? await context.internalAdapter.findVerificationValue(key) : null;
        if (found === null || found === undefined) throw new APIError("UNAUTHORIZED", { code: NO_CHALLENGE });
        return request.json({ identity: found.value });
      }),
    },
  };
}
