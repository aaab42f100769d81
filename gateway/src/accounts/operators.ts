/** Lists and removes operators, and resets a lost second factor. Used by the command line only. */
import type pg from "pg";
import { z } from "zod";
import { inTransaction } from "../db/pool.ts";
import { column, queryRow, queryRows, row } from "../db/rows.ts";
import { IdentityError } from "./create-identity.ts";

const Operator = row({
  id: column.uuid,
  email: z.string(),
  name: z.string(),
  hasSecondFactor: z.boolean(),
  /** The latest activity in a session that has not ended. Null without such a session. */
  lastSeenAt: column.moment.nullable(),
});
export type Operator = z.infer<typeof Operator>;

export const listOperators = (pool: pg.Pool): Promise<Operator[]> =>
  queryRows(
    pool,
    Operator,
    `select i.id, i.email, i.name, i.two_factor_enabled as "hasSecondFactor", max(s.updated_at) as "lastSeenAt"
       from identity i left join identity_session s on s.identity_id = i.id and s.expires_at > now()
      where i.operator group by i.id order by i.email`,
    [],
  );

const Found = row({ id: column.uuid });

/** Locks the rows, so that concurrent removals leave at least one operator. */
const OPERATORS = "select id from identity where operator order by id for update";

/** Makes the operator an ordinary user, and ends all of the person's sessions. */
export const removeOperator = (pool: pg.Pool, email: string): Promise<void> =>
  inTransaction(pool, async (client) => {
    const operators = await queryRows(client, Found, OPERATORS, []);
    const id = await operatorId(client, email);
    if (operators.length === 1)
      throw new IdentityError(
        `${email} is the only operator. Create another one first: tollgate admin operator create`,
      );
    await client.query("update identity set operator = false, updated_at = now() where id = $1", [id]);
    await client.query("delete from identity_session where identity_id = $1", [id]);
  });

/**
 * Removes the second factor and ends all sessions. The next sign-in needs only the password, and can set up a new
 * second factor.
 */
export const resetSecondFactor = (pool: pg.Pool, email: string): Promise<void> =>
  inTransaction(pool, async (client) => {
    const id = await operatorId(client, email);
    const { rowCount } = await client.query(
      "update identity set two_factor_enabled = false, updated_at = now() where id = $1 and two_factor_enabled",
      [id],
    );
    if (rowCount === 0) throw new IdentityError(`${email} has no second factor.`);
    await client.query("delete from identity_two_factor where identity_id = $1", [id]);
    await client.query("delete from identity_session where identity_id = $1", [id]);
  });

async function operatorId(client: pg.PoolClient, email: string): Promise<string> {
  const found = await queryRow(client, Found, "select id from identity where operator and email = $1", [
    email.toLowerCase(),
  ]);
  if (found === undefined) throw new IdentityError(`${email} is not an operator. See: tollgate admin operator list`);
  return found.id;
}
