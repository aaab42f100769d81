/**
 * Sign-in by OpenID Connect: the code flow with PKCE, state and nonce. A provider is asked for its endpoints when somebody
 * first signs in by it, so that one that is away keeps nobody else out and nothing from starting.
 */
import { APIError, type BetterAuthPlugin } from "better-auth";
import {
  authorizationCodeRequest,
  createAuthorizationURL,
  getOAuth2Tokens,
  type OAuthProvider,
  validateToken,
} from "better-auth/oauth2";
import { z } from "zod";
import type { Log } from "../base/log.ts";

export interface OidcProvider {
  /** In addresses and records: one id belongs to one issuer for ever. */
  id: string;
  /** What people read: "Continue with …". */
  name: string;
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** Takes every e-mail address of this provider for proven, also where it does not say so. For a company's own. */
  trustEmail: boolean;
}

const ANSWER_MS_MAX = 10_000;
const SCOPES = ["openid", "email", "profile"];
const NAME_CHARS_MAX = 200;

const Discovered = z.object({
  issuer: z.string(),
  authorization_endpoint: z.url(),
  token_endpoint: z.url(),
  jwks_uri: z.url(),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
});
type Discovered = z.infer<typeof Discovered>;

const Claims = z.object({
  sub: z.string().min(1),
  nonce: z.string(),
  azp: z.string().optional(),
  email: z.email().max(254).optional(),
  // Some providers write it as text.
  email_verified: z.union([z.boolean(), z.stringbool()]).optional(),
  name: z.string().optional(),
  preferred_username: z.string().optional(),
});
type Claims = z.infer<typeof Claims>;

export function oidcPlugin(providers: OidcProvider[], log: Log): BetterAuthPlugin {
  const opened = providers.map((provider) => openProvider(provider, log));
  return {
    id: "tollgate-oidc",
    init: (context) => ({ context: { socialProviders: [...opened, ...context.socialProviders] } }),
  };
}

function openProvider(provider: OidcProvider, log: Log): OAuthProvider<Claims> {
  const { id, name, issuer, clientId, clientSecret } = provider;
  const options = { clientId, clientSecret };
  let discovered: Promise<Discovered> | undefined;
  const discover = (): Promise<Discovered> => {
    discovered ??= discoverProvider(issuer).catch((cause) => {
      discovered = undefined;
      log.warn({ provider: id, reason: String(cause) }, "an OpenID provider could not be asked");
      throw new APIError("SERVICE_UNAVAILABLE", { code: "PROVIDER_AWAY" });
    });
    return discovered;
  };
  return {
    id,
    name,
    issuer,
    requiresIdTokenNonce: true,
    accountSubject: ({ profile }) => profile.sub,
    async createAuthorizationURL({ state, codeVerifier, redirectURI, idTokenNonce }) {
      const { authorization_endpoint } = await discover();
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
    async validateAuthorizationCode({ code, codeVerifier, redirectURI }) {
      const { token_endpoint, token_endpoint_auth_methods_supported: methods } = await discover();
      const { body, headers } = await authorizationCodeRequest({
        code,
        redirectURI,
        options,
        tokenEndpoint: token_endpoint,
        // What the standard takes for granted where a provider lists nothing.
        authentication: (methods ?? ["client_secret_basic"]).includes("client_secret_basic") ? "basic" : "post",
        ...(codeVerifier !== undefined && { codeVerifier }),
      });
      return getOAuth2Tokens(await askProvider(token_endpoint, { method: "POST", headers, body }));
    },
    async getUserInfo({ idToken, expectedIdTokenNonce: nonce }) {
      if (idToken === undefined || nonce === undefined) return null;
      const { jwks_uri: jwksUri } = await discover();
      const claims = await readIdToken(idToken, { jwksUri, issuer, clientId, nonce }).catch((error: Error) => {
        log.warn({ provider: id, reason: error.message }, "an ID token was refused");
      });
      if (claims === undefined) return null;
      if (!(claims.email_verified ?? false) && !provider.trustEmail) {
        throw new APIError("FORBIDDEN", { code: "EMAIL_NOT_VERIFIED" });
      }
      return { user: { name: nameOf(claims), email: claims.email, emailVerified: true }, data: claims };
    },
  };
}

async function discoverProvider(issuer: string): Promise<Discovered> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const found = Discovered.parse(await askProvider(url, {}));
  // One issuer must not speak for another.
  if (found.issuer !== issuer) throw new Error(`${url} speaks for ${found.issuer}, not for ${issuer}`);
  return found;
}

async function askProvider(url: string, init: RequestInit): Promise<Record<string, unknown>> {
  const response = await fetch(url, { ...init, redirect: "error", signal: AbortSignal.timeout(ANSWER_MS_MAX) });
  if (!response.ok) throw new Error(`${new URL(url).host} answered ${response.status}`);
  return (await response.json()) as Record<string, unknown>;
}

/** Signature, issuer, audience and times are checked by the library, against the keys that the provider publishes now. */
async function readIdToken(
  token: string,
  expected: { jwksUri: string; issuer: string; clientId: string; nonce: string },
): Promise<Claims> {
  const { jwksUri, issuer, clientId, nonce } = expected;
  const { payload } = await validateToken(token, jwksUri, { audience: clientId, issuer });
  const claims = Claims.parse(payload);
  if (claims.nonce !== nonce) throw new Error("the ID token was made for another sign-in");
  if (claims.azp !== undefined && claims.azp !== clientId) throw new Error("the ID token was made for another client");
  return claims;
}

function nameOf({ name, preferred_username, email, sub }: Claims): string {
  const chosen = [name, preferred_username, email?.split("@")[0]].find((text) => text?.trim()) ?? sub;
  return chosen
    .replaceAll(/\p{Cc}/gu, " ")
    .trim()
    .slice(0, NAME_CHARS_MAX);
}
