/**
 * Pays hosts in batches. A batch is created from the amounts owed, exported for the bank, and booked when the money was
 * sent.
 */
import type pg from "pg";
import { z } from "zod";
import type { NewId, Uuid } from "../base/ids.ts";
import { invariant } from "../base/invariant.ts";
import type { Pico } from "../base/money.ts";
import { column, queryOne, queryRow, queryRows, row } from "../db/rows.ts";

const PayoutBatch = row({
  id: column.uuid,
  note: z.string(),
  createdAt: column.moment,
  createdBy: z.string(),
  paidAt: column.moment.nullable(),
  paidBy: z.string().nullable(),
  /** The number of hosts, and the total. */
  hosts: column.count,
  total: column.pico,
  /** Earnings that are too recent to be paid. */
  heldBack: column.pico,
  /** The amount deducted for debts of the owners' builder accounts (set-off). */
  setOff: column.pico,
  /** The hosts' withheld shares when the batch was created. The other sums do not include them. */
  withheld: column.pico,
});
export type PayoutBatch = z.infer<typeof PayoutBatch>;

const PayoutLine = row({
  id: column.uuid,
  accountId: column.uuid,
  accountName: z.string(),
  /** The owners' email addresses. */
  owners: z.array(z.string()),
  /** The paid amount. Zero if everything is held back, set off or below the minimum. */
  amount: column.pico,
  heldBack: column.pico,
  setOff: column.pico,
  withheld: column.pico,
  /** The part of `withheld` that was withheld since the host's previous line. */
  newlyWithheld: column.pico,
  /** The part that the host's own owners paid of the earnings that became payable since the previous payout. */
  own: column.pico,
});
export type PayoutLine = z.infer<typeof PayoutLine>;

const HostPayout = row({
  batchId: column.uuid,
  note: z.string(),
  createdAt: column.moment,
  paidAt: column.moment.nullable(),
  amount: column.pico,
  heldBack: column.pico,
  setOff: column.pico,
  withheld: column.pico,
  newlyWithheld: column.pico,
  own: column.pico,
  /** The payout method that was paid to, masked. */
  paidTo: z.string().nullable(),
});
export type HostPayout = z.infer<typeof HostPayout>;

export interface PayoutLinesQuery {
  /** Continues after the line with this ID. */
  after?: Uuid | undefined;
  limit: number;
  /** Whether to list only lines with an amount above zero. */
  paying?: boolean;
}

/** `exceedsBalance`: the lines of these hosts exceed their balances, and nothing was booked. */
type MarkPaid = "paid" | "repeated" | "absent" | { exceedsBalance: Uuid[] };

export interface PayoutBatches {
  /**
   * Creates a batch of all balances of at least `minimum` that are old enough. Suspended hosts are excluded. Returns
   * undefined if there is nothing to pay.
   */
  create(parts: { note: string; by: string; minimum: Pico }): Promise<PayoutBatch | undefined>;
  /** Newest first. `open`: only batches that are not marked as paid. */
  list(page: { before?: Uuid | undefined; limit: number; open?: boolean }): Promise<PayoutBatch[]>;
  find(id: Uuid): Promise<PayoutBatch | undefined>;
  /** The batch's lines, ordered by host name. */
  lines(id: Uuid, query: PayoutLinesQuery): Promise<PayoutLine[]>;
  /** One host's lines, newest batch first. `before`: the ID of a batch. */
  ofHost(accountId: Uuid, page: { before?: Uuid | undefined; limit: number }): Promise<HostPayout[]>;
  markPaid(id: Uuid, by: string): Promise<MarkPaid>;
}

interface PayoutsOptions {
  pool: pg.Pool;
  newId: NewId;
  /** How many days earnings are held back. */
  holdDays: number;
}

