/** Signing in by an OpenID provider: sending the browser there, and what becomes of it when it comes back. */
import type { Ask, Caller } from "./ask.ts";
import { type Attempts, networkOf } from "./attempts.ts";
import type { OidcProvider } from "./oidc.ts";
import { SignInRefusal } from "./refusals.ts";
import { entered } from "./sign-in.ts";

/**
 * `account_not_linked`: the e-mail address belongs to an identity that has not proven it. `email_not_verified`: the
 * provider does not vouch for it. `provider_refused`: the provider, or the person at it, said no. `expired`: the browser
 * came back too late, twice, or without having been sent. `failed`: anything else; the log says what.
 */
type OpenIdOutcome =
  | "signed_in"
  | "two_factor_required"
  | "account_not_linked"
  | "email_not_verified"
  | "provider_refused"
  | "expired"
  | "failed";

export interface OpenId {
  /** What can be offered to people. */
  providers: { id: string; name: string }[];
  /** Where to send the browser. */
  begin(providerId: string, caller: Caller): Promise<{ url: string; cookies: string[] }>;
  finish(
    providerId: string,
    query: URLSearchParams,
    caller: Caller,
  ): Promise<{ outcome: OpenIdOutcome; cookies: string[] }>;
}

const HOME = "/console/";

const OUTCOMES: Record<string, OpenIdOutcome> = {
  account_not_linked: "account_not_linked",
  access_denied: "provider_refused",
  login_required: "provider_refused",
  consent_required: "provider_refused",
  interaction_required: "provider_refused",
  state_mismatch: "expired",
  state_invalid: "expired",
  state_not_found: "expired",
};

interface OpenIdOptions {
  ask: Ask;
  attempts: Attempts;
  providers: OidcProvider[];
}

export function openOpenId({ ask, attempts, providers }: OpenIdOptions): OpenId {
  const known = new Set(providers.map(({ id }) => id));
  const check = async (providerId: string, caller: Caller): Promise<void> => {
    if (!known.has(providerId)) throw new SignInRefusal("unknown_provider");
    await attempts.take("address", networkOf(caller.address));
  };
  return {
    providers: providers.map(({ id, name }) => ({ id, name })),
    async begin(providerId, caller) {
      await check(providerId, caller);
      const body = { provider: providerId, callbackURL: HOME, errorCallbackURL: HOME, disableRedirect: true };
      const answer = await ask(caller, { path: "/sign-in/social", body });
      return { url: String(answer.body?.url), cookies: answer.cookies };
    },
    async finish(providerId, query, caller) {
      await check(providerId, caller);
      const path = `/callback/${encodeURIComponent(providerId)}`;
      try {
        const answer = await ask(caller, { path, query });
        const error = answer.location?.searchParams.get("error") ?? undefined;
        const outcome = error === undefined ? entered(answer).status : (OUTCOMES[error] ?? "failed");
        return { outcome, cookies: answer.cookies };
      } catch (error) {
        if (!(error instanceof SignInRefusal) || error.reason !== "email_not_verified") throw error;
        return { outcome: "email_not_verified", cookies: [] };
      }
    },
  };
}
