/** Builder and host accounts. Their money is the ledger's business; here is only who they are. */
import type pg from "pg";
import type { NewId, Uuid } from "../base/ids.ts";

export type AccountKind = "builder" | "host";

export interface Account {
  id: Uuid;
  kind: AccountKind;
  name: string;
  suspended: boolean;
}

export interface Accounts {
  open(kind: AccountKind, name: string): Promise<Uuid>;
  find(id: Uuid): Promise<Account | undefined>;
}

export function openAccounts(options: { pool: pg.Pool; newId: NewId }): Accounts {
  const { pool, newId } = options;
  return {
    open: (kind, name) => insertAccount(pool, { id: newId(), kind, name }),
    async find(id) {
      const { rows } = await pool.query(
        "select id, kind, name, suspended_at is not null as suspended from account where id = $1",
        [id],
      );
      return rows[0];
    },
  };
}

/** One statement: an account without its books cannot exist. */
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
