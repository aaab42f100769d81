/** Paying hosts in batches: made of what they are owed, exported, and booked once the money was sent. */
import type pg from "pg";
import type { NewId, Uuid } from "../base/ids.ts";
import { type Pico, pico } from "../base/money.ts";

export interface PayoutBatch {
  id: Uuid;
  note: string;
  createdAt: Date;
  createdBy: string;
  paidAt: Date | null;
  paidBy: string | null;
  hosts: number;
  total: Pico;
}

export interface PayoutLine {
  id: Uuid;
  accountId: Uuid;
  accountName: string;
  owners: string[];
  amount: Pico;
}

export interface Payouts {
  /** Of everything owed from `minimum` upwards, but to suspended hosts; undefined when nobody is owed as much. */
  create(parts: { note: string; by: string; minimum: Pico }): Promise<PayoutBatch | undefined>;
  list(page: { before?: Uuid | undefined; limit: number }): Promise<PayoutBatch[]>;
  find(id: Uuid): Promise<PayoutBatch | undefined>;
  lines(id: Uuid): Promise<PayoutLine[]>;
  markPaid(id: Uuid, by: string): Promise<"paid" | "repeated" | "absent">;
}

const BATCH = `select b.id, b.note, b.created_at as "createdAt", b.created_by as "createdBy", b.paid_at as "paidAt",
  b.paid_by as "paidBy", count(p.id)::int as hosts, coalesce(sum(p.amount), 0) as total
  from payout_batch b left join payout p on p.batch_id = b.id`;

export function openPayouts({ pool, newId }: { pool: pg.Pool; newId: NewId }): Payouts {
  const find = async (id: Uuid): Promise<PayoutBatch | undefined> => {
    const { rows } = await pool.query(`${BATCH} where b.id = $1 group by b.id`, [id]);
    return rows[0] === undefined ? undefined : toBatch(rows[0]);
  };
  return {
    find,
    async create({ note, by, minimum }) {
      const id = newId();
      const { rows } = await pool.query("select payout_create($1, $2, $3, $4) as hosts", [id, note, by, minimum]);
      return rows[0].hosts > 0 ? await find(id) : undefined;
    },
    async list({ before, limit }) {
      const { rows } = await pool.query(
        `${BATCH} where $1::uuid is null or b.id < $1 group by b.id order by b.id desc limit $2`,
        [before ?? null, limit],
      );
      return rows.map(toBatch);
    },
    async lines(id) {
      const { rows } = await pool.query(
        `select p.id, p.account_id as "accountId", a.name as "accountName", p.amount,
                array(select i.email from account_owner o join identity i on i.id = o.identity_id
                       where o.account_id = a.id order by i.email) as owners
           from payout p join account a on a.id = p.account_id where p.batch_id = $1 order by a.name, p.id`,
        [id],
      );
      return rows.map((row) => ({ ...row, amount: pico(BigInt(row.amount)) }));
    },
    async markPaid(id, by) {
      const { rows } = await pool.query("select payout_paid($1, $2) as code", [id, by]);
      return rows[0].code === 1 ? "paid" : rows[0].code === 2 ? "repeated" : "absent";
    },
  };
}

const toBatch = (row: Record<string, unknown>): PayoutBatch =>
  ({ ...row, total: pico(BigInt(row.total as string)) }) as PayoutBatch;
