/**
 * better-auth, the sign-in library, configured for our tables: passwords, sessions, second factor and OpenID sign-in.
 * We count attempts ourselves (attempt-limits.ts), because the library counts by address only. Its check for cross-site
 * requests is off, because the console's guards already refuse them.
 */
import { PASSWORD_CHARS_MAX, PASSWORD_CHARS_MIN } from "@tollgate/api/api-limits.ts";
import { APIError, type BetterAuthPlugin, betterAuth } from "better-auth";
import { createAuthEndpoint, isAPIError } from "better-auth/api";
import { twoFactor } from "better-auth/plugins/two-factor";
import type pg from "pg";
import type { NewId } from "../base/ids.ts";
import { invariant } from "../base/invariant.ts";
import type { Log } from "../base/log.ts";
import { isRetryableDatabaseError } from "../db/errors.ts";
import type { AccountEmailSender } from "./account-emails.ts";
import {
  AUTH_PATH,
  CHALLENGE_PATH,
  CLIENT_ADDRESS_HEADER,
  COOKIE_PREFIX,
  chooseAuthOrigin,
} from "./better-auth-constants.ts";
import type { DatabaseErrorCapture } from "./database-error-capture.ts";
import { type OidcProvider, oidcPlugin } from "./oidc.ts";
import type { PasswordHash } from "./password-hash.ts";
import { invalidateEmailedLinks } from "./sessions.ts";

const SESSION_S_MAX = 7 * 24 * 60 * 60;
const LINK_S_MAX = 60 * 60;

/** Our table and column names for the library's models. The tables are defined in gateway/sql. */
const USER_TABLE = {
  modelName: "identity",
  fields: { emailVerified: "email_verified", createdAt: "created_at", updatedAt: "updated_at" },
};

const SESSION_TABLE = {
  modelName: "identity_session",
  fields: {
    userId: "identity_id",
    ipAddress: "ip_address",
    userAgent: "user_agent",
    expiresAt: "expires_at",
    createdAt: "created_at",
    updatedAt: "updated_at",
  },
};

const ACCOUNT_TABLE = {
  modelName: "identity_credential",
  fields: {
    userId: "identity_id",
    providerId: "provider",
    accountId: "subject",
    password: "password_hash",
    accessToken: "access_token",
    refreshToken: "refresh_token",
    idToken: "id_token",
    accessTokenExpiresAt: "access_token_expires_at",
    refreshTokenExpiresAt: "refresh_token_expires_at",
    createdAt: "created_at",
    updatedAt: "updated_at",
  },
};

const VERIFICATION_TABLE = {
  modelName: "identity_verification",
  fields: { expiresAt: "expires_at", createdAt: "created_at", updatedAt: "updated_at" },
};

const TWO_FACTOR_TABLES = {
  user: { fields: { twoFactorEnabled: "two_factor_enabled" } },
  twoFactor: {
    modelName: "identity_two_factor",
    fields: {
      userId: "identity_id",
      backupCodes: "backup_codes",
      failedVerificationCount: "failed_verification_count",
      lockedUntil: "locked_until",
    },
  },
};

interface AuthOptions {
  pool: pg.Pool;
  /** Provides the library's database connections. */
  witness: Pick<DatabaseErrorCapture, "pool">;
  newId: NewId;
  log: Log;
  /** Signs session cookies and encrypts second-factor secrets. A new secret ends every session. */
  secret: string;
  /** The public URL. Undefined: the host name of the client's request is used. */
  publicUrl: string | undefined;
  /** Whether clients use TLS when no URL is configured. */
  isSecure?: boolean;
  /** Sends emails. Undefined: email is off. */
  emails: AccountEmailSender | undefined;
  /** Whether an email address must be confirmed before the first sign-in. */
  verifyEmails: boolean;
  providers: OidcProvider[];
  passwordHash: PasswordHash;
}

export type AuthLibrary = ReturnType<typeof openAuthLibrary>;

// Without a declared return type, because the inferred type includes our additional fields.
export function openAuthLibrary(options: AuthOptions) {
  const { pool, newId, secret, publicUrl, isSecure = false, emails, verifyEmails, passwordHash } = options;
  return betterAuth({
    appName: "Tollgate",
    database: options.witness.pool,
    secret,
    // The library reads from this URL whether cookies are secure, and starts links with it. It matches requests by path
    // only.
    baseURL: chooseAuthOrigin(publicUrl, isSecure),
    basePath: AUTH_PATH,
    emailAndPassword: {
      enabled: true,
      minPasswordLength: PASSWORD_CHARS_MIN,
      maxPasswordLength: PASSWORD_CHARS_MAX,
      password: passwordHash,
      requireEmailVerification: verifyEmails,
      resetPasswordTokenExpiresIn: LINK_S_MAX,
      revokeSessionsOnPasswordReset: true,
      sendResetPassword: async ({ user, token }) => emails?.resetPassword(user.email, token),
      async onPasswordReset({ user }) {
        await invalidateEmailedLinks(pool, user.id);
        await proveEmail(pool, user.id);
      },
      onExistingUserSignUp: async ({ user }) => emails?.alreadyHere(user.email),
    },
    emailVerification: {
      sendOnSignUp: verifyEmails,
      sendOnSignIn: false,
      expiresIn: LINK_S_MAX,
      sendVerificationEmail: async ({ user, token }) => emails?.verifyEmail(user.email, token),
    },
    user: {
      ...USER_TABLE,
      additionalFields: { operator: { type: "boolean", required: true, defaultValue: false, input: false } },
    },
    session: { ...SESSION_TABLE, expiresIn: SESSION_S_MAX },
    account: {
      ...ACCOUNT_TABLE,
      updateAccountOnSignIn: false,
      // Keeps the state of an OpenID sign-in in an encrypted cookie, so that starting one writes no rows.
      storeStateStrategy: "cookie",
      // An OpenID sign-in joins the identity with the same email address if both sides have verified it.
      accountLinking: { enabled: true, trustedProviders: [], requireLocalEmailVerified: true },
    },
    verification: { ...VERIFICATION_TABLE, storeIdentifier: "hashed" },
    databaseHooks: { account: { create: { before: async (account) => ({ data: { ...account, ...NO_TOKENS } }) } } },
    plugins: [secondFactor(), challengePlugin(), oidcPlugin(options.providers, options.log)],
    rateLimit: { enabled: false },
    advanced: {
      database: { generateId: () => newId() },
      ipAddress: { ipAddressHeaders: [CLIENT_ADDRESS_HEADER], ipv6Subnet: 128 },
      cookiePrefix: COOKIE_PREFIX,
      useSecureCookies: chooseAuthOrigin(publicUrl, isSecure).startsWith("https:"),
      defaultCookieAttributes: { httpOnly: true, sameSite: "lax", path: "/console" },
      disableCSRFCheck: true,
    },
    telemetry: { enabled: false },
    ...logging(options.log),
  });
}

