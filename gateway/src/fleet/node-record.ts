/**
 * The gateways' counts of each node's answers, failures and refusals, by the hour. They outlive gateways and a node's
 * retirement: when a node joins, the last day of its host counts too.
 */
import type pg from "pg";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { COUNTED_AT_JOIN_MS } from "../base/node-trust-thresholds.ts";
import { column, queryOne, queryRows, row } from "../db/rows.ts";

export interface ObservedNodeCounts {
  /** The number of user requests with a good answer. */
  answers: number;
  /** Failed jobs, except those whose node fell silent. */
  failures: number;
  silences: number;
  /** Offers that the node refused although the gateways counted a free slot. */
  refusals: number;
  /** Offers that the node accepted after another node had already been asked. */
  late: number;
}

/** The migration that created the table. */
export const NODE_RECORD_MIGRATION = 40;

export const NO_OBSERVED_COUNTS: Readonly<ObservedNodeCounts> = {
  answers: 0,
  failures: 0,
  silences: 0,
  refusals: 0,
  late: 0,
};

export interface CountsBeforeJoin {
  /** The node and the retired nodes of its host together. */
  own: ObservedNodeCounts;
  /** All nodes of its host, also under other accounts of the same owners. */
  host: ObservedNodeCounts;
}

export interface NodeRecord {
  /** Adds counts to the records. Returns the nodes that completed their probation with them. */
  add(seen: ReadonlyMap<Uuid, ObservedNodeCounts>): Promise<Uuid[]>;
  /** The node's counts of the last day. */
  lastDay(id: Uuid): Promise<ObservedNodeCounts>;
  /** The counts of the last day that apply to the node when it joins. */
  lastDayOfHost(id: Uuid): Promise<CountsBeforeJoin>;
  /** Deletes the hours before this time. Returns the number of deleted rows. */
  prune(before: Date): Promise<number>;
}

const Id = row({ id: column.uuid });
const SeenRow = row({
  answers: column.count,
  failures: column.count,
  silences: column.count,
  refusals: column.count,
  late: column.count,
});
const PartOfHost = SeenRow.extend({ isOwn: z.boolean() });
const COLUMNS = ["answers", "failures", "silences", "refusals", "late"] as const satisfies (keyof ObservedNodeCounts)[];
const SUMS = COLUMNS.map((name) => `least(coalesce(sum(r.${name}), 0), 2000000000)::int as ${name}`).join(", ");
const LAST_DAY = `r.hour > now() - make_interval(secs => ${COUNTED_AT_JOIN_MS / 1000})`;

/** Locks nodes in a fixed order, so that gateways that write at once do not deadlock. */
const COUNTED = `said as (
    select * from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
      as s (node_id, ${COLUMNS.join(", ")})
  ), locked as (
    select id from node where id = any ($1) order by id for no key update
  ), counted as (
    update node n set honest_answers = least(n.honest_answers + s.answers, 2000000000)
      from said s, locked l
     where n.id = s.node_id and l.id = n.id and s.answers > 0 and n.state <> 'quarantined'
    returning n.id, n.honest_answers, s.answers
  )`;
const WRITTEN = `written as (
    insert into node_record as r (node_id, hour, ${COLUMNS.join(", ")})
    select s.node_id, date_trunc('hour', now()), ${COLUMNS.map((name) => `s.${name}`).join(", ")}
      from said s join locked l on l.id = s.node_id order by 1
    on conflict (node_id, hour) do update
      set ${COLUMNS.map((name) => `${name} = r.${name} + excluded.${name}`).join(", ")}
  )`;

/**
 * `keeps`: whether the database already has the table `node_record`, which a later migration adds. Without the table,
 * only good answers are counted.
 */
export function openNodeRecord({
  pool,
  probationAnswers,
  keeps,
}: {
  pool: pg.Pool;
  probationAnswers: number;
  keeps: () => boolean;
}): NodeRecord {
  return {
    async add(seen) {
      const entries = [...seen];
      const values = [entries.map(([id]) => id), ...COLUMNS.map((name) => entries.map(([, one]) => one[name]))];
      const text = `with ${keeps() ? `${COUNTED}, ${WRITTEN}` : COUNTED}
        select id from counted where honest_answers >= $7 and honest_answers - answers < $7`;
      return (await queryRows(pool, Id, text, [...values, probationAnswers])).map(({ id }) => id);
    },
    async lastDay(id) {
      if (!keeps()) return NO_OBSERVED_COUNTS;
      return await queryOne(pool, SeenRow, `select ${SUMS} from node_record r where r.node_id = $1 and ${LAST_DAY}`, [
        id,
      ]);
    },
    async lastDayOfHost(id) {
      if (!keeps()) return { own: NO_OBSERVED_COUNTS, host: NO_OBSERVED_COUNTS };
      const text = `select m.id = n.id or m.state = 'retired' as "isOwn", ${SUMS} from node n
         join node m on m.account_id in (
           select n.account_id
           union all select theirs.account_id from account_owner mine
             join account_owner theirs on theirs.identity_id = mine.identity_id where mine.account_id = n.account_id)
         join node_record r on r.node_id = m.id and ${LAST_DAY}
        where n.id = $1 group by 1`;
      const sums = await queryRows(pool, PartOfHost, text, [id]);
      const sum = (parts: ObservedNodeCounts[]): ObservedNodeCounts =>
        Object.fromEntries(
          COLUMNS.map((name) => [name, parts.reduce((total, part) => total + part[name], 0)]),
        ) as unknown as ObservedNodeCounts;
      return { own: sum(sums.filter(({ isOwn }) => isOwn)), host: sum(sums) };
    },
    async prune(before) {
      if (!keeps()) return 0;
      return (await pool.query("delete from node_record where hour < $1", [before])).rowCount ?? 0;
    },
  };
}
