/**
 * The operators' directory of accounts: search by name, email address or ID, and suspend or restore. Nodes are in
 * node-directory.ts.
 */

import { ROLES } from "@tollgate/api/roles.ts";
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { ACCOUNT_KINDS, type AccountKind } from "../base/stored-enumerations.ts";
import { ACCOUNT_TOPIC, sendBroadcast } from "../db/broadcast.ts";
import { column, queryRow, queryRows, row } from "../db/rows.ts";
import { NODE_RULES, type NodeRules } from "../fleet/node-standing-rules.ts";
import { openUsageHistory, type UsageHistory } from "../history/usage-history.ts";
import { makeContainsPattern, type NodeDirectory, openNodeDirectory } from "./node-directory.ts";

const AccountEntry = row({
  id: column.uuid,
  kind: z.enum(ACCOUNT_KINDS),
  name: z.string(),
  suspendedAt: column.moment.nullable(),
  /** When the owner deleted the account. */
  deletedAt: column.moment.nullable(),
  createdAt: column.moment,
  balance: column.pico,
  held: column.pico,
  /** The owners' email addresses. */
  owners: z.array(z.string()),
  /** The members who are not owners. */
  members: z.array(z.object({ email: z.string(), role: z.enum(ROLES) })),
});
export type AccountEntry = z.infer<typeof AccountEntry>;

interface AccountSearch {
  /** Part of the account's name, or of a team member's email address. */
  text?: string | undefined;
  kind?: AccountKind | undefined;
  before?: Uuid | undefined;
  limit: number;
}

export interface AccountDirectory {
  search(search: AccountSearch): Promise<AccountEntry[]>;
  find(id: Uuid): Promise<AccountEntry | undefined>;
  /**
   * Suspends or restores an account and notifies every gateway. Returns false if the account does not exist or was
   * deleted. Repeating the call changes nothing.
   */
  setSuspended(id: Uuid, suspended: boolean): Promise<boolean>;
  /** Each key's spending since a given time, for one account. */
  spendByKey: UsageHistory["byKey"];
  nodes: NodeDirectory;
}

const ENTRY = `select a.id, a.kind, a.name, a.suspended_at as "suspendedAt",
  (to_jsonb(a) ->> 'deleted_at')::timestamptz as "deletedAt", a.created_at as "createdAt",
  l.balance, l.held,
  array(select i.email from account_owner o join identity i on i.id = o.identity_id where o.account_id = a.id
         order by i.email) as owners,
  (select coalesce(json_agg(json_build_object('email', i.email, 'role', m.role) order by i.email), '[]')
     from account_member m join identity i on i.id = m.identity_id where m.account_id = a.id) as members
  from account a join ledger_account l on l.id = a.id`;

export function openAccountDirectory({
  pool,
  rules = NODE_RULES,
}: {
  pool: pg.Pool;
  rules?: NodeRules;
}): AccountDirectory {
  const usage = openUsageHistory({ pool });
  return {
    spendByKey: (accountId, since) => usage.byKey(accountId, since),
    nodes: openNodeDirectory({ pool, rules }),
    search: ({ text, kind, before, limit }) =>
      queryRows(
        pool,
        AccountEntry,
        `${ENTRY} where ($1::uuid is null or a.id < $1) and ($2::text is null or a.kind = $2)
            and ($3::text is null or a.name ilike $3 or exists (
                  select from (select account_id, identity_id from account_owner
                               union all select account_id, identity_id from account_member) p
                    join identity i on i.id = p.identity_id
                   where p.account_id = a.id and i.email ilike $3))
          order by a.id desc limit $4`,
        [before ?? null, kind ?? null, makeContainsPattern(text), limit],
      ),
    find: (id) => queryRow(pool, AccountEntry, `${ENTRY} where a.id = $1`, [id]),
    async setSuspended(id, suspended) {
      const { rowCount } = await pool.query(
        "update account set suspended_at = case when $2 then coalesce(suspended_at, now()) end where id = $1 and to_jsonb(account) ->> 'deleted_at' is null",
        [id, suspended],
      );
      await sendBroadcast(pool, ACCOUNT_TOPIC, id);
      return rowCount === 1;
    },
  };
}
