/** Accounts, sign-ins, keys and tokens. */

import type pg from "pg";
import { type Accounts, openAccounts } from "../accounts/accounts.ts";
import { type Identities, openIdentities } from "../accounts/identities.ts";
import { developmentMail, type Mail, smtpMail } from "../accounts/mail.ts";
import { type Outbox, openOutbox } from "../accounts/outbox.ts";
import type { Replaceable } from "../base/replaceable.ts";
import type { Broadcast } from "../db/broadcast.ts";
import type { Schema } from "../db/schema.ts";
import { type ApiKeys, openApiKeys } from "../keys/api-keys.ts";
import type { Secrets } from "../keys/keys.ts";
import { openHostTokens } from "../keys/keys.ts";
import { PEPPERS_SCHEMA } from "../keys/peppers.ts";
import { openSessionKeys, type SessionKeys } from "../keys/session-keys.ts";
import type { ServerSecrets } from "../server-secrets.ts";
import { type Context, sessionSecrets } from "./context.ts";

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
  { pool, broadcast, schema }: { pool: pg.Pool; broadcast: Broadcast; schema: Pick<Schema, "number"> },
  secrets: ServerSecrets,
): Promise<AccountParts> {
  const { clock, random, newId, log, onClose } = context;
  const { config, development = false } = context;
  const unsent = development ? developmentMail(log) : undefined;
  const mail = config.mail === undefined ? unsent : smtpMail(config.mail);
  const identities = await openSignIn(context, { pool, mail }, sessionSecrets(config, secrets));
  const outbox = openOutbox({ pool, clock, log, mail });
  const { pepper, pepperOld: old, pepperNext: next } = secrets;
  const keepsPeppers = (): boolean => schema.number >= PEPPERS_SCHEMA;
  const keyOptions = { pool, pepper, old, next, keepsPeppers, clock, random, newId, log, broadcast };
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
  secret: Replaceable,
): Promise<Identities> {
  const { config, clock, newId, log, onClose, development = false } = context;
  const { publicUrl, oidcProviders: providers } = config;
  const identities = await openIdentities({
    pool,
    newId,
    log,
    secret: secret.current,
    oldSecret: secret.old,
    nextSecret: secret.next,
    publicUrl,
    isSecure: config.tls !== undefined,
    mail,
    linkOrigin: publicUrl === undefined ? linkOriginOf(config) : undefined,
    verifyEmails: config.mail !== undefined,
    providers,
    loadedLate: development,
  });
  onClose(() => identities.idle());
  const sweep = (): void => {
    identities.sweep().catch((error) => log.error({ err: error }, "sweeping what ran out failed"));
  };
  // Second factors are encrypted anew.
  if (secret.old !== undefined) sweep();
  onClose(clock.every(SIGN_IN_SWEEP_EVERY_MS, sweep));
  return identities;
}
