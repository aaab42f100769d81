/**
 * Identities: the people who sign in to the console, their sessions, and which accounts they have. The rest of the gateway
 * sees only this port; better-auth stays behind it.
 */
import { ACCOUNTS_MAX } from "@tollgate/api/bounds.ts";
import type pg from "pg";
import type { NewId, Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { AccountKind } from "../base/states.ts";
import { shareUntilSent } from "../base/until-sent.ts";
import { inTransaction } from "../db/pool.ts";
import { accountsOf, addOwner, insertAccount, type Membership } from "./accounts.ts";
import { openAsk } from "./ask.ts";
import { openAttempts } from "./attempts.ts";
import type { Auth, openAuth } from "./auth.ts";
import { originOf } from "./auth-names.ts";
import { openEmails } from "./emails.ts";
import { createIdentity, hasOperator, type NewIdentity } from "./enrolment.ts";
import { openInvitations } from "./invitations.ts";
import { openKeptSecrets } from "./kept-secrets.ts";
import { onMachineTime } from "./machine-time.ts";
import type { Mail } from "./mail.ts";
import type { OidcProvider } from "./oidc.ts";
import { type OpenId, openOpenId } from "./openid.ts";
import { type PasswordHash, scryptHash } from "./password-hash.ts";
import { openPasswords, type Passwords } from "./passwords.ts";
import { openResigning } from "./resigning.ts";
import { openSessions, type Sessions, sweepExpired } from "./sessions.ts";
import { openSignIn, type SignIn } from "./sign-in.ts";
import { signedValue } from "./signed-cookie.ts";
import { type SignedIn, signedInOf } from "./signed-in.ts";
import { openTeam, type Team } from "./team.ts";
import { openTwoFactor, type TwoFactor } from "./two-factor.ts";
import { openWitness } from "./witness.ts";

export { IdentityError } from "./enrolment.ts";
export type { SignedIn };

export interface Identities {
  /** For the platform itself; people sign up, and never as operators. */
  create(identity: NewIdentity): Promise<Uuid>;
  /** Whether anyone can sign in as an operator. */
  hasOperator(): Promise<boolean>;
  own(identityId: Uuid, accountId: Uuid): Promise<void>;
  /** Who sent these headers; undefined without a session that is still good. Only reads. */
  session(headers: Headers): Promise<SignedIn | undefined>;
  /** What they own and what they were invited to, oldest first. */
  accountsOf(identityId: Uuid): Promise<Membership[]>;
  /** An account with its ledger and its owner. Not beside one of theirs that is suspended, and not without end. */
  openAccount(
    identityId: Uuid,
    account: { kind: AccountKind; name: string },
  ): Promise<Membership | "account_suspended" | "too_many">;
  renameAccount(accountId: Uuid, name: string): Promise<void>;
  team: Team;
  signIn: SignIn;
  passwords: Passwords;
  twoFactor: TwoFactor;
  openId: OpenId;
  sessions: Sessions;
  /** What this platform offers: letters may be off. */
  offers: { resetByMail: boolean; verifiesEmails: boolean };
  /** Loads what was left for later, and asks once for a session that there is not: whoever comes next does not wait for it. */
  warm(): Promise<void>;
  /** Removes what has run out. */
  sweep(): Promise<void>;
  /** Resolves when no email is on its way. */
  idle(): Promise<void>;
}

export interface IdentitiesOptions {
  pool: pg.Pool;
  newId: NewId;
  log: Log;
  /** How far the database's clock is ahead of this machine's. */
  databaseAheadMs?: () => number;
  /** Signs session cookies and encrypts secrets. Another one ends every session and every second factor, unless it is known: */
  secret: string;
  /** The one before it, or the one that other gateways may have already. */
  oldSecret?: string | undefined;
  nextSecret?: string | undefined;
  /** How browsers reach the gateway. Undefined: by whatever name they used. */
  publicUrl: string | undefined;
  /** Whether they come over TLS where no URL says so. */
  isSecure?: boolean;
  /** Undefined: nothing can be mailed. */
  mail?: Mail | undefined;
  /** Where links in letters lead; by default to the public address. */
  linkOrigin?: string | undefined;
  /** Whether a new email address must be confirmed before its first sign-in. */
  verifyEmails?: boolean;
  providers?: OidcProvider[];
  /** Scrypt, at the cost of production. */
  passwordHash?: PasswordHash | undefined;
  /**
   * Leaves better-auth, a third of all that a gateway loads, to `warm` or to the first who comes to the console. For a platform
   * on the machine of whoever starts it; elsewhere no one is to wait for it, least of all those who are being served.
   */
  loadedLate?: boolean;
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
  } = options;
  const { linkOrigin = originOf(publicUrl, isSecure), passwordHash = scryptHash } = options;
  const letters = mail === undefined ? undefined : openEmails({ mail, log, origin: linkOrigin });
  const witness = openWitness(onMachineTime(pool, databaseAheadMs));
  const sources = { pool, witness, newId, log, secret };
  const library = { ...sources, publicUrl, isSecure, letters, verifyEmails, providers, passwordHash };
  let loading: Promise<Auth> | undefined;
  const loaded = (): Promise<Auth> => {
    // What failed, because the database was unreachable, say, is tried again.
    loading ??= load(library).catch((error) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
  // Awaited, so that a mistake in the options or the tables stops the start rather than the first sign-in.
  if (!loadedLate) await loaded();
  const others = [oldSecret, nextSecret].filter((other) => other !== undefined);
  const resigning = others.length === 0 ? undefined : openResigning({ secret, others });
  const kept = openKeptSecrets({ pool, secret, others });
  const ask = openAsk(loaded, witness, resigning);
  // Gateways that have changed already, and those that have not, count together.
  const attempts = openAttempts({ pool, secret: oldSecret ?? secret });
  const canMail = mail?.delivers ?? false;
  const invitations = openInvitations({ pool, newId, attempts, letters, canMail, origin: linkOrigin });
  const team = openTeam({ pool, newId, attempts, invitations, verifyEmails });
  const passwords = openPasswords({ pool, ask, attempts, log, resigning, canMail: mail !== undefined });
  const signIn = openSignIn({ ask, attempts, pool, verifyEmails, kept });
  const sessions = shareUntilSent<SignedIn | undefined>();
  const session: Identities["session"] = async (headers) => {
    const auth = await loaded();
    const cookie = headers.get("cookie") ?? "";
    // A page asks for several things at once, with one cookie.
    return await sessions(cookie, async (onSent) => {
      const sent = new Headers({ cookie: resigning?.cookies(cookie) ?? cookie });
      // Without the refresh, because the longer-lived cookie that comes with it could not be sent from here.
      const found = await witness.ask(() => auth.api.getSession({ headers: sent, query: { disableRefresh: true } }), {
        onSent,
      });
      return found === null ? undefined : signedInOf(found);
    });
  };
  const memberships = shareUntilSent<Membership[]>();

  return {
    create: (identity) => createIdentity({ pool, newId, passwordHash }, identity),
    hasOperator: () => hasOperator(pool),
    own: (identityId, accountId) => addOwner(pool, identityId, accountId),
    session,
    accountsOf: (identityId) =>
      memberships(identityId, async (onSent) => {
        // Those who shared the session come in the same turn.
        await new Promise<void>(process.nextTick);
        onSent();
        return await accountsOf(pool, identityId);
      }),
    openAccount: (identityId, account) =>
      inTransaction(pool, async (client) => {
        // One at a time for each identity, so that the count holds.
        await client.query("select from identity where id = $1 for update", [identityId]);
        const owned = (await accountsOf(client, identityId)).filter(({ role }) => role === "owner");
        if (owned.some(({ suspended }) => suspended)) return "account_suspended";
        if (owned.length >= ACCOUNTS_MAX) return "too_many";
        const id = await insertAccount(client, { id: newId(), ...account });
        await addOwner(client, identityId, id);
        return { id, ...account, suspended: false, role: "owner" };
      }),
    async renameAccount(accountId, name) {
      await pool.query("update account set name = $2 where id = $1", [accountId, name]);
    },
    team,
    signIn,
    passwords,
    twoFactor: openTwoFactor({ ask, attempts, kept }),
    openId: openOpenId({ ask, attempts, providers, log }),
    sessions: openSessions({ pool }),
    offers: { resetByMail: mail !== undefined, verifiesEmails: verifyEmails },
    async warm() {
      const { authCookies } = await (await loaded()).$context;
      // No session has an id for its token.
      const cookie = `${authCookies.sessionToken.name}=${signedValue(newId(), secret)}`;
      await Promise.all([
        session(new Headers({ cookie })),
        signIn.renew({ cookie, address: "127.0.0.1", userAgent: undefined }),
      ]);
    },
    async sweep() {
      await sweepExpired(pool);
      await invitations.sweep();
      await team.sweep();
      await attempts.sweep();
      // Not while this gateway's own secret is the one that goes.
      if (oldSecret !== undefined) await kept.sweep();
    },
    async idle() {
      await passwords.idle();
      await letters?.idle();
    },
  };
}

async function load(options: Parameters<typeof openAuth>[0]): Promise<Auth> {
  const library = await import("./auth.ts");
  const auth = library.openAuth(options);
  const { checkSchema } = await auth.$context;
  await checkSchema?.();
  return auth;
}
