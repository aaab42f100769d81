/** Builder and host accounts with their owners. Balances are in the ledger. */
import { ACCOUNTS_PER_IDENTITY_MAX } from "@tollgate/api/api-limits.ts";
import { ROLES } from "@tollgate/api/roles.ts";
import type pg from "pg";
import { z } from "zod";
import type { NewId, Uuid } from "../base/ids.ts";
import { ACCOUNT_KINDS, type AccountKind } from "../base/stored-enumerations.ts";
import { inTransaction } from "../db/pool.ts";
import { column, queryRow, queryRows, row } from "../db/rows.ts";
import { MEMBERS_SQL } from "./team-rows.ts";

export type { AccountKind };

export const Account = row({
  id: column.uuid,
  kind: z.enum(ACCOUNT_KINDS),
  name: z.string(),
  suspended: z.boolean(),
});
export type Account = z.infer<typeof Account>;

const Owner = row({ id: column.uuid });
const Owned = row({ accounts: z.number() });
/** An account and a person's role in it. */
export const Membership = row({ ...Account.shape, role: z.enum(ROLES) });
export type Membership = z.infer<typeof Membership>;

export interface Accounts {
  open(kind: AccountKind, name: string): Promise<Uuid>;
  /** Opens an account for the identity with this email address, if it exists and does not have too many accounts. */
  openFor(email: string, account: { kind: AccountKind; name: string }): Promise<Uuid | "nobody" | "too_many">;
  find(id: Uuid): Promise<Account | undefined>;
}

export function openAccounts(options: { pool: pg.Pool; newId: NewId }): Accounts {
  const { pool, newId } = options;
  return {
    open: (kind, name) => insertAccount(pool, { id: newId(), kind, name }),
    openFor: (email, account) =>
      inTransaction(pool, async (client) => {
        // Locks the identity, so that concurrent calls cannot exceed the limit of accounts per identity.
        const text = "select id from identity where email = $1 for update";
        const owner = await queryRow(client, Owner, text, [email.toLowerCase()]);
        if (owner === undefined) return "nobody";
        const count = "select count(*)::integer as accounts from account_owner where identity_id = $1";
        const owned = await queryRow(client, Owned, count, [owner.id]);
        if ((owned?.accounts ?? 0) >= ACCOUNTS_PER_IDENTITY_MAX) return "too_many";
        const id = await insertAccount(client, { id: newId(), ...account });
        await addOwner(client, owner.id, id);
        return id;
      }),
    find: (id) =>
      queryRow(
        pool,
        Account,
        "select id, kind, name, suspended_at is not null as suspended from account where id = $1",
        [id],
      ),
  };
}

/** Lists the accounts that an identity owns or is a member of, oldest first. */
export function findMemberships(db: pg.Pool | pg.PoolClient, identityId: Uuid): Promise<Membership[]> {
  return queryRows(
    db,
    Membership,
    `select a.id, a.kind, a.name, a.suspended_at is not null as suspended, p.role
       from ${MEMBERS_SQL} p join account a on a.id = p.account_id where p.identity_id = $1
      order by a.created_at, a.id`,
    [identityId],
  );
}

/** One statement, so that no account exists without its ledger account. */
export async function insertAccount(
  db: pg.Pool | pg.PoolClient,
  { id, kind, name }: { id: Uuid; kind: AccountKind; name: string },
): Promise<Uuid> {
  await db.query(
    `with opened as (insert into account (id, kind, name) values ($1, $2, $3))
     insert into ledger_account (id, kind) values ($1, $2)`,
    [id, kind, name],
  );
  return id;
}

/** Makes the identity an owner. An owner has no other role, so a previous role is removed. */
export async function addOwner(db: pg.Pool | pg.PoolClient, identityId: Uuid, accountId: Uuid): Promise<void> {
  await db.query(
    `with before as (delete from account_member where identity_id = $1 and account_id = $2)
     insert into account_owner (identity_id, account_id) values ($1, $2) on conflict do nothing`,
    [identityId, accountId],
  );
}
