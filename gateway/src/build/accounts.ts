/** Accounts, sign-ins, keys and tokens. */

import type pg from "pg";
import { type Accounts, openAccounts } from "../accounts/accounts.ts";
import { type Identities, openIdentities } from "../accounts/identities.ts";
import { developmentMail, smtpMail } from "../accounts/mail.ts";
import type { Broadcast } from "../db/broadcast.ts";
import { type ApiKeys, openApiKeys } from "../keys/api-keys.ts";
import type { Secrets } from "../keys/keys.ts";
import { openHostTokens } from "../keys/keys.ts";
import { openSessionKeys, type SessionKeys } from "../keys/session-keys.ts";
import type { ServerSecrets } from "../server-secrets.ts";
import { type Context, derived } from "./context.ts";

const SIGN_IN_SWEEP_EVERY_MS = 60 * 60 * 1000;

export interface AccountParts {
  accounts: Accounts;
  identities: Identities;
  apiKeys: ApiKeys;
  hostTokens: Secrets;
  sessionKeys: SessionKeys;
}

export async function openAccountParts(
  context: Context,
  { pool, broadcast }: { pool: pg.Pool; broadcast: Broadcast },
  secrets: ServerSecrets,
): Promise<AccountParts> {
  const { clock, random, newId, log, onClose } = context;
  const { pepper } = secrets;
  const identities = await openSignIn(context, pool, derived(secrets, "console sessions"));
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
  };
}

async function openSignIn(context: Context, pool: pg.Pool, secret: string): Promise<Identities> {
  const { config, clock, newId, log, development = false, onClose } = context;
  const { publicUrl, oidcProviders: providers } = config;
  const unsent = development ? developmentMail(log) : undefined;
  const identities = await openIdentities({
    pool,
    newId,
    log,
    secret,
    publicUrl,
    mail: config.mail === undefined ? unsent : smtpMail(config.mail),
    linkOrigin: publicUrl === undefined ? `http://${config.host}:${config.port}` : undefined,
    verifyEmails: config.mail !== undefined,
    providers,
  });
  onClose(() => identities.idle());
  onClose(
    clock.every(SIGN_IN_SWEEP_EVERY_MS, () => {
      identities.sweep().catch((error) => log.error({ err: error }, "sweeping what ran out failed"));
    }),
  );
  return identities;
}
