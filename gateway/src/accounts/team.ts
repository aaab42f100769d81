/**
 * Manages the members of an account: joining by invitation, roles, leaving. An account keeps at least one owner. Owners
 * cannot leave while it owes money, because payouts deduct debts from the earnings of its owners.
 */
import { ACCOUNTS_PER_IDENTITY_MAX, JOINED_ACCOUNTS_MAX, TEAM_MEMBERS_MAX } from "@tollgate/api/api-limits.ts";
import { ROLES, type Role } from "@tollgate/api/roles.ts";
import type pg from "pg";
import { z } from "zod";
import type { NewId, Uuid } from "../base/ids.ts";
import { TEAM_ACTIONS } from "../base/stored-enumerations.ts";
import { sendBroadcast, TEAM_TOPIC } from "../db/broadcast.ts";
import { inTransaction } from "../db/pool.ts";
import { column, queryOne, queryRow, queryRows, row } from "../db/rows.ts";
import { addOwner, findMemberships, type Membership } from "./accounts.ts";
import type { AttemptLimits } from "./attempt-limits.ts";
import {
  findOpenInvitation,
  type Invitations,
  type OpenInvitation,
  revokeInvitationsFrom,
  revokeInvitationsTo,
} from "./invitations.ts";
import {
  type Actor,
  countTeamMembers,
  lockAccount,
  lockAccountIfOwner,
  MEMBERS_SQL,
  recordTeamEvent,
} from "./team-rows.ts";

const EVENTS_SHOWN = 50;
/** How many days events are kept that the team page no longer shows. */
const EVENTS_KEPT_DAYS = 400;

const Member = row({
  id: column.uuid,
  name: z.string(),
  email: z.string(),
  role: z.enum(ROLES),
  since: column.moment,
});
export type Member = z.infer<typeof Member>;

const TeamEvent = row({
  at: column.moment,
  by: z.string().nullable(),
  action: z.enum(TEAM_ACTIONS),
  email: z.string(),
  role: z.enum(ROLES).nullable(),
});
export type TeamEvent = z.infer<typeof TeamEvent>;

/** The reason why an owner cannot leave. */
type OwnerStays = "last_owner" | "account_owes";
type NotOffered = "not_found" | "invitation_not_yours" | "email_not_verified" | "account_suspended";

interface Joining extends Actor {
  emailVerified: boolean;
}

export interface Team {
  invitations: Invitations;
  /** Lists owners first, then members, each by the time of joining. */
  members(accountId: Uuid): Promise<Member[]>;
  /** Lists the team's events, newest first. */
  events(accountId: Uuid): Promise<TeamEvent[]>;
  /** Changes a role. A member becomes an owner only by accepting an invitation, never here. */
  setRole(
    accountId: Uuid,
    memberId: Uuid,
    role: Exclude<Role, "owner">,
    by: Actor,
  ): Promise<Member | OwnerStays | "not_found" | "role_required">;
  /** Removes another person or oneself from the account. */
  remove(accountId: Uuid, memberId: Uuid, by: Actor): Promise<"removed" | OwnerStays | "not_found" | "role_required">;
  /** Returns the invitation for a link's token, if it is for this person. */
  look(token: string, by: Joining): Promise<OpenInvitation | NotOffered>;
  accept(token: string, by: Joining): Promise<Membership | NotOffered | "limit_reached">;
  /** Deletes old events that the team page does not show. */
  sweep(): Promise<void>;
}

interface TeamOptions {
  pool: pg.Pool;
  newId: NewId;
  attempts: AttemptLimits;
  invitations: Invitations;
  /** Whether email addresses are confirmed. If not, the link's token is the only proof. */
  verifyEmails: boolean;
}

const Owners = row({ owners: column.count, owes: z.boolean() });

