/** The signed-in person, their accounts, and their other sessions. */
import type { accountRoutes } from "@tollgate/api/console/accounts.ts";
import { listPermissions } from "@tollgate/api/roles.ts";
import type { Membership } from "../../accounts/accounts.ts";
import type { Identities, SignedInPerson } from "../../accounts/identities.ts";
import type { ChosenPreferences } from "../../accounts/preferences.ts";
import type { AccountServices } from "../../accounts/services.ts";
import type { OpenSession } from "../../accounts/sessions.ts";
import { publicId, publicIdSuffix, type Uuid } from "../../base/ids.ts";
import { toUnixSeconds } from "../../base/time.ts";
import { requireRole } from "../../http/guards.ts";
import { singlePage } from "../../http/lists/list-pages.ts";
import type { Handlers } from "../../http/serve-routes.ts";

export function accountHandlers({ identities }: Pick<AccountServices, "identities">): Handlers<typeof accountRoutes> {
  return {
    getMe: ({ who }) => meObject(identities, who),

    async setPreferences({ who, body }) {
      const { locale = null, time_zone: timeZone = null } = body();
      return identityObject(who, await identities.preferences.set(who.identityId, { locale, timeZone }));
    },

    async openAccount({ who, body, refuse }) {
      const opened = await identities.openAccount(who.identityId, body());
      if (opened === "account_suspended") throw refuse("account_suspended");
      if (opened === "too_many") throw refuse("limit_reached");
      return accountObject(opened);
    },

    async renameAccount({ who, params, body, refuse }) {
      const theirs = await identities.accountsOf(who.identityId);
      const account = theirs.find(({ id }) => publicId("acc", id) === params.id);
      if (account === undefined) throw refuse("not_found");
      if (account.suspended) throw refuse("account_suspended");
      requireRole(account, "own");
      const { name } = body();
      await identities.renameAccount(account.id, name);
      return accountObject({ ...account, name });
    },

    async listSessions({ who }) {
      const sessions = await identities.sessions.of(who.identityId);
      return singlePage(sessions.map((session) => sessionObject(session, who)));
    },

    endOtherSessions: async ({ who }) => ({
      ended: await identities.sessions.endOthers(who.identityId, who.sessionId),
    }),

    async endSession({ who, params, refuse }) {
      const sessions = await identities.sessions.of(who.identityId);
      const session = sessions.find(({ id }) => sessionName(id) === params.id);
      const ended = session !== undefined && (await identities.sessions.end(who.identityId, session.id));
      if (!ended) throw refuse("not_found");
      return { ended: 1 };
    },
  };
}

/** A person and the accounts that they belong to. */
export async function meObject(identities: Identities, who: SignedInPerson) {
  const { identityId } = who;
  const [accounts, chosen] = await Promise.all([
    identities.accountsOf(identityId),
    identities.preferences.of(identityId),
  ]);
  return { identity: identityObject(who, chosen), accounts: accounts.map(accountObject) };
}

function identityObject(who: SignedInPerson, { locale, timeZone }: ChosenPreferences) {
  const { identityId, email, name, operator, emailVerified, twoFactor } = who;
  return {
    id: publicId("usr", identityId),
    email,
    name,
    operator,
    email_verified: emailVerified,
    two_factor: twoFactor,
    locale,
    time_zone: timeZone,
  };
}

export function accountObject({ id, kind, name, suspended, role }: Membership) {
  return { id: publicId("acc", id), kind, name, suspended, role, may: [...listPermissions(role)] };
}

const sessionName = (id: Uuid): string => `ses_${publicIdSuffix(id)}`;

export function sessionObject(
  { id, address, userAgent, scriptAccess, createdAt, expiresAt }: OpenSession,
  who: SignedInPerson,
) {
  return {
    id: sessionName(id),
    current: id === who.sessionId,
    address,
    user_agent: userAgent,
    script_access: scriptAccess,
    created_at: toUnixSeconds(createdAt),
    expires_at: toUnixSeconds(expiresAt),
  };
}
