/** What becomes of a visit to an OpenID provider that does not let the person in: `sign_in` of the address they come back to. */
export const OPENID_REFUSALS = {
  account_not_linked: "the e-mail address belongs to an identity that has not proven it",
  email_missing: "the provider tells no e-mail address",
  email_not_verified: "the provider does not vouch for the e-mail address",
  provider_refused: "the provider, or the person at it, said no",
  provider_unavailable: "the provider does not answer, or says that it cannot",
  expired: "the browser came back too late, twice, or without having been sent",
  too_many_attempts: "too many attempts from this network",
  failed: "anything else; the gateway's log says what",
} as const;

export type OpenIdRefusal = keyof typeof OPENID_REFUSALS;