export function openTeam({ pool, newId, attempts, invitations, verifyEmails }: TeamOptions): Team {
  /** Notifies every gateway, so that event streams of removed members end. */
  const changed = (accountId: Uuid): Promise<void> => sendBroadcast(pool, TEAM_TOPIC, accountId);
  const offered = async (
    db: pg.Pool | pg.PoolClient,
    token: string,
    by: Joining,
  ): Promise<OpenInvitation | NotOffered> => {
    const offer = await findOpenInvitation(db, token);
    if (offer === undefined) return "not_found";
    if (offer.email !== by.email.toLowerCase()) return "invitation_not_yours";
    if (verifyEmails && !by.emailVerified) return "email_not_verified";
    return offer.account.suspended ? "account_suspended" : offer;
  };
  return {
    invitations,
    members: (accountId) =>
      queryRows(pool, Member, `${MEMBER} where p.account_id = $1 order by p.role <> 'owner', p.created_at, i.id`, [
        accountId,
      ]),
    events: (accountId) =>
      queryRows(
        pool,
        TeamEvent,
        `select e.at, i.email as by, e.action, e.email, e.role
           from account_event e left join identity i on i.id = e.actor_id
          where e.account_id = $1 order by e.id desc limit ${EVENTS_SHOWN}`,
        [accountId],
      ),

    async setRole(accountId, memberId, role, by) {
      await attempts.take("teamChanges", by.identityId);
      const outcome = await inTransaction(pool, async (client) => {
        if (!(await lockAccountIfOwner(client, accountId, by))) return "role_required";
        const member = await findMember(client, accountId, memberId);
        if (member === undefined) return "not_found";
        if (member.role === role) return member;
        const stays = member.role === "owner" ? await ownerStays(client, accountId) : undefined;
        if (stays !== undefined) return stays;
        if (member.role === "owner") await ownNoMore(client, accountId, memberId);
        await client.query(
          `insert into account_member as m (account_id, identity_id, role, added_by, created_at) values ($1, $2, $3, $4, $5)
           on conflict (account_id, identity_id) do update set role = excluded.role`,
          [accountId, memberId, role, by.identityId, member.since],
        );
        const { email } = member;
        await recordTeamEvent(client, {
          id: newId(),
          accountId,
          by: by.identityId,
          action: "role_changed",
          email,
          role,
        });
        return { ...member, role };
      });
      await changed(accountId);
      return outcome;
    },

    async remove(accountId, memberId, by) {
      const outcome = await inTransaction(pool, async (client) => {
        const isOwner = await lockAccountIfOwner(client, accountId, by);
        if (!isOwner && memberId !== by.identityId) return "role_required";
        const member = await findMember(client, accountId, memberId);
        if (member === undefined) return "not_found";
        const stays = member.role === "owner" ? await ownerStays(client, accountId) : undefined;
        if (stays !== undefined) return stays;
        if (member.role === "owner") await ownNoMore(client, accountId, memberId);
        await client.query("delete from account_member where account_id = $1 and identity_id = $2", [
          accountId,
          memberId,
        ]);
        await revokeInvitationsTo(client, accountId, member.email);
        const action = memberId === by.identityId ? "left" : "removed";
        await recordTeamEvent(client, {
          id: newId(),
          accountId,
          by: by.identityId,
          action,
          email: member.email,
          role: null,
        });
        return "removed";
      });
      await changed(accountId);
      return outcome;
    },

    async look(token, by) {
      await attempts.take("invitationLinks", by.identityId);
      return offered(pool, token, by);
    },

    async accept(token, by) {
      await attempts.take("invitationLinks", by.identityId);
      const { identityId } = by;
      const outcome = await inTransaction(pool, async (client) => {
        const before = await findOpenInvitation(client, token);
        if (before !== undefined) await lockAccount(client, before.account.id);
        // Locks the identity, like opening an account, so that the person's number of accounts stays limited.
        await client.query("select from identity where id = $1 for update", [identityId]);
        // Reads the invitation again under the locks, because it may have been used or withdrawn meanwhile.
        const offer = await offered(client, token, by);
        if (typeof offer === "string") return offer;
        const { account, role } = offer;
        const theirs = await findMemberships(client, identityId);
        const present = theirs.find(({ id }) => id === account.id)?.role;
        // A person whose account is suspended must not evade that by joining another.
        if (theirs.some((one) => one.role === "owner" && one.suspended)) return "account_suspended";
        const owned = theirs.filter((one) => one.role === "owner").length;
        const isFull =
          (present === undefined && (await countTeamMembers(client, account.id)) >= TEAM_MEMBERS_MAX) ||
          (role === "owner" ? owned >= ACCOUNTS_PER_IDENTITY_MAX : theirs.length - owned >= JOINED_ACCOUNTS_MAX);
        if (present !== "owner" && isFull) return "limit_reached";
        await client.query("update account_invitation set accepted_at = now() where id = $1", [offer.id]);
        if (present === "owner") return { ...account, role: present };
        if (role === "owner") await addOwner(client, identityId, account.id);
        else await join(client, { accountId: account.id, identityId, role, invitation: offer.id });
        const event = { id: newId(), accountId: account.id, by: identityId, action: "joined" } as const;
        await recordTeamEvent(client, { ...event, email: offer.email, role });
        return { ...account, role };
      });
      if (typeof outcome !== "string") await changed(outcome.id);
      return outcome;
    },

    async sweep() {
      await pool.query(
        `delete from account_event e
          where e.at < now() - make_interval(days => $1)
            and e.id < (select n.id from account_event n where n.account_id = e.account_id
                         order by n.id desc offset $2 limit 1)`,
        [EVENTS_KEPT_DAYS, EVENTS_SHOWN - 1],
      );
    },
  };
}

const MEMBER = `select i.id, i.name, i.email, p.role, p.created_at as since
  from ${MEMBERS_SQL} p join identity i on i.id = p.identity_id`;

const findMember = (client: pg.PoolClient, accountId: Uuid, memberId: Uuid): Promise<Member | undefined> =>
  queryRow(client, Member, `${MEMBER} where p.account_id = $1 and p.identity_id = $2`, [accountId, memberId]);

async function ownerStays(client: pg.PoolClient, accountId: Uuid): Promise<OwnerStays | undefined> {
  const { owners, owes } = await queryOne(
    client,
    Owners,
    `select (select count(*)::integer from account_owner where account_id = $1) as owners, l.balance < 0 as owes
       from ledger_account l where l.id = $1`,
    [accountId],
  );
  if (owners <= 1) return "last_owner";
  return owes ? "account_owes" : undefined;
}

async function ownNoMore(client: pg.PoolClient, accountId: Uuid, identityId: Uuid): Promise<void> {
  await client.query("delete from account_owner where account_id = $1 and identity_id = $2", [accountId, identityId]);
  await revokeInvitationsFrom(client, accountId, identityId);
}

interface Joined {
  accountId: Uuid;
  identityId: Uuid;
  role: Role;
  invitation: Uuid;
}

async function join(client: pg.PoolClient, { accountId, identityId, role, invitation }: Joined): Promise<void> {
  await client.query(
    `insert into account_member (account_id, identity_id, role, added_by)
     select $1, $2, $3, invited_by from account_invitation where id = $4
     on conflict (account_id, identity_id) do update set role = excluded.role`,
    [accountId, identityId, role, invitation],
  );
}
