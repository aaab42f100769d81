/** An account's members and invitations. */
import type { teamRoutes } from "@tollgate/api/console/team.ts";
import type { Invitation } from "../../accounts/invitations.ts";
import type { AccountServices } from "../../accounts/services.ts";
import type { Member, TeamEvent } from "../../accounts/team.ts";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { toUnixSeconds } from "../../base/time.ts";
import { makeRoleRequiredFault, requireRole } from "../../http/guards.ts";
import type { Handlers } from "../../http/serve-routes.ts";
import { accountObject } from "./accounts.ts";
import { withSignInErrors } from "./sign-in.ts";

export function teamHandlers({ identities }: Pick<AccountServices, "identities">): Handlers<typeof teamRoutes> {
  const { team } = identities;
  return withSignInErrors<Handlers<typeof teamRoutes>>({
    async getTeam({ who, account: { id } }) {
      const [members, invitations, events] = await Promise.all([
        team.members(id),
        team.invitations.open(id),
        team.events(id),
      ]);
      return {
        object: "team",
        account: publicId("acc", id),
        members: members.map((member) => memberObject(member, who.identityId)),
        invitations: invitations.map(invitationObject),
        events: events.map(eventObject),
      };
    },

    async inviteToTeam({ who, account, body, refuse }) {
      const sent = await team.invitations.send(account.id, body(), who);
      if (sent === "role_required") throw makeRoleRequiredFault("own");
      if (typeof sent === "string") throw refuse(sent);
      return { ...invitationObject(sent.invitation), link: sent.link };
    },

    async withdrawInvitation({ who, account, params, refuse }) {
      const id = parseId("inv", params.id);
      const outcome = id === undefined ? "not_found" : await team.invitations.withdraw(account.id, id, who);
      if (outcome === "role_required") throw makeRoleRequiredFault("own");
      if (outcome === "not_found") throw refuse(outcome);
      return { removed: true };
    },

    async changeRole({ who, account, params, body, refuse }) {
      const id = await memberIn(account.id, params.id);
      if (id === undefined) throw refuse("not_found");
      const changed = await team.setRole(account.id, id, body().role, who);
      if (changed === "role_required") throw makeRoleRequiredFault("own");
      if (typeof changed === "string") throw refuse(changed);
      return memberObject(changed, who.identityId);
    },

    async removeFromTeam({ who, account, params, refuse }) {
      const id = parseId("usr", params.id);
      if (id !== who.identityId) requireRole(account, "own");
      const outcome = id === undefined ? "not_found" : await team.remove(account.id, id, who);
      if (outcome !== "removed") throw refuse(outcome);
      return { removed: true };
    },

    async readInvitation({ who, body, refuse }) {
      const offer = await team.look(body().token, who);
      if (typeof offer === "string") throw refuse(offer);
      const { account, role, invitedBy, expiresAt } = offer;
      const { kind, name } = account;
      return { account: { kind, name }, role, invited_by: invitedBy, expires_at: toUnixSeconds(expiresAt) };
    },

    async acceptInvitation({ who, body, refuse }) {
      const joined = await team.accept(body().token, who);
      if (typeof joined === "string") throw refuse(joined);
      return accountObject(joined);
    },
  });

  /** The member's ID is checked before the body. */
  async function memberIn(accountId: Uuid, name: string): Promise<Uuid | undefined> {
    const id = parseId("usr", name);
    return (await team.members(accountId)).some((member) => member.id === id) ? id : undefined;
  }
}

function memberObject({ id, name, email, role, since }: Member, me: Uuid) {
  return { id: publicId("usr", id), name, email, role, since: toUnixSeconds(since), you: id === me };
}

function invitationObject({ id, email, role, invitedBy, createdAt, expiresAt }: Invitation) {
  return {
    id: publicId("inv", id),
    email,
    role,
    invited_by: invitedBy,
    created_at: toUnixSeconds(createdAt),
    expires_at: toUnixSeconds(expiresAt),
  };
}

const eventObject = ({ at, by, action, email, role }: TeamEvent) => ({
  at: toUnixSeconds(at),
  by,
  action,
  email,
  role,
});
