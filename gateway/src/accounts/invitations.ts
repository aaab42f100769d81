/**
 * Invitations to an account: an emailed link that works once, within a week, for a person who is signed in with the
 * invited address. The database stores only a hash of the link's token.
 */
import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { INVITATION_VALID_DAYS, OPEN_INVITATIONS_MAX, TEAM_MEMBERS_MAX } from "@tollgate/api/api-limits.ts";
import { ROLES, type Role } from "@tollgate/api/roles.ts";
import type pg from "pg";
import { z } from "zod";
import { type NewId, parseId, publicId, type Uuid } from "../base/ids.ts";
import { inTransaction } from "../db/pool.ts";
import { column, queryRow, queryRows, row } from "../db/rows.ts";
import type { AccountEmailSender } from "./account-emails.ts";
import { Account } from "./accounts.ts";
import type { AttemptLimits } from "./attempt-limits.ts";
import { buildConsoleTokenLink } from "./console-token-link.ts";
import { type Actor, countTeamMembers, findMemberRole, lockAccountIfOwner, recordTeamEvent } from "./team-rows.ts";

const SECRET_BYTES = 32;
const TOKEN = /^(inv_[0-9a-z]{26})\.[\w-]{43}$/;

const Invitation = row({
  id: column.uuid,
  email: z.string(),
  role: z.enum(ROLES),
  invitedBy: z.string(),
  createdAt: column.moment,
  expiresAt: column.moment,
});
export type Invitation = z.infer<typeof Invitation>;

const OpenInvitation = row({ ...Invitation.shape, account: Account });
/** The content of an open invitation, as shown to the invited person. */
export type OpenInvitation = z.infer<typeof OpenInvitation>;

export interface Invitations {
  /** Sends an invitation and replaces an open one to the same address. If email is off, `link` is returned, once. */
  send(
    accountId: Uuid,
    offer: { email: string; role: Role },
    by: Actor,
  ): Promise<{ invitation: Invitation; link: string | null } | "already_in_team" | "limit_reached" | "role_required">;
  /** Lists open invitations, newest first. */
  open(accountId: Uuid): Promise<Invitation[]>;
  withdraw(accountId: Uuid, id: Uuid, by: Actor): Promise<"withdrawn" | "not_found" | "role_required">;
  sweep(): Promise<void>;
}

interface InvitationsOptions {
  pool: pg.Pool;
  newId: NewId;
  attempts: AttemptLimits;
  emails: AccountEmailSender | undefined;
  /** Whether emails reach their recipients. */
  canMail: boolean;
  /** The base URL of invitation links. */
  origin: string;
}

const IS_OPEN = "v.accepted_at is null and v.revoked_at is null and v.expires_at > now()";
const COLUMNS = `v.id, v.email, v.role, i.email as "invitedBy", v.created_at as "createdAt", v.expires_at as "expiresAt"`;
const FROM = "account_invitation v join identity i on i.id = v.invited_by";

export function openInvitationService(options: InvitationsOptions): Invitations {
  const { pool, newId, attempts, emails, canMail, origin } = options;
  return {
    async send(accountId, { email, role }, by) {
      const to = email.toLowerCase();
      await attempts.take("invitations", by.identityId);
      await attempts.take("invitationsToEmail", to);
      const id = newId();
      const token = `${publicId("inv", id)}.${randomBytes(SECRET_BYTES).toString("base64url")}`;
      const sent = await inTransaction(pool, async (client) => {
        if (!(await lockAccountIfOwner(client, accountId, by))) return "role_required";
        const present = await findMemberRole(client, accountId, to);
        // A member can still be invited to become an owner, which changes the role.
        if (present === "owner" || (present !== undefined && role !== "owner")) return "already_in_team";
        await revokeInvitationsTo(client, accountId, to);
        const open = await client.query(`select from ${FROM} where v.account_id = $1 and ${IS_OPEN}`, [accountId]);
        const isFull = (await countTeamMembers(client, accountId)) >= TEAM_MEMBERS_MAX && present === undefined;
        if (isFull || (open.rowCount ?? 0) >= OPEN_INVITATIONS_MAX) return "limit_reached";
        await client.query(
          `insert into account_invitation (id, account_id, email, role, token_hash, invited_by, expires_at)
           values ($1, $2, $3, $4, $5, $6, now() + make_interval(days => $7))`,
          [id, accountId, to, role, hashOf(token), by.identityId, INVITATION_VALID_DAYS],
        );
        await recordTeamEvent(client, {
          id: newId(),
          accountId,
          by: by.identityId,
          action: "invited",
          email: to,
          role,
        });
        return queryRow(client, Invitation, `select ${COLUMNS} from ${FROM} where v.id = $1`, [id]);
      });
      if (typeof sent === "string") return sent;
      emails?.invitation(to, { token, role, by: by.email });
      const link = canMail ? null : buildConsoleTokenLink(origin, "join", token);
      return { invitation: sent as Invitation, link };
    },

    open: (accountId) =>
      queryRows(
        pool,
        Invitation,
        `select ${COLUMNS} from ${FROM} where v.account_id = $1 and ${IS_OPEN} order by v.id desc`,
        [accountId],
      ),

    withdraw: (accountId, id, by) =>
      inTransaction(pool, async (client) => {
        if (!(await lockAccountIfOwner(client, accountId, by))) return "role_required";
        const text = `select ${COLUMNS} from ${FROM} where v.id = $2 and v.account_id = $1 and ${IS_OPEN}`;
        const found = await queryRow(client, Invitation, text, [accountId, id]);
        if (found === undefined) return "not_found";
        const { email, role } = found;
        await client.query("update account_invitation set revoked_at = now() where id = $1", [id]);
        await recordTeamEvent(client, { id: newId(), accountId, by: by.identityId, action: "withdrawn", email, role });
        return "withdrawn";
      }),

    async sweep() {
      await pool.query("delete from account_invitation where expires_at <= now() - interval '30 days'");
    },
  };
}

/** Finds the open invitation for the token of a link. */
export async function findOpenInvitation(
  db: pg.Pool | pg.PoolClient,
  token: string,
): Promise<OpenInvitation | undefined> {
  const id = parseId("inv", TOKEN.exec(token)?.[1] ?? "");
  if (id === undefined) return undefined;
  const found = await queryRow(
    db,
    OpenInvitation.extend({ hash: column.bytes }),
    `select ${COLUMNS}, v.token_hash as hash,
            json_build_object('id', a.id, 'kind', a.kind, 'name', a.name, 'suspended', a.suspended_at is not null) as account
       from ${FROM} join account a on a.id = v.account_id where v.id = $1 and ${IS_OPEN}`,
    [id],
  );
  if (found === undefined || !timingSafeEqual(found.hash, hashOf(token))) return undefined;
  const { hash: _, ...offer } = found;
  return offer;
}

/** Closes the account's open invitations to this address. */
export async function revokeInvitationsTo(client: pg.PoolClient, accountId: Uuid, email: string): Promise<void> {
  await client.query(
    `update account_invitation v set revoked_at = now() where v.account_id = $1 and v.email = $2 and ${IS_OPEN}`,
    [accountId, email],
  );
}

export async function revokeInvitationsFrom(client: pg.PoolClient, accountId: Uuid, inviterId: Uuid): Promise<void> {
  await client.query(
    `update account_invitation v set revoked_at = now() where v.account_id = $1 and v.invited_by = $2 and ${IS_OPEN}`,
    [accountId, inviterId],
  );
}

/** A fast hash is enough for 256 random bits. */
const hashOf = (token: string): Buffer => hash("sha256", token, "buffer");
