/**
 * The platform's reserve, which receives shares withheld from hosts: taking shares back, releasing them, and paying for
 * spot checks. The rules are SQL functions (ledger_withhold.sql, ledger_release.sql, spot_check_pay.sql,
 * ledger_pay_check.sql). A settlement itself can also withhold the share of its request.
 */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { type Pico, pico } from "../base/money.ts";
import { REQUEST_OUTCOMES, WITHHELD_REASONS, type WithheldReason } from "../base/stored-enumerations.ts";
import { column, queryOne, queryRows, row } from "../db/rows.ts";

/** The migration that adds the reserve. */
export const RESERVE_MIGRATION = 39;

const There = row({ isThere: z.boolean() });

/** Whether the database has the reserve. On an older schema, during a rolling upgrade, nothing is withheld. */
export const hasWithheldSharesReserve = async (db: pg.Pool | pg.PoolClient): Promise<boolean> =>
  (await queryOne(db, There, `select to_regclass('withheld_share') is not null as "isThere"`)).isThere;

const WithheldShare = row({
  requestId: column.uuid,
  hostId: column.uuid,
  hostName: z.string(),
  nodeId: column.uuid,
  nodeName: z.string().nullable(),
  amount: column.pico,
  reason: z.enum(WITHHELD_REASONS),
  /** True: the host was paid the share at settlement, and it was taken back later. False: it was never paid. */
  takenBack: z.boolean(),
  at: column.moment,
  releasedAt: column.moment.nullable(),
  releasedBy: z.string().nullable(),
  note: z.string().nullable(),
  /** The model of the request. Null when the request's record was dropped. */
  model: z.string().nullable(),
  outcome: z.enum(REQUEST_OUTCOMES).nullable(),
});
export type WithheldShare = z.infer<typeof WithheldShare>;

const Moved = row({ shares: column.count, amount: column.pico });
type Moved = z.infer<typeof Moved>;
const Due = row({ hostId: column.uuid });
const Paid = row({ amount: column.pico });

interface WithheldQuery {
  hostId?: Uuid | undefined;
  nodeId?: Uuid | undefined;
  /** Only shares of requests that were made between `from` and `to`. */
  from?: Date | undefined;
  to?: Date | undefined;
  /** True: lists only shares that are still withheld, without the released ones. */
  open?: boolean | undefined;
  /** The cursor of the page: a request's ID. */
  before?: Uuid | undefined;
  limit: number;
}

export interface WithheldSharesReserve {
  /** Lists withheld shares by request, newest first. */
  list(query: WithheldQuery): Promise<WithheldShare[]>;
  /** Takes back the shares paid for the node's requests since this date, up to the host's balance. Can be repeated. */
  withhold(nodeId: Uuid, since: Date, reason: WithheldReason): Promise<Moved>;
  /**
   * Pays hosts their withheld shares, of these requests or of a whole node. Shares that were already released are
   * skipped.
   */
  release(of: { requestIds: Uuid[] } | { nodeId: Uuid }, by: { by: string; note: string }): Promise<Moved>;
  /**
   * Pays hosts for the spot checks that their nodes ran. The reserve pays, or the platform's share when the reserve is
   * too small or locked.
   */
  payChecks(): Promise<Pico>;
}

const LIST = `select w.request_id as "requestId", w.host_account_id as "hostId", a.name as "hostName", w.node_id as "nodeId",
  n.name as "nodeName", w.amount_pico as amount, w.reason, w.taken_by is not null as "takenBack", w.at,
  w.released_at as "releasedAt", w.released_by as "releasedBy", w.note, r.model, r.outcome
  from withheld_share w join account a on a.id = w.host_account_id left join node n on n.id = w.node_id
  left join request r on r.id = w.request_id
 where ($1::uuid is null or w.host_account_id = $1) and ($2::uuid is null or w.node_id = $2)
   and (not $3 or w.released_at is null) and ($4::uuid is null or w.request_id < $4)
   and ($6::timestamptz is null or w.request_id >= uuid_floor($6)) and ($7::timestamptz is null or w.request_id < uuid_floor($7))
 order by w.request_id desc limit $5`;

const OF_NODE = "array(select request_id from withheld_share where node_id = $1 and released_at is null)";

export function openWithheldSharesReserve({ pool }: { pool: pg.Pool }): WithheldSharesReserve {
  return {
    async list({ hostId, nodeId, open = false, before, limit, from, to }) {
      if (!(await hasWithheldSharesReserve(pool))) return [];
      const values = [hostId ?? null, nodeId ?? null, open, before ?? null, limit, from ?? null, to ?? null];
      return await queryRows(pool, WithheldShare, LIST, values);
    },
    withhold: (nodeId, since, reason) =>
      queryOne(pool, Moved, "select shares, amount from ledger_withhold($1, $2, $3)", [nodeId, since, reason]),
    release(of, { by, note }) {
      const [which, value] = "nodeId" in of ? [OF_NODE, of.nodeId] : ["$1::uuid[]", of.requestIds];
      const text = `select shares, amount from ledger_release(${which}, $2, $3)`;
      return queryOne(pool, Moved, text, [value, by, note]);
    },
    async payChecks() {
      let sum = 0n;
      // One host at a time, so that each payment locks only one host's account.
      for (const { hostId } of await queryRows(pool, Due, `select host_id as "hostId" from spot_check_due`))
        sum += (await queryOne(pool, Paid, "select spot_check_pay($1) as amount", [hostId])).amount;
      return pico(sum);
    },
  };
}
