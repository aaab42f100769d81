/** Queries that teams and invitations share. Every change locks the account's row first. */
import { ROLES, type Role } from "@tollgate/api/roles.ts";
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import type { TeamAction } from "../base/stored-enumerations.ts";
import { column, queryOne, queryRow, row } from "../db/rows.ts";

/** The identity that makes a change. */
export interface Actor {
  identityId: Uuid;
  email: string;
}

/** SQL for all people of all accounts, with their roles. Owners and invited members are in separate tables. */
export const MEMBERS_SQL = `(select account_id, identity_id, 'owner' as role, created_at from account_owner
  union all select account_id, identity_id, role, created_at from account_member)`;

const RoleRow = row({ role: z.enum(ROLES) });
const Size = row({ size: column.count });

/** Locks the account's row, but weakly enough that inserting a key of the account does not wait. */
export async function lockAccount(client: pg.PoolClient, accountId: Uuid): Promise<void> {
  await client.query("select from account where id = $1 for no key update", [accountId]);
}

/**
 * Locks the account's row. Returns false if the person who makes the change is no longer an owner, for example because
 * another request removed them.
 */
export async function lockAccountIfOwner(
  client: pg.PoolClient,
  accountId: Uuid,
  { identityId }: Actor,
): Promise<boolean> {
  await lockAccount(client, accountId);
  const values = [accountId, identityId];
  const { rowCount } = await client.query(
    "select from account_owner where account_id = $1 and identity_id = $2",
    values,
  );
  return rowCount === 1;
}

/** The role of the member with this email address. Undefined if there is none. */
export async function findMemberRole(client: pg.PoolClient, accountId: Uuid, email: string): Promise<Role | undefined> {
  const text = `select p.role from ${MEMBERS_SQL} p join identity i on i.id = p.identity_id
                 where p.account_id = $1 and i.email = $2`;
  return (await queryRow(client, RoleRow, text, [accountId, email]))?.role;
}

export async function countTeamMembers(client: pg.PoolClient, accountId: Uuid): Promise<number> {
  const text = `select count(*)::integer as size from ${MEMBERS_SQL} p where p.account_id = $1`;
  return (await queryOne(client, Size, text, [accountId])).size;
}

interface Note {
  id: Uuid;
  accountId: Uuid;
  by: Uuid;
  action: TeamAction;
  email: string;
  role: Role | null;
}

export async function recordTeamEvent(
  client: pg.PoolClient,
  { id, accountId, by, action, email, role }: Note,
): Promise<void> {
  await client.query(
    "insert into account_event (id, account_id, actor_id, action, email, role) values ($1, $2, $3, $4, $5, $6)",
    [id, accountId, by, action, email, role],
  );
}
