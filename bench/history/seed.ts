/**
 * A busy builder's past, made by SQL alone: requests with their rollups and balances, so consistent that the check of
 * the books passes. One builder has all the requests but a tenth, one host serves half of them; keys, models, outcomes and nodes
 * go from common to rare.
 */
import type pg from "pg";

export const DAYS = 60;
/** Most rows have the first of each; the last are rare: 1 in 1,000 of the keys, 1 in 10,000 of the models and nodes. */
const KEYS = ["production", "staging", "batch", "laptop", "demo"];
export const MODELS = ["tiny-3b", "small-8b", "small-7b-alt", "reason-32b", "embed-m3", "mid-14b"];
export const RARE_OUTCOME = "gateway_lost";
const OTHERS = 100;
const HOSTS = 20;

export interface Cast {
  builder: string;
  /** One of the many that share the other tenth. */
  smallBuilder: string;
  host: string;
  keys: string[];
  /** Of the host, the common ones first. */
  nodes: string[];
}

/** The same names give the same ids in every run. */
const ID = (what: string): string => `md5(${what})::uuid`;

const PRICES = `(values ('tiny-3b', 20000, 40000), ('small-8b', 30000, 70000), ('small-7b-alt', 40000, 80000),
  ('mid-14b', 60000, 150000), ('reason-32b', 100000, 300000), ('embed-m3', 10000, 0)) p (model, price_in, price_out)`;

/** What became of a request, by chance: outcome, status, whether it was billed. */
const OUTCOMES = `(values (0.0, 0.96, 'ok', 200, true), (0.96, 0.98, 'client_closed', 200, true),
  (0.98, 0.989, 'upstream_failed', 502, true), (0.989, 0.994, 'upstream_stall', 502, true),
  (0.994, 0.9995, 'rate_limit_requests', 429, false), (0.9995, 0.99999, 'no_capacity', 503, false),
  (0.99999, 1.0, '${RARE_OUTCOME}', 500, false)) o (low, high, outcome, status, billed)`;

/** `weights[i]` of a thousand, ten thousand… rows get element i. */
function pick(chance: string, bounds: number[]): string {
  const cases = bounds.map((bound, i) => `when ${chance} < ${bound} then ${i + 1}`);
  return `case ${cases.join(" ")} else ${bounds.length + 1} end`;
}

export async function seed(pool: pg.Pool, rows: number, days = DAYS): Promise<Cast> {
  const client = await pool.connect();
  try {
    await client.query("set statement_timeout = 0");
    await insertAll(client, rows, days);
    return await readCast(client);
  } finally {
    // Its settings go with it.
    client.release(true);
  }
}

async function insertAll(client: pg.PoolClient, rows: number, days: number): Promise<void> {
  await makePartitions(client);
  await client.query(`insert into price select 1, model, price_in, price_out from ${PRICES}`);
  await client.query(
    `with opened as (
       insert into account (id, kind, name)
       select ${ID("'builder ' || i")}, 'builder', 'Builder ' || i from generate_series(0, ${OTHERS}) i
       union all select ${ID("'host ' || i")}, 'host', 'Host ' || i from generate_series(0, ${HOSTS - 1}) i
       returning id, kind)
     insert into ledger_account (id, kind) select id, kind from opened`,
  );
  await client.query(
    "select ledger_transfer(gen_random_uuid(), 'grant', id, 1000000000000000, 'bench') from account where kind = 'builder'",
  );
  await insertRequests(client, rows, days);
  await sumUp(client);
  await leaveUnrolled(client);
  for (const table of ["request", "usage_hour", "earning_hour", "ledger_account", "account", "transfer"]) {
    await client.query(`vacuum (analyze) ${table}`);
  }
}

/** A platform that ran for so long would have made its months as they came. */
async function makePartitions(client: pg.PoolClient): Promise<void> {
  await client.query(`do $$
    declare month timestamptz;
    begin
      for month in select generate_series(date_trunc('month', now() - interval '${DAYS + 1} days'),
                                          date_trunc('month', now()) - interval '1 month', interval '1 month') loop
        execute format('create table %I partition of request for values from (%L) to (%L)',
                       'request_' || to_char(month, 'YYYY_MM'), uuid_floor(month), uuid_floor(month + interval '1 month'));
      end loop;
    end $$`);
}