/** Read through JSON, because databases before migrations 0039 and 0060 lack the columns. */
const WITHHELD = "coalesce((to_jsonb(p) ->> 'withheld')::bigint, 0)";
const NEW_COLUMNS = `coalesce((to_jsonb(p) ->> 'newly_withheld')::bigint, 0) as "newlyWithheld",
  coalesce((to_jsonb(p) ->> 'own')::bigint, 0) as own`;
const BATCH = `select b.id, b.note, b.created_at as "createdAt", b.created_by as "createdBy", b.paid_at as "paidAt",
  b.paid_by as "paidBy", count(p.id) filter (where p.amount > 0)::int as hosts, coalesce(sum(p.amount), 0) as total,
  coalesce(sum(p.held_back), 0) as "heldBack", coalesce(sum(p.set_off), 0) as "setOff",
  coalesce(sum(${WITHHELD}), 0) as withheld from payout_batch b left join payout p on p.batch_id = b.id`;

/** The meanings of the codes that `payout_paid` returns. Code 3: a line exceeds its host's balance. */
const PAID = ["absent", "paid", "repeated"] as const;
const EXCEEDS_BALANCE = 3;
const Code = row({ code: column.count });
const LineId = row({ id: column.uuid });

export function openPayoutBatches({ pool, newId, holdDays }: PayoutsOptions): PayoutBatches {
  const find = (id: Uuid) => queryRow(pool, PayoutBatch, `${BATCH} where b.id = $1 group by b.id`, [id]);
  return {
    find,
    async create({ note, by, minimum }) {
      const id = newId();
      await pool.query("select payout_create($1, $2, $3, $4, $5)", [id, note, by, minimum, holdDays]);
      return await find(id);
    },
    list: ({ before, limit, open = false }) =>
      queryRows(
        pool,
        PayoutBatch,
        `${BATCH} where ($1::uuid is null or b.id < $1) and (not $3 or b.paid_at is null)
          group by b.id order by b.id desc limit $2`,
        [before ?? null, limit, open],
      ),
    lines: (id, { after, limit, paying = false }) =>
      queryRows(
        pool,
        PayoutLine,
        `select p.id, p.account_id as "accountId", a.name as "accountName", p.amount, p.held_back as "heldBack",
                p.set_off as "setOff", ${WITHHELD} as withheld, ${NEW_COLUMNS},
                array(select i.email from account_owner o join identity i on i.id = o.identity_id
                       where o.account_id = a.id order by i.email) as owners
           from payout p join account a on a.id = p.account_id
          where p.batch_id = $1 and (not $4 or p.amount > 0)
            and ($2::uuid is null or (a.name, p.id) > (select l.name, $2 from payout lp join account l on l.id = lp.account_id
                                                        where lp.id = $2))
          order by a.name, p.id limit $3`,
        [id, after ?? null, limit, paying],
      ),
    ofHost: (accountId, { before, limit }) =>
      queryRows(
        pool,
        HostPayout,
        `select b.id as "batchId", b.note, b.created_at as "createdAt", b.paid_at as "paidAt", p.amount,
                p.held_back as "heldBack", p.set_off as "setOff", ${WITHHELD} as withheld, ${NEW_COLUMNS},
                to_jsonb(p) ->> 'paid_to' as "paidTo"
           from payout p join payout_batch b on b.id = p.batch_id
          where p.account_id = $1 and ($2::uuid is null or b.id < $2) order by b.id desc limit $3`,
        [accountId, before ?? null, limit],
      ),
    async markPaid(id, by) {
      const { code } = await queryOne(pool, Code, "select payout_paid($1, $2) as code", [id, by]);
      if (code !== EXCEEDS_BALANCE) {
        const outcome = PAID[code];
        invariant(outcome !== undefined, `payout_paid gave ${code}`);
        return outcome;
      }
      const short = await queryRows(
        pool,
        LineId,
        `select p.id from payout p join ledger_account a on a.id = p.account_id
          where p.batch_id = $1 and a.balance < p.amount order by p.id`,
        [id],
      );
      return { exceedsBalance: short.map((line) => line.id) };
    },
  };
}
