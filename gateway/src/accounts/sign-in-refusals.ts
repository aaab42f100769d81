/** The reasons for which a sign-in, or a change of how a person signs in, is refused. Routes turn them into errors. */
export type RefusalReason =
  | "wrong_credentials"
  | "email_not_verified"
  | "email_taken"
  | "too_many_attempts"
  /** The pending second step is missing or expired, or too many codes were wrong. */
  | "no_challenge"
  | "wrong_code"
  | "wrong_password"
  | "bad_token"
  | "two_factor_on"
  | "two_factor_off"
  | "not_signed_in"
  | "unknown_provider"
  | "provider_away"
  /** The platform has no mail server. */
  | "mail_off";

export class SignInRefusal extends Error {
  override name = "SignInRefusal";
  readonly reason: RefusalReason;
  /** Whole seconds until the next attempt is allowed, if known. */
  readonly waitS: number | undefined;

  constructor(reason: RefusalReason, more: { waitS?: number; cause?: unknown } = {}) {
    super(`refused: ${reason}`, { cause: more.cause });
    this.reason = reason;
    this.waitS = more.waitS;
  }
}
