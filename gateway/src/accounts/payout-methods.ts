/**
 * Stores how hosts want to receive their payouts. Members of the account see the method masked. Operators see all of it
 * when they pay a batch.
 */
import type pg from "pg";
import { z } from "zod";
import { UnreachableError } from "../base/dependency.ts";
import type { NewId, Uuid } from "../base/ids.ts";
import { publicId } from "../base/ids.ts";
import { invariant } from "../base/invariant.ts";
import { PAYOUT_METHODS, type PayoutMethodKind } from "../base/stored-enumerations.ts";
import { inTransaction } from "../db/pool.ts";
import { column, queryOne, queryRow, queryRows, row } from "../db/rows.ts";
import { MEMBERS_SQL } from "./team-rows.ts";

/** The migration that adds the table of payout methods. */
export const PAYOUT_METHODS_MIGRATION = 56;

const PayoutMethod = row({
  accountId: column.uuid,
  kind: z.enum(PAYOUT_METHODS),
  /** The name of the bank account's holder. */
  holder: z.string(),
  /** An IBAN, an account number or an email address. */
  number: z.string(),
  /** A BIC or a routing number. */
  bankCode: z.string().nullable(),
  /** The method for display, with most of its number masked. */
  label: z.string(),
  changedAt: column.moment,
  /** The email address of the person who set it. Null if that person was deleted. */
  changedBy: z.string().nullable(),
});
export type PayoutMethod = z.infer<typeof PayoutMethod>;

interface NewPayoutMethod {
  kind: PayoutMethodKind;
  holder: string;
  number: string;
  bankCode: string | null;
}

/** The changed method, masked (null: removed), and the email addresses of the account's owners and billing contacts. */
interface MethodChange {
  label: string | null;
  addresses: string[];
}

export interface PayoutMethods {
  of(accountId: Uuid): Promise<PayoutMethod | undefined>;
  /** Returns the methods of several hosts, by account. */
  ofAll(accountIds: Uuid[]): Promise<Map<Uuid, PayoutMethod>>;
  set(accountId: Uuid, method: NewPayoutMethod, by: Uuid): Promise<MethodChange>;
  /** Removes the method. Returns undefined if there was none. */
  remove(accountId: Uuid, by: Uuid): Promise<MethodChange | undefined>;
}

interface Options {
  pool: pg.Pool;
  newId: NewId;
  schemaNumber: () => number;
}

const Address = row({ email: z.string() });
const Label = row({ label: z.string() });
const LABEL = "payout_method_label(kind, number)";
const METHODS = `select account_id as "accountId", kind, holder, number, bank_code as "bankCode", ${LABEL} as label,
  changed_at as "changedAt", (select email from identity where id = changed_by) as "changedBy" from payout_method`;

export function openPayoutMethods({ pool, newId, schemaNumber }: Options): PayoutMethods {
  const isThere = (): boolean => schemaNumber() >= PAYOUT_METHODS_MIGRATION;
  const ofAll: PayoutMethods["ofAll"] = async (accountIds) => {
    if (!isThere() || accountIds.length === 0) return new Map();
    const found = await queryRows(pool, PayoutMethod, `${METHODS} where account_id = any ($1::uuid[])`, [accountIds]);
    return new Map(found.map((method) => [method.accountId, method]));
  };
  /** Makes the change and records it in the audit log. The log contains only the method's kind. */
  const change = async (
    { accountId, by, action }: { accountId: Uuid; by: Uuid; action: string },
    make: (client: pg.PoolClient) => Promise<{ label: string | null; kind: string } | undefined>,
  ): Promise<MethodChange | undefined> => {
    if (!isThere()) throw new UnreachableError("database", `it has no migration ${PAYOUT_METHODS_MIGRATION} yet`);
    return await inTransaction(pool, async (client) => {
      const made = await make(client);
      if (made === undefined) return undefined;
      const people = await queryRows(
        client,
        Address,
        `select i.email from ${MEMBERS_SQL} p join identity i on i.id = p.identity_id
          where p.account_id = $1 and p.role in ('owner', 'billing') order by 1`,
        [accountId],
      );
      await client.query(
        `insert into operator_action (id, operator, action, subject, details, outcome) values ($1, $2, $3, $4, $5, 'done')`,
        [newId(), `person ${publicId("usr", by)}`, action, publicId("acc", accountId), { kind: made.kind }],
      );
      return { label: made.label, addresses: people.map(({ email }) => email) };
    });
  };
  return {
    ofAll,
    of: async (accountId) => (await ofAll([accountId])).get(accountId),
    async set(accountId, { kind, holder, number, bankCode }, by) {
      const text = `insert into payout_method (account_id, kind, holder, number, bank_code, changed_by)
        values ($1, $2, $3, $4, $5, $6)
        on conflict (account_id) do update set kind = excluded.kind, holder = excluded.holder, number = excluded.number,
          bank_code = excluded.bank_code, changed_by = excluded.changed_by, changed_at = now()
        returning ${LABEL} as label`;
      const changed = await change({ accountId, by, action: "payout_method.set" }, async (client) => {
        const { label } = await queryOne(client, Label, text, [accountId, kind, holder, number, bankCode, by]);
        return { label, kind };
      });
      invariant(changed !== undefined, "a payout method was set and not found");
      return changed;
    },
    remove: (accountId, by) =>
      change({ accountId, by, action: "payout_method.remove" }, async (client) => {
        const text = "delete from payout_method where account_id = $1 returning kind as label";
        const removed = await queryRow(client, Label, text, [accountId]);
        return removed && { label: null, kind: removed.label };
      }),
  };
}
