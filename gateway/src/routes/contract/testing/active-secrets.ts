/** For tests: gives an account the maximum number of secrets, and deletes them again. */
import type pg from "pg";
import type { Uuid } from "../../../base/ids.ts";
import { ACTIVE_SECRETS_MAX } from "../../../keys/secret-store.ts";

export async function addSecretsUpToMaximum(
  pool: pg.Pool,
  table: keyof typeof ACTIVE_SECRETS_MAX,
  accountId: Uuid,
): Promise<void> {
  await pool.query(
    `insert into ${table} (id, account_id, name, reference, secret_hash)
     select gen_random_uuid(), $1, 'one of many', left(md5(n::text || random()::text), 12), sha256(n::text::bytea)
       from generate_series(1, $2) n`,
    [accountId, ACTIVE_SECRETS_MAX[table]],
  );
}

export async function deleteActiveSecrets(pool: pg.Pool, table: keyof typeof ACTIVE_SECRETS_MAX): Promise<void> {
  await pool.query(`delete from ${table} where name = 'one of many'`);
}
