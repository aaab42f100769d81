/** Why somebody was not let in, in the words and codes of our envelope. */
import type { RefusalReason, SignInRefusal } from "../../accounts/refusals.ts";
import { type Fault, fault, invalidRequest, notFound } from "../../faults.ts";

/** Clients that wait on their own wait for so long at most; a longer wait is told to the person. */
const PATIENCE_S = 60;

const FAULTS: Record<Exclude<RefusalReason, "too_many_attempts">, () => Fault> = {
  wrong_credentials: () => fault("not_authenticated", { message: "The e-mail address or password is wrong." }),
  email_not_verified: () => fault("email_not_verified"),
  email_taken: () => invalidRequest("email", "email must be one that is not in use yet"),
  no_challenge: () => fault("not_authenticated", { message: "Sign in with your password again, then give the code." }),
  wrong_code: () => invalidRequest("code", "code must be the one your app shows now, or a backup code, and unused"),
  wrong_password: () => invalidRequest("password", "password must be your present password"),
  bad_token: () => invalidRequest("token", "token must be one that was mailed to you, unused and not over an hour old"),
  two_factor_on: () => invalidRequest(null, "The second factor is on already. Turn it off to set up another."),
  two_factor_off: () => invalidRequest(null, "The second factor is not set up."),
  not_signed_in: () => fault("not_authenticated"),
  unknown_provider: () => invalidRequest("provider", "provider must be one that auth/methods lists"),
  provider_away: () => fault("sign_in_provider_unavailable"),
  mail_off: () => notFound("This platform sends no mail. Ask its operator."),
};

export function faultOf({ reason, waitS }: SignInRefusal): Fault {
  return reason === "too_many_attempts" ? tooMany(waitS ?? PATIENCE_S) : FAULTS[reason]();
}

function tooMany(waitS: number): Fault {
  return fault("rate_limit_requests", {
    retry: waitS > PATIENCE_S ? "never" : "later",
    message: `Too many attempts. Try again in ${waitS} seconds.`,
    headers: { "retry-after": String(waitS) },
  });
}
