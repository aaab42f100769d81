/**
 * The results and costs of spot checks, for hosts and operators. Traps appear only in the costs, because they do not
 * check the node that answered. Samples, which compare two verifiers with each other, do not appear at all.
 */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../../base/ids.ts";
import { SPOT_CHECK_METHODS, SPOT_CHECK_VERDICTS } from "../../base/stored-enumerations.ts";
import { column, queryRows, row } from "../../db/rows.ts";

const NodeCheck = row({
  id: column.uuid,
  requestId: column.uuid,
  model: z.string(),
  method: z.enum(SPOT_CHECK_METHODS),
  /** Null: the answer was too short for this figure. */
  score: z.number().nullable(),
  verdict: z.enum(SPOT_CHECK_VERDICTS),
  at: column.moment,
});
export type NodeCheck = z.infer<typeof NodeCheck>;

/** The totals of a node's checks for one model. */
const NodeCheckSums = row({
  nodeId: column.uuid,
  nodeName: z.string(),
  hostId: column.uuid,
  hostName: z.string(),
  model: z.string(),
  checks: column.count,
  bad: column.count,
  score: z.number().nullable(),
  cost: column.pico,
  /** The strength of the evidence against the node (`strength` in sequential-test.ts). */
  strength: z.number().nullable(),
  lastAt: column.moment,
});
export type NodeCheckSums = z.infer<typeof NodeCheckSums>;

const ModelCheckSums = row({ model: z.string(), checks: column.count, bad: column.count, cost: column.pico });
type ModelCheckSums = z.infer<typeof ModelCheckSums>;

export interface CheckReader {
  /** The checks of a node's answers, newest first. `before` is the last check of the previous page. */
  list(nodeId: Uuid, page: { before?: Uuid | undefined; limit: number }): Promise<NodeCheck[]>;
  /** Totals by node and model since this time, strongest evidence first. */
  sums(since: Date, nodeId?: Uuid): Promise<NodeCheckSums[]>;
  /** Totals by model since this time. The cost includes that of traps (shuffled answers that test the verifiers). */
  models(since: Date): Promise<ModelCheckSums[]>;
}

const OF_ANSWERS = "c.verdict not in ('trap_seen', 'trap_missed', 'sample')";
const ROWS_MAX = 500;

/** `isThere`: whether the database already has the tables of spot checks. */
export function openCheckReader({ pool, isThere }: { pool: pg.Pool; isThere: () => boolean }): CheckReader {
  return {
    async list(nodeId, { before, limit }) {
      if (!isThere()) return [];
      const text = `select c.id, c.request_id as "requestId", c.model, c.method, c.mean as score, c.verdict, c.at
         from spot_check c where c.node_id = $1 and ($2::uuid is null or c.id < $2) and ${OF_ANSWERS}
        order by c.id desc limit $3`;
      return await queryRows(pool, NodeCheck, text, [nodeId, before ?? null, limit]);
    },
    async sums(since, nodeId) {
      if (!isThere()) return [];
      const text = `select c.node_id as "nodeId", n.name as "nodeName", a.id as "hostId", a.name as "hostName", c.model,
              count(*)::int as checks, count(*) filter (where c.verdict = 'bad')::int as bad,
              percentile_cont(0.5) within group (order by c.mean) as score, sum(c.cost_pico)::bigint as cost,
              (select avg(e) from spot_check_test t, unnest(t.evidence) e where t.node_id = c.node_id and t.model = c.model)
                as strength,
              max(c.at) as "lastAt"
         from spot_check c join node n on n.id = c.node_id join account a on a.id = n.account_id
        where c.at >= $1 and ($2::uuid is null or c.node_id = $2) and ${OF_ANSWERS}
        group by c.node_id, n.name, a.id, c.model order by strength desc nulls last, c.node_id, c.model limit ${ROWS_MAX}`;
      return await queryRows(pool, NodeCheckSums, text, [since, nodeId ?? null]);
    },
    async models(since) {
      if (!isThere()) return [];
      const text = `select c.model, count(*) filter (where ${OF_ANSWERS})::int as checks,
              count(*) filter (where c.verdict = 'bad')::int as bad, sum(c.cost_pico)::bigint as cost
         from spot_check c where c.at >= $1 group by c.model order by c.model`;
      return await queryRows(pool, ModelCheckSums, text, [since]);
    },
  };
}