/** No tokens of OpenID providers are stored, because we do not use them after the sign-in. */
const NO_TOKENS = {
  accessToken: null,
  refreshToken: null,
  idToken: null,
  accessTokenExpiresAt: null,
  refreshTokenExpiresAt: null,
};

function secondFactor() {
  const plugin = twoFactor({
    schema: TWO_FACTOR_TABLES,
    backupCodeOptions: { storeBackupCodes: "encrypted" },
    // Off: the library counts an attempt after checking it, so concurrent guesses exceed its limit. `sign-in.ts` counts
    // before the check.
    accountLockout: { enabled: false },
  });
  const [ask] = plugin.hooks.after;
  invariant(ask !== undefined, "better-auth no longer asks for a second factor in a hook");
  // The library requires the second factor only after a password. We also require it after an OpenID sign-in.
  const afterPassword = ask.matcher;
  ask.matcher = (context) => afterPassword(context) || context.path === "/callback/:id";
  return plugin;
}

/** The library's name of the cookie for a pending second step. The next line is its error code for a missing one. */
const COOKIE = "two_factor";
const NO_CHALLENGE = "INVALID_TWO_FACTOR_COOKIE";

/**
 * Adds an endpoint that returns the identity of a pending second step. The library would find the identity and check
 * the code in one call, but a guess must be counted for its identity before the check. The pending step's cookie is
 * signed by us and is issued only after the password or an OpenID sign-in.
 */
function challengePlugin(): BetterAuthPlugin {
  return {
    id: "tollgate-challenge",
    endpoints: {
      challenge: createAuthEndpoint(CHALLENGE_PATH, { method: "GET" }, async (request) => {
        const { context } = request;
        const key = await request.getSignedCookie(context.createAuthCookie(COOKIE).name, context.secret);
        // `key` is false if the cookie's signature is not ours.
        const found = key ? await context.internalAdapter.findVerificationValue(key) : null;
        if (found === null || found === undefined) throw new APIError("UNAUTHORIZED", { code: NO_CHALLENGE });
        return request.json({ identity: found.value });
      }),
    },
  };
}

/**
 * Marks the email address as confirmed after a password reset by email, which proves that the person owns the address.
 * A stranger may have signed up with the address before, so a second factor from that time is removed.
 */
async function proveEmail(pool: pg.Pool, identityId: string): Promise<void> {
  await pool.query(
    `with proven as (
       update identity set email_verified = true, two_factor_enabled = false, updated_at = now()
        where id = $1 and not email_verified returning id)
     delete from identity_two_factor where identity_id in (select id from proven)`,
    [identityId],
  );
}

/** The library's OpenID errors that openid-sign-in.ts translates and logs. */
const TOLD_ELSEWHERE = new Set([
  "State not found",
  "Failed to parse state",
  "OAuth issuer mismatch",
  "account_not_linked",
]);

/**
 * The library's logger. Only an error's message is logged, because other arguments may contain user input. Database
 * errors are logged where they are handled.
 */
function logging(log: Log) {
  const words = (error: unknown) =>
    error instanceof Error ? { type: error.name, message: error.message, stack: error.stack } : undefined;
  return {
    logger: {
      level: "error" as const,
      log(level: "debug" | "info" | "warn" | "error", message: string, ...details: unknown[]) {
        const error = details.find((detail) => detail instanceof Error);
        const isTold = isRetryableDatabaseError(error) || TOLD_ELSEWHERE.has(message);
        log[isTold ? "debug" : level]({ err: words(error) }, `identities: ${message}`);
      },
    },
    onAPIError: {
      onError(error: unknown) {
        if (isAPIError(error)) return;
        log[isRetryableDatabaseError(error) ? "debug" : "error"]({ err: words(error) }, "identities: request failed");
        // Without this handler the library prints the error, which may contain table rows, to the console.
        throw new APIError("INTERNAL_SERVER_ERROR", { code: "REQUEST_FAILED" });
      },
    },
  };
}
