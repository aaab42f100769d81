/**
 * Signs people in by OpenID Connect: the code flow with PKCE, state and nonce. A provider's endpoints are fetched on
 * first use, so that an unreachable provider delays nothing else.
 */
import { APIError, type BetterAuthPlugin } from "better-auth";
import { createAuthorizationURL, type OAuthProvider } from "better-auth/oauth2";
import type { Log } from "../base/log.ts";
import {
  type AuthorizationCode,
  askUserInfo,
  discoverProvider,
  exchangeCode,
  type OidcTokens,
  type ProviderConfiguration,
} from "./oidc-calls.ts";
import {
  addUserInfoClaims,
  convertClaimsToProfile,
  lacksUserInfoClaims,
  type OidcClaims,
  readIdToken,
} from "./oidc-claims.ts";
import { logOpenIdRefusal, OpenIdRefused } from "./openid-refused.ts";

export interface OidcProvider {
  /** The provider's ID in URLs and records. It must never be given to another issuer. */
  id: string;
  /** The name on the sign-in page: "Continue with …". */
  name: string;
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** Treats every email address of this provider as verified. Only for a company's own provider. */
  trustEmail: boolean;
}

const SCOPES = ["openid", "email", "profile"];

export function oidcPlugin(providers: OidcProvider[], log: Log): BetterAuthPlugin {
  const opened = providers.map((provider) => openProvider(provider, log));
  return {
    id: "tollgate-oidc",
    init: (context) => ({ context: { socialProviders: [...opened, ...context.socialProviders] } }),
  };
}

function openProvider(provider: OidcProvider, log: Log): OAuthProvider<OidcClaims> {
  const { id, name, issuer, clientId, clientSecret } = provider;
  const options = { clientId, clientSecret };
  const discovering = openDiscovery(issuer);
  return {
    id,
    name,
    issuer,
    requiresIdTokenNonce: true,
    accountSubject: ({ profile }) => profile.sub,
    async createAuthorizationURL({ state, codeVerifier, redirectURI, idTokenNonce }) {
      const { authorization_endpoint } = await discovering().catch((error: Error) => {
        log.warn({ provider: id, reason: error.message }, "OpenID provider request failed");
        throw new APIError("SERVICE_UNAVAILABLE", { code: "PROVIDER_AWAY" });
      });
      return await createAuthorizationURL({
        id,
        options,
        authorizationEndpoint: authorization_endpoint,
        state,
        codeVerifier,
        scopes: SCOPES,
        redirectURI,
        ...(idTokenNonce !== undefined && { nonce: idTokenNonce }),
      });
    },
    // Passes the code to `getUserInfo`, which exchanges it for tokens. If the exchange failed here, the library would
    // report every failure as the same error. The library never gets a token.
    validateAuthorizationCode: async ({ code, codeVerifier, redirectURI }) => ({
      raw: { code, codeVerifier, redirectURI } satisfies AuthorizationCode,
    }),
    async getUserInfo({ raw, expectedIdTokenNonce: nonce }) {
      if (nonce === undefined) return null;
      try {
        const at = await discovering();
        const tokens = await exchangeCode(raw as unknown as AuthorizationCode, at, options);
        const expected = { jwksUri: at.jwks_uri, issuer, clientId, nonce };
        const claims = await complete(await readIdToken(tokens.id_token, expected), tokens, at);
        return { user: convertClaimsToProfile(claims, provider), data: claims };
      } catch (error) {
        if (!(error instanceof OpenIdRefused)) throw error;
        logOpenIdRefusal(log, { provider: id, outcome: error.outcome, reason: error.message });
        throw new APIError("FORBIDDEN", { code: error.outcome });
      }
    },
  };

  /** Requests claims from UserInfo that the ID token lacks, if the provider has that endpoint. */
  async function complete(
    claims: OidcClaims,
    { access_token }: OidcTokens,
    { userinfo_endpoint: url }: ProviderConfiguration,
  ) {
    if (!lacksUserInfoClaims(claims) || url === undefined || access_token === undefined) return claims;
    const isEnough = claims.email !== undefined && (claims.email_verified !== undefined || provider.trustEmail);
    try {
      return addUserInfoClaims(claims, await askUserInfo(url, access_token), url);
    } catch (error) {
      // Continues without the name if UserInfo is unavailable. A UserInfo response about another subject still prevents
      // the sign-in.
      if (!isEnough || !(error instanceof OpenIdRefused) || error.outcome !== "provider_unavailable") throw error;
      log.warn({ provider: id, reason: error.message }, "OpenID provider request for the display name failed");
      return claims;
    }
  }
}

/** Fetches the discovery document once. A failed fetch is repeated on the next use. */
function openDiscovery(issuer: string): () => Promise<ProviderConfiguration> {
  let discovered: Promise<ProviderConfiguration> | undefined;
  return () => {
    discovered ??= discoverProvider(issuer).catch((error) => {
      discovered = undefined;
      throw error;
    });
    return discovered;
  };
}
