/**
 * The interface for identities: people who sign in to the console, their sessions and accounts. Only code behind this
 * interface uses better-auth, the sign-in library.
 */
import { ACCOUNTS_PER_IDENTITY_MAX } from "@tollgate/api/api-limits.ts";
import type pg from "pg";
import { coalesceUnsentQueries } from "../base/coalesce-unsent-queries.ts";
import type { NewId, Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { AccountKind } from "../base/stored-enumerations.ts";
import { inTransaction } from "../db/pool.ts";
import { ACCOUNT_DELETION_NEEDS_MIGRATION, type AccountDeletion, openAccountDeletion } from "./account-deletion.ts";
import { openAccountEmailSender, type PayoutMethodChange } from "./account-emails.ts";
import { addOwner, findMemberships, insertAccount, type Membership } from "./accounts.ts";
import { openAttemptLimits } from "./attempt-limits.ts";
import type { AuthLibrary, openAuthLibrary } from "./auth-library.ts";
import { createAuthLibraryCall } from "./auth-library-call.ts";
import { chooseAuthOrigin } from "./better-auth-constants.ts";
import { createIdentity, hasOperator, type NewIdentity } from "./create-identity.ts";
import { captureDatabaseErrors } from "./database-error-capture.ts";
import { openInvitationService } from "./invitations.ts";
import { convertToMachineTime } from "./machine-clock-conversion.ts";
import type { MailSender } from "./mail-sender.ts";
import type { OidcProvider } from "./oidc.ts";
import { createOpenIdSignIn, type OpenIdSignIn } from "./openid-sign-in.ts";
import { type PasswordHash, scryptHash } from "./password-hash.ts";
import { openPasswordService, type Passwords } from "./passwords.ts";
import { openPayoutMethods, type PayoutMethods } from "./payout-methods.ts";
import { openPersonDeletion, type PersonDeletion } from "./person-deletion.ts";
import { openPreferences, type Preferences } from "./preferences.ts";
import { openScriptSessions, SCRIPT_SESSIONS_MIGRATION, type ScriptSessions } from "./script-sessions.ts";
import { openSecretReencryption } from "./secret-reencryption.ts";
import { createSessionSignatureReplacer } from "./session-signature-replacer.ts";
import { deleteExpiredSessions, openSessions, type Sessions } from "./sessions.ts";
import { openSignInService, type SignInService } from "./sign-in.ts";
import { signCookieValue } from "./signed-cookie.ts";
import { convertBetterAuthSession, type SignedInPerson } from "./signed-in-person.ts";
import { openTeam, type Team } from "./team.ts";
import { openSecondFactors, type SecondFactors } from "./two-factor.ts";

export { IdentityError } from "./create-identity.ts";
export type { SignedInPerson };

export interface Identities {
  /** Creates an identity from the command line. People sign up themselves, but never as operators. */
  create(identity: NewIdentity): Promise<Uuid>;
  /** Whether anyone can sign in as an operator. */
  hasOperator(): Promise<boolean>;
  own(identityId: Uuid, accountId: Uuid): Promise<void>;
  /** Returns the identity of the session cookie in these headers, or undefined without a valid session. Only reads. */
  session(headers: Headers): Promise<SignedInPerson | undefined>;
  /** Lists the accounts that an identity owns or is a member of, oldest first. */
  accountsOf(identityId: Uuid): Promise<Membership[]>;
  /**
   * Opens an account with its ledger account and owner. Refused if the identity owns a suspended account, or too many.
   */
  openAccount(
    identityId: Uuid,
    account: { kind: AccountKind; name: string },
  ): Promise<Membership | "account_suspended" | "too_many">;
  renameAccount(accountId: Uuid, name: string): Promise<void>;
  preferences: Preferences;
  payoutMethods: PayoutMethods;
  deletion: AccountDeletion;
  leaving: PersonDeletion;
  /** Emails owners and billing contacts that the payout method changed, if email is configured. */
  tellPayoutMethod(emails: string[], changed: PayoutMethodChange): void;
  /** Emails the members of a deleted account, if email is configured. */
  tellDeleted(emails: string[], deleted: { accountId: Uuid; by: string; at: Date }): void;
  team: Team;
  signIn: SignInService;
  passwords: Passwords;
  twoFactor: SecondFactors;
  openId: OpenIdSignIn;
  sessions: Sessions;
  scripts: ScriptSessions;
  /** Whether email is available for new passwords, and whether new addresses must be confirmed. */
  offers: { resetByMail: boolean; verifiesEmails: boolean };
  /** Loads the sign-in library and looks up a session that does not exist, so that the first user does not wait. */
  warm(): Promise<void>;
  /** Deletes expired sessions, invitations and similar rows, and continues the deletion of accounts. */
  sweep(): Promise<void>;
  /** Resolves when no email is in flight. */
  idle(): Promise<void>;
}

export interface IdentitiesOptions {
  pool: pg.Pool;
  newId: NewId;
  log: Log;
  /** Returns the database's clock minus this machine's, in ms. */
  databaseAheadMs?: () => number;
  /**
   * Signs session cookies and encrypts second-factor secrets. A new secret ends every session and second factor, unless
   * the previous one is set as `oldSecret`.
   */
  secret: string;
  /** During a replacement: the previous secret, or the next one (`nextSecret`) that other gateways already use. */
  oldSecret?: string | undefined;
  nextSecret?: string | undefined;
  /** The public URL. Undefined: the host name of the client's request is used. */
  publicUrl: string | undefined;
  /** Whether clients use TLS when no URL is configured. */
  isSecure?: boolean;
  /** Sends emails. Undefined: email is off. */
  mail?: MailSender | undefined;
  /** The base URL of links in emails; by default the public one. */
  linkOrigin?: string | undefined;
  /** Whether a new email address must be confirmed before the first sign-in. */
  verifyEmails?: boolean;
  providers?: OidcProvider[];
  /** Hashes passwords. Default: scrypt at the full cost of production. */
  passwordHash?: PasswordHash | undefined;
  /**
   * Loads better-auth in `warm` or on first use, because it is a third of all code. Only for local platforms: elsewhere
   * the first user must not wait for it.
   */
  loadedLate?: boolean;
  /** Returns the number of the database's newest migration. Features of later migrations are off. */
  schemaNumber?: () => number;
}

export async function openIdentities(options: IdentitiesOptions): Promise<Identities> {
  const {
    pool,
    newId,
    log,
    secret,
    oldSecret,
    nextSecret,
    publicUrl,
    isSecure = false,
    mail,
    verifyEmails = false,
    providers = [],
    loadedLate = false,
    databaseAheadMs = () => 0,
    schemaNumber = () => Number.POSITIVE_INFINITY,
  } = options;
  const hasScripts = (): boolean => schemaNumber() >= SCRIPT_SESSIONS_MIGRATION;
  const { linkOrigin = chooseAuthOrigin(publicUrl, isSecure), passwordHash = scryptHash } = options;
  const emails = mail === undefined ? undefined : openAccountEmailSender({ mail, log, origin: linkOrigin });
  const witness = captureDatabaseErrors(convertToMachineTime(pool, databaseAheadMs));
  const sources = { pool, witness, newId, log, secret };
  const library = { ...sources, publicUrl, isSecure, emails, verifyEmails, providers, passwordHash };
  let loading: Promise<AuthLibrary> | undefined;
  const loaded = (): Promise<AuthLibrary> => {
    // Allows another try after a failed load, for example after a database outage.
    loading ??= load(library).catch((error) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
  // Loads the library now, so that a mistake in its options or tables stops the start.
  if (!loadedLate) await loaded();
  const others = [oldSecret, nextSecret].filter((other) => other !== undefined);
  const resigning = others.length === 0 ? undefined : createSessionSignatureReplacer({ secret, others });
  const kept = openSecretReencryption({ pool, secret, others });
  const ask = createAuthLibraryCall(loaded, witness, resigning);
  // The counts of failed attempts have keys that are derived from a secret. Uses the old secret if there is one, so
  // that gateways with the old and the new secret share the counts.
  const attempts = openAttemptLimits({ pool, secret: oldSecret ?? secret });
  const canMail = mail?.delivers ?? false;
  const invitations = openInvitationService({ pool, newId, attempts, emails, canMail, origin: linkOrigin });
  const team = openTeam({ pool, newId, attempts, invitations, verifyEmails });
  const passwords = openPasswordService({ pool, ask, attempts, log, resigning, canMail: mail !== undefined });
  const signIn = openSignInService({ ask, attempts, pool, verifyEmails, kept });
  const sessions = coalesceUnsentQueries<SignedInPerson | undefined>();
  const session: Identities["session"] = async (headers) => {
    const auth = await loaded();
    const cookie = headers.get("cookie") ?? "";
    // Shares one lookup among concurrent requests with the same cookie, such as those of one page.
    return await sessions(cookie, async (onSent) => {
      const sent = new Headers({ cookie: resigning?.cookies(cookie) ?? cookie });
      // Does not refresh the session, because this call cannot send the new cookie.
      const found = await witness.ask(() => auth.api.getSession({ headers: sent, query: { disableRefresh: true } }), {
        onSent,
      });
      return found === null ? undefined : convertBetterAuthSession(found);
    });
  };
  const scripts = openScriptSessions({ pool, newId, attempts, hasScripts });
  const deletion = openAccountDeletion({ pool, newId });
  const memberships = coalesceUnsentQueries<Membership[]>();

  return {
    create: (identity) => createIdentity({ pool, newId, passwordHash }, identity),
    hasOperator: () => hasOperator(pool),
    own: (identityId, accountId) => addOwner(pool, identityId, accountId),
    session,
    accountsOf: (identityId) =>
      memberships(identityId, async (onSent) => {
        // Waits, so that concurrent callers of one event-loop turn share the query.
        await new Promise<void>(process.nextTick);
        onSent();
        return await findMemberships(pool, identityId);
      }),
    openAccount: (identityId, account) =>
      inTransaction(pool, async (client) => {
        // Locks the identity, so that concurrent requests cannot exceed the limit.
        await client.query("select from identity where id = $1 for update", [identityId]);
        const owned = (await findMemberships(client, identityId)).filter(({ role }) => role === "owner");
        if (owned.some(({ suspended }) => suspended)) return "account_suspended";
        if (owned.length >= ACCOUNTS_PER_IDENTITY_MAX) return "too_many";
        const id = await insertAccount(client, { id: newId(), ...account });
        await addOwner(client, identityId, id);
        return { id, ...account, suspended: false, role: "owner" };
      }),
    async renameAccount(accountId, name) {
      await pool.query("update account set name = $2 where id = $1", [accountId, name]);
    },
    preferences: openPreferences({ pool, schemaNumber }),
    payoutMethods: openPayoutMethods({ pool, newId, schemaNumber }),
    deletion,
    leaving: openPersonDeletion({ pool, newId }),
    tellPayoutMethod(addresses, changed) {
      for (const address of addresses) emails?.payoutMethodChanged(address, changed);
    },
    tellDeleted(addresses, deleted) {
      for (const address of addresses) emails?.accountDeleted(address, deleted);
    },
    team,
    signIn,
    passwords,
    twoFactor: openSecondFactors({ ask, attempts, kept }),
    openId: createOpenIdSignIn({ ask, attempts, providers, log }),
    sessions: openSessions({ pool, hasScripts }),
    scripts,
    offers: { resetByMail: mail !== undefined, verifiesEmails: verifyEmails },
    async warm() {
      const { authCookies } = await (await loaded()).$context;
      // Looks up a session that cannot exist: the cookie contains a new ID, which has another format than session
      // tokens.
      const cookie = `${authCookies.sessionToken.name}=${signCookieValue(newId(), secret)}`;
      await Promise.all([
        session(new Headers({ cookie })),
        signIn.renew({ cookie, address: "127.0.0.1", userAgent: undefined }),
      ]);
    },
    async sweep() {
      await deleteExpiredSessions(pool);
      await scripts.sweep();
      await invitations.sweep();
      await team.sweep();
      if (schemaNumber() >= ACCOUNT_DELETION_NEEDS_MIGRATION) await deletion.sweep();
      await attempts.sweep();
      // Only gateways that already use the new secret re-encrypt. They have the previous one as `oldSecret`.
      if (oldSecret !== undefined) await kept.sweep();
    },
    async idle() {
      await passwords.idle();
      await emails?.idle();
    },
  };
}

async function load(options: Parameters<typeof openAuthLibrary>[0]): Promise<AuthLibrary> {
  const library = await import("./auth-library.ts");
  const auth = library.openAuthLibrary(options);
  const { checkSchema } = await auth.$context;
  await checkSchema?.();
  return auth;
}
