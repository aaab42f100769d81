/**
 * Reads a person's identity from the claims of a provider's signed ID token. Missing claims are taken from the
 * provider's UserInfo endpoint, if its response is about the same subject.
 */
import { validateToken } from "better-auth/oauth2";
import { z } from "zod";
import { describeNetworkError, formatZodIssues, parseProviderResponse } from "./oidc-calls.ts";
import { OpenIdRefused } from "./openid-refused.ts";

const NAME_CHARS_MAX = 200;
/** The library's errors when the provider's keys cannot be fetched. Its other errors concern the token. */
const KEYS_AWAY = new Set(["ERR_JWKS_TIMEOUT", "ERR_JOSE_GENERIC"]);

/** An optional claim. Some providers send null or an empty text for a missing one. */
const told = <T extends z.ZodType>(schema: T) =>
  z.preprocess((value) => (value === null || value === "" ? undefined : value), schema.optional());

const Person = {
  sub: z.string().min(1),
  email: told(z.string()),
  // Some providers send this boolean as text.
  email_verified: told(z.union([z.boolean(), z.stringbool()])),
  name: told(z.string()),
  preferred_username: told(z.string()),
};
const IdToken = z.object({ ...Person, nonce: z.string(), azp: z.string().optional() });
const UserInfo = z.object(Person);
export type OidcClaims = z.infer<typeof UserInfo>;

const Email = z.email().max(254);

interface Expected {
  jwksUri: string;
  issuer: string;
  clientId: string;
  nonce: string;
}

/** Reads the ID token. The library checks signature, issuer, audience and times with the provider's current keys. */
export async function readIdToken(token: string, { jwksUri, issuer, clientId, nonce }: Expected): Promise<OidcClaims> {
  const refused = (reason: string, cause?: unknown) =>
    new OpenIdRefused("failed", `ID token refused: ${reason}`, cause);
  const { payload } = await validateToken(token, jwksUri, { audience: clientId, issuer }).catch((cause: Error) => {
    if (!areKeysAway(cause)) throw refused(cause.message, cause);
    throw new OpenIdRefused(
      "provider_unavailable",
      `the provider's signing keys could not be fetched: ${describeNetworkError(cause)}`,
      cause,
    );
  });
  const read = IdToken.safeParse(payload);
  if (!read.success) throw refused(formatZodIssues(read.error));
  if (read.data.nonce !== nonce) throw refused("the ID token was issued for another sign-in (nonce)");
  if (read.data.azp !== undefined && read.data.azp !== clientId)
    throw refused("the ID token was issued for another client (azp)");
  return read.data;
}

function areKeysAway(error: Error): boolean {
  if ("code" in error && typeof error.code === "string") return KEYS_AWAY.has(error.code);
  return error instanceof TypeError;
}

/** Whether claims are missing that UserInfo may contain. */
export function lacksUserInfoClaims({ email, email_verified, name }: OidcClaims): boolean {
  return email === undefined || email_verified === undefined || name === undefined;
}

/** Adds claims from UserInfo that the ID token lacks. Throws if UserInfo is about another subject. */
export function addUserInfoClaims(own: OidcClaims, answer: unknown, url: string): OidcClaims {
  const more = parseProviderResponse(UserInfo, answer, url);
  if (more.sub !== own.sub) {
    throw new OpenIdRefused("failed", "UserInfo and the ID token have different subjects");
  }
  return { ...more, ...defined(own), ...emailOf(own, more) };
}

/**
 * Takes the address and its verification from the same source. UserInfo's verification never applies to another address
 * of the ID token, and never overrides the ID token's "not verified".
 */
function emailOf(own: OidcClaims, more: OidcClaims): Pick<OidcClaims, "email" | "email_verified"> {
  const { email, email_verified: isVerified } = own;
  if (email === undefined) return { email: more.email, email_verified: isVerified !== false && more.email_verified };
  const isSame = email.toLowerCase() === more.email?.toLowerCase();
  return { email, email_verified: isVerified ?? (isSame ? more.email_verified : undefined) };
}

const defined = (claims: OidcClaims): Partial<OidcClaims> =>
  Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined));

/** Converts the claims to the library's profile. Throws if they do not allow a sign-in. */
export function convertClaimsToProfile(claims: OidcClaims, { trustEmail }: { trustEmail: boolean }) {
  const { email, email_verified: isVerified } = claims;
  if (email === undefined) throw new OpenIdRefused("email_missing", "neither the ID token nor UserInfo has an email");
  if (!Email.safeParse(email).success)
    throw new OpenIdRefused("email_missing", "the `email` claim is not a valid email address");
  if (isVerified !== true && !trustEmail) {
    const said =
      isVerified === undefined ? "neither the ID token nor UserInfo has email_verified" : "email_verified is false";
    throw new OpenIdRefused("email_not_verified", said);
  }
  return { name: nameOf(claims), email, emailVerified: true };
}

function nameOf({ name, preferred_username, email, sub }: OidcClaims): string {
  const chosen = [name, preferred_username, email?.split("@")[0]].find((text) => text?.trim()) ?? sub;
  return chosen
    .replaceAll(/\p{Cc}/gu, " ")
    .trim()
    .slice(0, NAME_CHARS_MAX);
}
