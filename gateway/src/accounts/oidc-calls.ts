/** Sends HTTP requests to an OpenID provider, and describes their errors. */
import { authorizationCodeRequest } from "better-auth/oauth2";
import { z } from "zod";
import { OpenIdRefused } from "./openid-refused.ts";

const ANSWER_MS_MAX = 10_000;
const TOO_MANY = 429;
const FAULTS_FROM = 500;
/** The pattern of OAuth error codes. Any other text of a provider is not logged. */
const ERROR_CODE = /^[a-z_]{1,40}$/;

const ProviderConfiguration = z.object({
  issuer: z.string(),
  authorization_endpoint: z.url(),
  token_endpoint: z.url(),
  jwks_uri: z.url(),
  userinfo_endpoint: z.url().optional(),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
});
export type ProviderConfiguration = z.infer<typeof ProviderConfiguration>;

const OidcTokens = z.object({ id_token: z.string(), access_token: z.string().optional() });
export type OidcTokens = z.infer<typeof OidcTokens>;

interface Client {
  clientId: string;
  clientSecret: string;
}

/** The authorization code that the browser brought back. */
export interface AuthorizationCode {
  code: string;
  codeVerifier?: string | undefined;
  redirectURI: string;
}

export async function discoverProvider(issuer: string): Promise<ProviderConfiguration> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  return parseDiscoveryDocument(await askProvider(url, {}), { url, issuer });
}

/**
 * Checks a provider's discovery document. Throws if it is for another issuer, or if an endpoint does not use https
 * although the issuer does.
 */
export function parseDiscoveryDocument(
  answer: unknown,
  { url, issuer }: { url: string; issuer: string },
): ProviderConfiguration {
  const found = parseProviderResponse(ProviderConfiguration, answer, url);
  if (found.issuer !== issuer) {
    throw new OpenIdRefused("provider_unavailable", `${url} returned the issuer ${found.issuer} instead of ${issuer}`);
  }
  const { token_endpoint, jwks_uri, userinfo_endpoint } = found;
  for (const [name, endpoint] of Object.entries({ token_endpoint, jwks_uri, userinfo_endpoint })) {
    // The gateway sends the client secret to these endpoints and trusts their responses, so they need TLS.
    if (issuer.startsWith("https:") && endpoint?.startsWith("http:") === true) {
      throw new OpenIdRefused("provider_unavailable", `${url} returned a ${name} that does not use https`);
    }
  }
  return found;
}

export async function exchangeCode(
  { code, codeVerifier, redirectURI }: AuthorizationCode,
  at: ProviderConfiguration,
  options: Client,
) {
  const { token_endpoint: url, token_endpoint_auth_methods_supported: methods } = at;
  const { body, headers } = await authorizationCodeRequest({
    code,
    redirectURI,
    options,
    tokenEndpoint: url,
    // `client_secret_basic` is the standard's default for a provider that lists no methods.
    authentication: (methods ?? ["client_secret_basic"]).includes("client_secret_basic") ? "basic" : "post",
    ...(codeVerifier !== undefined && { codeVerifier }),
  });
  return parseProviderResponse(OidcTokens, await askProvider(url, { method: "POST", headers, body }), url);
}

export function askUserInfo(url: string, accessToken: string): Promise<unknown> {
  return askProvider(url, { headers: { authorization: `Bearer ${accessToken}`, accept: "application/json" } });
}

/** Sends a request to the provider and returns the JSON of its response. */
async function askProvider(url: string, init: RequestInit): Promise<unknown> {
  const answer = async (): Promise<{ ok: boolean; status: number; text: string }> => {
    const response = await fetch(url, { ...init, redirect: "error", signal: AbortSignal.timeout(ANSWER_MS_MAX) });
    return { ok: response.ok, status: response.status, text: await response.text() };
  };
  const { ok, status, text } = await answer().catch((cause: Error) => {
    throw new OpenIdRefused(
      "provider_unavailable",
      `request to ${placeOf(url)} failed: ${describeNetworkError(cause)}`,
      cause,
    );
  });
  const body = parseJson(text);
  if (ok) return body;
  const code = z.object({ error: z.string().regex(ERROR_CODE) }).safeParse(body).data?.error;
  const isAway = status >= FAULTS_FROM || status === TOO_MANY;
  const said = [placeOf(url), "answered", status, code].filter((word) => word !== undefined).join(" ");
  throw new OpenIdRefused(isAway ? "provider_unavailable" : "failed", said);
}

/** Parses a provider's response. The error contains the field and the broken rule, without the field's value. */
export function parseProviderResponse<T extends z.ZodType>(schema: T, answer: unknown, url: string): z.infer<T> {
  const read = schema.safeParse(answer);
  if (!read.success)
    throw new OpenIdRefused("failed", `${placeOf(url)} returned an invalid response: ${formatZodIssues(read.error)}`);
  return read.data;
}

export function formatZodIssues({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => (path.length === 0 ? message : `${path.join(".")}: ${message}`)).join("; ");
}

/** Invalid JSON gives undefined, which every schema refuses. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The URL without its query, which may contain secrets. */
function placeOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}

/** Describes a network error by its cause, because its own message is only `fetch failed`. */
export function describeNetworkError(error: Error): string {
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  return "code" in cause && typeof cause.code === "string" ? cause.code : cause.message;
}