async function insertRequests(client: pg.PoolClient, rows: number, days: number): Promise<void> {
  // One seed, one process: the same numbers in every run.
  await client.query("set max_parallel_workers_per_gather = 0");
  await client.query("select setseed(0.42)");
  await client.query(
    `with chance as materialized (
         select i, random() as who, random() as key, random() as model, random() as outcome, random() as host,
                random() as node, 50 + floor(random() * 1450)::int as prompt, 20 + floor(random() * 480)::int as output,
                now() - interval '${days} days' + i * (interval '${days} days' / ${rows}::float) as at
           from generate_series(0, ${rows} - 1) i
       ), chosen as (
         select i, at, prompt, at + interval '1 second' as finished,
                case when who < 0.9 then 0 else 1 + floor((who - 0.9) * ${OTHERS * 10})::int end as builder,
                ${pick("key", [0.6, 0.85, 0.95, 0.999])} as key,
                (array[${MODELS.map((model) => `'${model}'`).join(", ")}])[${pick("model", [0.45, 0.75, 0.9, 0.97, 0.9999])}] as model,
                case when host < 0.5 then 0 else floor(host * ${HOSTS})::int end as host,
                ${pick("node", [0.6, 0.9999])} as node, outcome, output
           from chance
       )
       insert into request (id, account_id, key_id, key_name, endpoint, model, build, tokenizer, stream, outcome, http_status,
                            finish_reason, prompt_tokens, completion_tokens, price_version, hold_pico, charge_pico, host_pico,
                            host_account_id, node_id, attempts, queue_ms, ttft_ms, duration_ms, client, label, created_at, finished_at)
       select (lpad(to_hex(floor(extract(epoch from c.at) * 1000)::bigint), 12, '0') || '7' || substr(h.hex, 1, 3) || '8'
                 || substr(h.hex, 4, 15))::uuid,
              ${ID("'builder ' || c.builder")}, ${ID("'key ' || c.builder || ' ' || c.key")},
              (array[${KEYS.map((key) => `'${key}'`).join(", ")}])[c.key],
              case when c.model = 'embed-m3' then 'embedding' else 'chat' end,
              case when o.status <> 429 then c.model end, case when o.status <> 429 then c.model || '-1' end,
              case when o.status <> 429 then 'a tokenizer' end, c.i % 2 = 0, o.outcome, o.status,
              case when o.outcome = 'ok' then 'stop' end, n.prompt, n.output, case when o.status <> 429 then 1 end,
              case when o.status <> 429 then c.prompt * p.price_in + 1024::bigint * p.price_out else 0 end, n.charge,
              host_share(n.charge), case when o.billed then ${ID("'host ' || c.host")} end,
              case when o.billed then ${ID("'node ' || c.host || ' ' || c.node")} end,
              case when o.billed then 1 else 0 end, 2, q.ttft, q.ttft + floor(q.output * (4 + 30 * q.pace))::int, 'openai-js',
              case when o.status <> 429 and c.i % 5 = 0 then 'team-' || c.i / 5 % 40 end,
              date_trunc('milliseconds', c.at), c.finished
         from chosen c
         join ${OUTCOMES} on c.outcome >= o.low and c.outcome < o.high
         join ${PRICES} on p.model = c.model,
         lateral (select md5(c.i::text) as hex) h,
         lateral (select case when o.status <> 429 then c.prompt else 0 end as prompt,
                         case when o.billed and p.price_out > 0 then c.output else 0 end as output,
                         -- From 40 ms to two seconds, most of them short.
                         floor(40 * exp(('x' || substr(h.hex, 20, 6))::bit(24)::int / 4194304.0::float8))::int as ttft,
                         ('x' || substr(h.hex, 26, 6))::bit(24)::int / 16777216.0::float8 as pace) q,
         lateral (select q.prompt, q.output,
                         case when o.billed then q.prompt * p.price_in::bigint + q.output * p.price_out::bigint else 0 end as charge) n
        order by c.i`,
  );
}

/** Rollups and balances, from the requests. */
async function sumUp(client: pg.PoolClient): Promise<void> {
  await client.query(
    `insert into usage_hour
     select account_id, date_trunc('hour', created_at), key_id, coalesce(model, ''), outcome, count(*), sum(prompt_tokens),
            sum(completion_tokens), sum(charge_pico) from request group by 1, 2, 3, 4, 5 order by 2, 1`,
  );
  await client.query(
    `insert into earning_hour
     select host_account_id, date_trunc('hour', created_at), node_id, model, count(*), sum(prompt_tokens),
            sum(completion_tokens), sum(host_pico) from request where host_account_id is not null
      group by 1, 2, 3, 4 order by 2, 1`,
  );
  await client.query(
    `update ledger_account a set balance = e.total
       from (select account_id, sum(amount) as total from ledger_entry group by 1) e where e.account_id = a.id`,
  );
}

/** As the migration does with the past that it finds. */
async function leaveUnrolled(client: pg.PoolClient): Promise<void> {
  await client.query(
    `insert into unrolled (request_id, outcome)
     select id, outcome from request where not starts_with(outcome, 'rate_limit_') order by id`,
  );
}

async function readCast(client: pg.PoolClient): Promise<Cast> {
  const numbers = (count: number): string[] => Array.from({ length: count }, (_, i) => String(i + 1));
  const { rows } = await client.query(
    `select ${ID("'builder 0'")} as builder, ${ID("'builder 1'")} as "smallBuilder", ${ID("'host 0'")} as host,
            array(select ${ID("'key 0 ' || i")} from unnest($1::text[]) i) as keys,
            array(select ${ID("'node 0 ' || i")} from unnest($2::text[]) i) as nodes`,
    [numbers(KEYS.length), numbers(3)],
  );
  return rows[0];
}
