/** Seeds the tables besides requests that the console reads: keys, nodes, connections, operators' actions. */
import type pg from "pg";
import {
  type HistoryPeriod,
  HOST_COUNT,
  idFromNameSql,
  KEY_NAMES,
  MODELS,
  NODES_OF_HOST,
  SMALL_BUILDER_COUNT,
} from "./seed-requests.ts";

const ACTS = 100_000;
const PLATFORM = "'00000000-0000-0000-0000-000000000000'::uuid";
const NODE_COUNT = HOST_COUNT * NODES_OF_HOST;
const MODEL_NAMES = MODELS.map((model) => `'${model}'`).join(", ");

export async function seedTablesExceptRequests(pool: pg.Pool, { fromMs, toMs }: HistoryPeriod): Promise<void> {
  await pool.query(
    `insert into api_key (id, account_id, name, reference, secret_hash)
     select ${idFromNameSql("'key ' || i || ' ' || k")}, ${idFromNameSql("'builder ' || i")}, (array[${KEY_NAMES.map((key) => `'${key}'`).join(", ")}])[k],
            left(md5('reference ' || i || ' ' || k), 12), sha256(convert_to('key ' || i || ' ' || k, 'UTF8'))
       from generate_series(0, ${SMALL_BUILDER_COUNT}) i, generate_series(1, ${KEY_NAMES.length}) k`,
  );
  await pool.query(
    `insert into node (id, account_id, name, state, honest_answers)
     select ${idFromNameSql("'node ' || i || ' ' || n")}, ${idFromNameSql("'host ' || i")}, 'node ' || n, 'ready', 1000
       from generate_series(0, ${HOST_COUNT - 1}) i, generate_series(1, ${NODES_OF_HOST}) n`,
  );
  await pool.query(
    `insert into node_election (node_id, model) select id, model from node, unnest(array[${MODEL_NAMES}]) model`,
  );
  const span = [new Date(fromMs), new Date(toMs)];
  // Inserts one sample per minute. Every node is always connected, with four slots of which one is busy.
  for (const [grain, samples, since] of [
    ["5min", 5, "3 days"],
    ["hour", 60, "100 days"],
    ["day", 1440, "1000 years"],
  ] as const) {
    const length = grain === "5min" ? "5 minutes" : `1 ${grain}`;
    await pool.query(
      `insert into node_presence (node_id, grain, slot, samples, nodes, slots, busy, last_at)
       select of.id, '${grain}', slot, ${samples}, of.nodes * ${samples}, of.nodes * ${4 * samples}, of.nodes * ${samples},
              least(slot + interval '${length}' - interval '1 minute', $2::timestamptz)
         from generate_series(date_bin('${length}', greatest($1::timestamptz, $2::timestamptz - interval '${since}'), '2000-01-01Z'), $2, interval '${length}') slot,
              (select id, 1 as nodes from node union all select ${PLATFORM}, ${NODE_COUNT}) of`,
      span,
    );
  }
  await pool.query(
    `insert into model_hour (model, hour, samples, up, slots, busy)
     select model, hour, 60, 59, 14400, 3600 from unnest(array[${MODEL_NAMES}]) model,
            generate_series(date_trunc('hour', $1::timestamptz), $2::timestamptz, interval '1 hour') hour`,
    span,
  );
  await pool.query(
    `insert into operator_action (id, at, operator, action, subject, outcome)
     select overlay(md5('act ' || i) placing left(replace(uuid_floor(t.at)::text, '-', ''), 12) from 1)::uuid, t.at,
            'operator-' || i % 5 || '@bench.test', (array['account.grant', 'key.limits', 'node.release', 'payout.paid'])[1 + i % 4],
            'acc_' || i % 121, case when i % 10 = 0 then 'not_found' else 'done' end
       from generate_series(1, ${ACTS}) i,
            lateral (select $1::timestamptz + ($2::timestamptz - $1::timestamptz) * (i / ${ACTS}.0::float8) as at) t`,
    span,
  );
}
