/**
 * The reasons why an OpenID sign-in failed. The gateway passes one as `sign_in` in the URL to which it sends the person
 * back.
 */
export const OPENID_REFUSALS = {
  account_not_linked: "the email address belongs to an identity that has not confirmed it",
  email_missing: "the provider returned no email address",
  email_not_verified: "the provider has not verified the email address",
  provider_refused: "the provider or the person declined",
  provider_unavailable: "the provider did not respond, or returned an error",
  expired: "the sign-in was started too long ago, was already finished, or was not started in this browser",
  too_many_attempts: "too many attempts from this network",
  failed: "another error; the gateway's log has the details",
} as const;

export type OpenIdRefusal = keyof typeof OPENID_REFUSALS;
