/**
 * Identities: the people who sign in to the console, their sessions, and which accounts they own. better-auth does the
 * passwords and the sessions on our own tables; everything else of the gateway sees only this port.
 *
 * Its own check for requests from other sites is switched off: the console's door refuses those before they come here,
 * by the rule of our contract, and a second rule beside it would only disagree with it at times.
 */
import { betterAuth } from "better-auth";
import pg from "pg";
import type { NewId, Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { Account } from "./accounts.ts";

/** Where `handle` expects its requests. */
export const AUTH_PATH = "/console/api/auth";
/** The caller's address, set by whoever makes the request for `handle`. Sign-in attempts are counted by it. */
export const CLIENT_ADDRESS_HEADER = "x-tollgate-client-address";
export const PASSWORD_CHARS_MIN = 8;
export const PASSWORD_CHARS_MAX = 128;

const SESSION_S_MAX = 7 * 24 * 60 * 60;
/** For each address: so many attempts, then none until it has kept still for the window. */
const ATTEMPTS = { window: 60, max: 10 };
const UNIQUE_VIOLATION = "23505";

export interface NewIdentity {
  email: string;
  password: string;
  name: string;
  operator: boolean;
}

export interface SignedIn {
  identityId: Uuid;
  email: string;
  name: string;
  operator: boolean;
}

export interface Identities {
  /** For the platform itself; people sign up through `handle`, and never as operators. */
  create(identity: NewIdentity): Promise<Uuid>;
  own(identityId: Uuid, accountId: Uuid): Promise<void>;
  /** Who sent these headers; undefined without a session that is still good. Only reads. */
  session(headers: Headers): Promise<SignedIn | undefined>;
  /** Oldest first. */
  accountsOf(identityId: Uuid): Promise<Account[]>;
  /** Sign-up, sign-in, sign-out and session requests under AUTH_PATH. The caller has refused those of other sites. */
  handle(request: Request): Promise<Response>;
}

/** The identity asked for cannot be made. One line that a person can act on. */
export class IdentityError extends Error {
  override name = "IdentityError";
}

export interface IdentitiesOptions {
  pool: pg.Pool;
  newId: NewId;
  log: Log;
  /** Signs session cookies. Another secret ends every session. */
  secret: string;
  /** How browsers reach the gateway. Undefined: over plain HTTP, by whatever name they used. */
  publicUrl: string | undefined;
}

export async function openIdentities(options: IdentitiesOptions): Promise<Identities> {
  const { pool, newId } = options;
  const auth = openAuth(options);
  // Awaited, so that a mistake in the options or the tables stops the start rather than the first sign-in.
  const { password: passwords, checkSchema } = await auth.$context;
  await checkSchema?.();

  return {
    async create({ email, password, name, operator }) {
      if (password.length < PASSWORD_CHARS_MIN || password.length > PASSWORD_CHARS_MAX) {
        throw new IdentityError(`A password has ${PASSWORD_CHARS_MIN} to ${PASSWORD_CHARS_MAX} characters.`);
      }
      const id = newId();
      const values = [id, email.toLowerCase(), name, operator, newId(), await passwords.hash(password)];
      try {
        // One statement: an identity without a way to sign in cannot exist.
        await pool.query(
          `with made as (insert into identity (id, email, name, operator, email_verified) values ($1, $2, $3, $4, true))
           insert into identity_credential (id, identity_id, provider, subject, password_hash)
           values ($5, $1, 'credential', $1::uuid::text, $6)`,
          values,
        );
      } catch (cause) {
        if (!(cause instanceof pg.DatabaseError) || cause.code !== UNIQUE_VIOLATION) throw cause;
        throw new IdentityError(`An identity with the e-mail address ${email} exists already.`, { cause });
      }
      return id;
    },
    async own(identityId, accountId) {
      await pool.query("insert into account_owner (identity_id, account_id) values ($1, $2) on conflict do nothing", [
        identityId,
        accountId,
      ]);
    },
    async session(headers) {
      // Without the refresh, because the longer-lived cookie that comes with it could not be sent from here.
      const found = await auth.api.getSession({ headers, query: { disableRefresh: true } });
      if (found === null) return undefined;
      const { id, email, name, operator } = found.user;
      return { identityId: id as Uuid, email, name, operator: operator === true };
    },
    async accountsOf(identityId) {
      const { rows } = await pool.query(
        `select a.id, a.kind, a.name, a.suspended_at is not null as suspended
           from account_owner o join account a on a.id = o.account_id where o.identity_id = $1
          order by a.created_at, a.id`,
        [identityId],
      );
      return rows;
    },
    handle: (request) => auth.handler(request),
  };
}

// The return type is inferred: it carries the additional fields.
function openAuth({ pool, newId, log, secret, publicUrl }: IdentitiesOptions) {
  return betterAuth({
    database: pool,
    secret,
    // Only its scheme and its links matter, and no links are sent; the path is what requests are matched by.
    baseURL: publicUrl ?? "http://localhost",
    basePath: AUTH_PATH,
    emailAndPassword: {
      enabled: true,
      minPasswordLength: PASSWORD_CHARS_MIN,
      maxPasswordLength: PASSWORD_CHARS_MAX,
    },
    user: {
      modelName: "identity",
      fields: { emailVerified: "email_verified", createdAt: "created_at", updatedAt: "updated_at" },
      additionalFields: { operator: { type: "boolean", required: true, defaultValue: false, input: false } },
    },
    session: { ...SESSION_COLUMNS, expiresIn: SESSION_S_MAX },
    account: CREDENTIAL_COLUMNS,
    verification: {
      modelName: "identity_verification",
      fields: { expiresAt: "expires_at", createdAt: "created_at", updatedAt: "updated_at" },
    },
    rateLimit: {
      enabled: true,
      storage: "memory",
      customRules: { "/sign-in/email": ATTEMPTS, "/sign-up/email": ATTEMPTS },
    },
    advanced: {
      database: { generateId: () => newId() },
      ipAddress: { ipAddressHeaders: [CLIENT_ADDRESS_HEADER] },
      cookiePrefix: "tollgate",
      useSecureCookies: publicUrl?.startsWith("https:") ?? false,
      defaultCookieAttributes: { httpOnly: true, sameSite: "lax", path: "/console" },
      disableCSRFCheck: true,
    },
    telemetry: { enabled: false },
    logger: {
      level: "warn",
      // Of what comes beside the message only errors are kept: the rest may hold what a person typed.
      log: (level, message, ...details) =>
        log[level]({ err: details.find((detail) => detail instanceof Error) }, `identities: ${message}`),
    },
  });
}

const SESSION_COLUMNS = {
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

const CREDENTIAL_COLUMNS = {
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
