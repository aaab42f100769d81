/** Opens sign-in, accounts and email. */
import { openAccounts } from "../accounts/accounts.ts";
import { type Identities, openIdentities } from "../accounts/identities.ts";
import type { OidcProvider } from "../accounts/oidc.ts";
import type { PasswordHash } from "../accounts/password-hash.ts";
import type { AccountServices } from "../accounts/services.ts";
import type { RotatingSecret } from "../base/rotating-secret.ts";
import { HOUR_MS } from "../base/time.ts";
import type { AssemblyContext } from "./assembly-context.ts";
import type { ExternalInterfaces } from "./port-interfaces.ts";

const SIGN_IN_SWEEP_EVERY_MS = HOUR_MS;

export interface AccountSettings {
  /** The URL at which browsers reach the gateway. Undefined: each request's Host header decides. */
  publicUrl: string | undefined;
  /** The origin for links in emails. */
  linkOrigin: string;
  /** Whether browsers connect over TLS, if no public URL is configured. */
  isSecure: boolean;
  /** Whether a new email address must be confirmed before its first sign-in. */
  verifyEmails: boolean;
  /** External sign-in providers. */
  oidcProviders: OidcProvider[];
  /** The secret that signs session cookies. */
  sessionSecret: RotatingSecret;
  /** Whether to load the sign-in library at the first sign-in instead of at the start. */
  loadsSignInLate: boolean;
  /** Hashes passwords. Undefined: scrypt, at the production cost. */
  passwordHash?: PasswordHash | undefined;
  upkeep: boolean;
}

export async function openAccountServices(
  context: AssemblyContext,
  settings: AccountSettings,
  { store: { pool, clock: databaseClock, schema }, mail }: Pick<ExternalInterfaces, "store" | "mail">,
): Promise<AccountServices> {
  const { newId, log, onClose } = context;
  const { sessionSecret: secret, oidcProviders: providers, loadsSignInLate: loadedLate } = settings;
  const identities = await openIdentities({
    pool,
    newId,
    log,
    databaseAheadMs: () => databaseClock().offsetMs ?? 0,
    secret: secret.current,
    oldSecret: secret.old,
    nextSecret: secret.next,
    publicUrl: settings.publicUrl,
    isSecure: settings.isSecure,
    mail,
    linkOrigin: settings.publicUrl === undefined ? settings.linkOrigin : undefined,
    verifyEmails: settings.verifyEmails,
    providers,
    loadedLate,
    passwordHash: settings.passwordHash,
    schemaNumber: () => schema.number,
  });
  onClose(() => identities.idle());
  if (settings.upkeep) keepSweeping(context, identities, secret);
  return { accounts: openAccounts({ pool, newId }), identities };
}

function keepSweeping({ clock, log, onClose }: AssemblyContext, identities: Identities, secret: RotatingSecret): void {
  const sweep = (): void => {
    identities.sweep().catch((error) => log.error({ err: error }, "could not delete expired records"));
  };
  // Encrypts stored second factors again with the new secret.
  if (secret.old !== undefined) sweep();
  onClose(clock.every(SIGN_IN_SWEEP_EVERY_MS, sweep));
}
