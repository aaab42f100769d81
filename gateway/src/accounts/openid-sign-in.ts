/** The two steps of an OpenID sign-in: redirects the browser to the provider, and handles its return. */
import { OPENID_REFUSALS, type OpenIdRefusal } from "@tollgate/api/console/openid-refusals.ts";
import type { Log } from "../base/log.ts";
import { type AttemptLimits, groupAddressByNetwork } from "./attempt-limits.ts";
import { type AuthCaller, type AuthLibraryCall, UnknownAuthError } from "./auth-library-call.ts";
import type { OidcProvider } from "./oidc.ts";
import { logOpenIdRefusal } from "./openid-refused.ts";
import { makeSignInResult } from "./sign-in.ts";
import { SignInRefusal } from "./sign-in-refusals.ts";

type OpenIdOutcome = "signed_in" | "two_factor_required" | OpenIdRefusal;

export interface OpenIdSignIn {
  /** The configured providers, for the sign-in page. */
  providers: { id: string; name: string }[];
  /** Starts a sign-in. Returns the provider's URL for the browser. */
  begin(providerId: string, caller: AuthCaller): Promise<{ url: string; cookies: string[] }>;
  finish(
    providerId: string,
    query: URLSearchParams,
    caller: AuthCaller,
  ): Promise<{ outcome: OpenIdOutcome; cookies: string[] }>;
}

const HOME = "/console/";

/** Our outcome for each error code of the sign-in library or of the OpenID standard. */
const OUTCOMES: Record<string, OpenIdRefusal> = {
  account_not_linked: "account_not_linked",
  access_denied: "provider_refused",
  login_required: "provider_refused",
  consent_required: "provider_refused",
  interaction_required: "provider_refused",
  account_selection_required: "provider_refused",
  server_error: "provider_unavailable",
  temporarily_unavailable: "provider_unavailable",
  state_mismatch: "expired",
  state_invalid: "expired",
  state_not_found: "expired",
};
/** The pattern of error codes that may be logged. Any other text is not. */
const WORD = /^[A-Za-z_]{1,60}$/;

interface OpenIdOptions {
  ask: AuthLibraryCall;
  attempts: AttemptLimits;
  providers: OidcProvider[];
  log: Log;
}

export function createOpenIdSignIn({ ask, attempts, providers, log }: OpenIdOptions): OpenIdSignIn {
  const known = new Set(providers.map(({ id }) => id));
  const refused = (provider: string, outcome: OpenIdRefusal, reason: string) => {
    logOpenIdRefusal(log, { provider, outcome, reason });
    return { outcome, cookies: [] };
  };
  return {
    providers: providers.map(({ id, name }) => ({ id, name })),
    async begin(providerId, caller) {
      if (!known.has(providerId)) throw new SignInRefusal("unknown_provider");
      await attempts.take("address", groupAddressByNetwork(caller.address));
      const body = { provider: providerId, callbackURL: HOME, errorCallbackURL: HOME, disableRedirect: true };
      const answer = await ask(caller, { path: "/sign-in/social", body });
      return { url: String(answer.body?.url), cookies: answer.cookies };
    },
    async finish(providerId, query, caller) {
      try {
        await attempts.take("address", groupAddressByNetwork(caller.address));
        if (!known.has(providerId)) return refused("unknown", "failed", "no provider with this id is configured");
        const answer = await ask(caller, { path: `/callback/${encodeURIComponent(providerId)}`, query });
        const word = answer.location?.searchParams.get("error") ?? undefined;
        if (word === undefined) return { outcome: makeSignInResult(answer).status, cookies: answer.cookies };
        const reason = WORD.test(word) ? word : "the sign-in provider returned an unreadable error";
        return { ...refused(providerId, OUTCOMES[word] ?? "failed", reason), cookies: answer.cookies };
      } catch (error) {
        const outcome = toldOutcome(error);
        if (outcome === undefined) throw error;
        return { outcome, cookies: [] };
      }
    },
  };
}

/**
 * Returns the outcome of a refusal that must not be logged here, because oidc.ts has logged it or because clients could
 * fill the log with it. Returns undefined for other errors, which the caller throws again.
 */
function toldOutcome(error: unknown): OpenIdRefusal | undefined {
  if (error instanceof SignInRefusal && error.reason === "too_many_attempts") return error.reason;
  if (!(error instanceof UnknownAuthError) || !Object.hasOwn(OPENID_REFUSALS, error.code)) return undefined;
  return error.code as OpenIdRefusal;
}
