/** Who is signed in, the accounts they own, and where else they are signed in. */
import { z } from "zod";
import type { Account } from "../../accounts/accounts.ts";
import { ACCOUNTS_MAX, type Identities, type SignedIn } from "../../accounts/identities.ts";
import type { OpenSession } from "../../accounts/sessions.ts";
import { publicId, suffixOf, type Uuid } from "../../base/ids.ts";
import { type Fault, fault } from "../../faults.ts";
import { Name } from "./auth-fields.ts";
import type { ConsoleRoute, Guards } from "./guards.ts";
import { seconds } from "./keys.ts";

export const AccountFields = z.object({
  kind: z.enum(["builder", "host"], 'must be "builder" or "host"'),
  name: Name,
});
export const RenameFields = z.object({ name: Name });

export const tooManyAccounts = (): Fault =>
  fault("limit_reached", { message: `You have ${ACCOUNTS_MAX} accounts, and may have no more.` });

export function accountRoutes(route: ConsoleRoute, guards: Guards, identities: Identities): void {
  route("GET", "/console/api/me", guards.signedIn, async ({ who, json }) => {
    json(await meObject(identities, who));
  });

  route("POST", "/console/api/accounts", guards.signedIn, async ({ who, fields, json }) => {
    const opened = await identities.openAccount(who.identityId, await fields(AccountFields));
    if (opened === "account_suspended") throw fault("account_suspended");
    if (opened === "too_many") throw tooManyAccounts();
    json(accountObject(opened), 201);
  });

  route("PATCH", "/console/api/accounts/:id", guards.signedIn, async ({ who, params, fields, json }) => {
    const owned = await identities.accountsOf(who.identityId);
    const account = owned.find(({ id }) => publicId("acc", id) === params.id);
    if (account === undefined) throw fault("not_found", { message: "No such account of yours." });
    if (account.suspended) throw fault("account_suspended");
    const { name } = await fields(RenameFields);
    await identities.renameAccount(account.id, name);
    json(accountObject({ ...account, name }));
  });

  route("GET", "/console/api/sessions", guards.signedIn, async ({ who, json }) => {
    const sessions = await identities.sessions.of(who.identityId);
    json({ object: "list", data: sessions.map((session) => sessionObject(session, who)), next_cursor: null });
  });

  route("DELETE", "/console/api/sessions", guards.signedIn, async ({ who, json }) => {
    json({ ended: await identities.sessions.endOthers(who.identityId, who.sessionId) });
  });

  route("DELETE", "/console/api/sessions/:id", guards.signedIn, async ({ who, params, json }) => {
    const sessions = await identities.sessions.of(who.identityId);
    const session = sessions.find(({ id }) => sessionName(id) === params.id);
    const ended = session !== undefined && (await identities.sessions.end(who.identityId, session.id));
    if (!ended) throw fault("not_found", { message: "No such session of yours." });
    json({ ended: 1 });
  });
}

/** Who it is, and what they own. */
export async function meObject(identities: Identities, who: SignedIn) {
  const accounts = await identities.accountsOf(who.identityId);
  return { identity: identityObject(who), accounts: accounts.map(accountObject) };
}

function identityObject({ identityId, email, name, operator, emailVerified, twoFactor }: SignedIn): object {
  return {
    id: publicId("usr", identityId),
    email,
    name,
    operator,
    email_verified: emailVerified,
    two_factor: twoFactor,
  };
}

function accountObject({ id, kind, name, suspended }: Account): object {
  return { id: publicId("acc", id), kind, name, suspended };
}

const sessionName = (id: Uuid): string => `ses_${suffixOf(id)}`;

function sessionObject({ id, address, userAgent, createdAt, expiresAt }: OpenSession, who: SignedIn): object {
  return {
    id: sessionName(id),
    current: id === who.sessionId,
    address,
    user_agent: userAgent,
    created_at: seconds(createdAt),
    expires_at: seconds(expiresAt),
  };
}
