/** Accounts, sign-ins, keys and tokens. */

import type pg from "pg";
import { type Accounts, openAccounts } from "../accounts/accounts.ts";
import { type Identities, openIdentities } from "../accounts/identities.ts";
import { developmentMail, type Mail, smtpMail } from "../accounts/mail.ts";
import { type Outbox, openOutbox } from "../accounts/outbox.ts";
import type { Broadcast } from "../db/broadcast.ts";
import { type ApiKeys, openApiKeys } from "../keys/api-keys.ts";
import type { Secrets } from "../keys/keys.ts";
import { openHostTokens } from "../keys/keys.ts";
import { openSessionKeys, type SessionKeys } from "../keys/session-keys.ts";
import type { ServerSecrets } from "../server-secrets.ts";
import { type Context, derived } from "./context.ts";

/** Where links in letters lead. */
export const linkOriginOf = ({ publicUrl, tls, host, port }: Context["config"]): string =>
  publicUrl === undefined ? `${tls === undefined ? "http" : "https"}://${host}:${port}` : new URL(publicUrl).origin;

const SIGN_IN_SWEEP_EVERY_MS = 60 * 60 * 1000;

export interface AccountParts {
  accounts: Accounts;
  identities: Identities;
  apiKeys: ApiKeys;
  hostTokens: Secrets;
  outbox: Outbox;
  sessionKeys: SessionKeys;
}

export async function openAccountParts(
  context: Context,
  { pool, broadcast }: { pool: pg.Pool; broadcast: Broadcast },
  secrets: ServerSecrets,
): Promise<AccountParts> {
  const { clock, random, newId, log, onClose } = context;
  const { pepper } = secrets;
  const { config, development = false } = context;
  const unsent = development ? developmentMail(log) : undefined;
  const mail = config.mail === undefined ? unsent : smtpMail(config.mail);
  const identities = await openSignIn(context, { pool, mail }, derived(secrets, "console sessions"));
  const outbox = openOutbox({ pool, clock, log, mail });
  const keyOptions = { pool, pepper, clock, random, newId, log, broadcast };
  const apiKeys = openApiKeys(keyOptions);
  onClose(() => apiKeys.close());
  const hostTokens = openHostTokens(keyOptions);
  onClose(() => hostTokens.close());
  return {
    accounts: openAccounts({ pool, newId }),
    identities,
    apiKeys,
    hostTokens,
    sessionKeys: openSessionKeys(keyOptions),
    outbox,
  };
}

async function openSignIn(
  context: Context,
  { pool, mail }: { pool: pg.Pool; mail: Mail | undefined },
  secret: string,
): Promise<Identities> {
  const { config, clock, newId, log, onClose, development = false } = context;
  const { publicUrl, oidcProviders: providers } = config;
  const identities = await openIdentities({
    pool,
    newId,
    log,
    secret,
    publicUrl,
    isSecure: config.tls !== undefined,
    mail,
    linkOrigin: publicUrl === undefined ? linkOriginOf(config) : undefined,
    verifyEmails: config.mail !== undefined,
    providers,
    loadedLate: development,
  });
  onClose(() => identities.idle());
  onClose(
    clock.every(SIGN_IN_SWEEP_EVERY_MS, () => {
      identities.sweep().catch((error) => log.error({ err: error }, "sweeping what ran out failed"));
    }),
  );
  return identities;
}
