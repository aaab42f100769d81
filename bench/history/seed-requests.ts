/**
 * Creates the requests of a history with SQL only. Each month is filled in a table of its own, by at most two
 * connections, and then becomes a partition, so that every index is built once.
 */
import type pg from "pg";

/**
 * Most rows have the first value of each list; the last values are rare: 1 in 1,000 of the keys, 1 in 10,000 of the
 * models and nodes.
 */
export const KEY_NAMES = ["production", "staging", "batch", "laptop", "demo"];
export const MODELS = ["tiny-3b", "small-8b", "small-7b-alt", "reason-32b", "embed-m3", "mid-14b"];
export const NODES_OF_HOST = 3;
export const RARE_OUTCOME = "gateway_lost";
/** The number of builders besides the one with most requests. */
export const SMALL_BUILDER_COUNT = 100;
export const HOST_COUNT = 20;

export const PRICE_ROWS = `(values ('tiny-3b', 20000, 40000), ('small-8b', 30000, 70000), ('small-7b-alt', 40000, 80000),
  ('mid-14b', 60000, 150000), ('reason-32b', 100000, 300000), ('embed-m3', 10000, 0)) p (model, price_in, price_out)`;

/** The possible outcomes of a request: range of the random value, outcome, HTTP status, whether it was charged. */
const OUTCOMES = `(values (0.0, 0.96, 'ok', 200, true), (0.96, 0.98, 'client_closed', 200, true),
  (0.98, 0.989, 'upstream_failed', 502, true), (0.989, 0.994, 'upstream_stall', 502, true),
  (0.994, 0.9995, 'rate_limit_requests', 429, false), (0.9995, 0.99999, 'no_capacity', 503, false),
  (0.99999, 1.0, '${RARE_OUTCOME}', 500, false)) o (low, high, outcome, status, billed)`;

/** A period, and the number of requests that are spread evenly over it. */
export interface HistoryPeriod {
  rows: number;
  fromMs: number;
  toMs: number;
}

/** A month of the history, and the table for its requests. */
interface Month {
  table: string;
  fromMs: number;
  toMs: number;
  /** The sequence numbers of the month's first request and of the next month's first request. */
  first: number;
  end: number;
}

/** Derives an ID from a name, so that every run has the same IDs. */
export const idFromNameSql = (what: string): string => `md5(${what})::uuid`;

/** Runs each part on the next free connection, with at most two at a time. */
export async function runOnFreeConnections<Part>(
  pool: pg.Pool,
  parts: Part[],
  work: (client: pg.PoolClient, part: Part) => Promise<void>,
): Promise<void> {
  const waiting = [...parts];
  const worker = async (): Promise<void> => {
    const client = await pool.connect();
    try {
      for (const setting of ["statement_timeout = 0", "work_mem = '128MB'", "max_parallel_workers_per_gather = 0"]) {
        await client.query(`set ${setting}`);
      }
      for (let part = waiting.shift(); part !== undefined; part = waiting.shift()) await work(client, part);
    } finally {
      // The connection is closed, because its settings must not reach other work.
      client.release(true);
    }
  };
  await Promise.all(Array.from({ length: Math.min(2, pool.options.max) }, worker));
}

export async function seedRequests(pool: pg.Pool, past: HistoryPeriod): Promise<void> {
  const months = monthsOf(past);
  const biggestFirst = months.toSorted((a, b) => b.end - b.first - (a.end - a.first));
  await runOnFreeConnections(pool, biggestFirst, (client, month) => fill(client, month, past));
  // Partitions are attached one after the other, because each attach locks the parent table. PostgreSQL already builds
  // the indexes of one partition with parallel workers.
  const client = await pool.connect();
  try {
    await client.query("set statement_timeout = 0");
    await client.query("set maintenance_work_mem = '512MB'");
    for (const { table, fromMs, toMs } of months) {
      await client.query(
        `alter table request attach partition ${table} for values from ('${firstIdOf(fromMs)}') to ('${firstIdOf(toMs)}')`,
      );
    }
  } finally {
    client.release(true);
  }
}

/** Returns the smallest request ID of a moment, computed like the database's `uuid_floor`. */
const firstIdOf = (ms: number): string => ms.toString(16).padStart(12, "0").padEnd(32, "0");

function monthsOf({ rows, fromMs, toMs }: HistoryPeriod): Month[] {
  const numberAt = (ms: number): number =>
    Math.min(rows, Math.max(0, Math.ceil(((ms - fromMs) / (toMs - fromMs)) * rows)));
  const months: Month[] = [];
  const start = new Date(fromMs);
  for (let at = Date.UTC(start.getUTCFullYear(), start.getUTCMonth()); at < toMs; at = months.at(-1)?.toMs as number) {
    const month = new Date(at);
    const next = Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1);
    const table = `request_${month.toISOString().slice(0, 7).replace("-", "_")}`;
    months.push({ table, fromMs: at, toMs: next, first: numberAt(at), end: numberAt(next) });
  }
  return months;
}

/**
 * Fills the table in the transaction that creates it, so that a server without an archive need not write it to the WAL.
 */
async function fill(client: pg.PoolClient, month: Month, past: HistoryPeriod): Promise<void> {
  await client.query("begin");
  // The migrations already created the partition of the current month.
  await client.query(`drop table if exists ${month.table}`);
  await client.query(`create table ${month.table} (like request including defaults including constraints)`);
  // A fixed seed, so that every run has the same numbers.
  await client.query("select setseed($1)", [(month.first % 1_000_003) / 1_000_003]);
  await client.query(fillText(month, past));
  await client.query("commit");
}

/**
 * Inserts the requests from number `first` to before `end` as if they had just been settled: they wait for the rollup
 * job.
 */
export const makeSettledRequestsSql = (part: Month, past: HistoryPeriod): string => `
  with made as (${fillText(part, past)} returning id, outcome)
  insert into unrolled (request_id, outcome) select id, outcome from made where outcome not like 'rate_limit%'`;

/** Returns SQL that picks the number i + 1 for a random value below `bounds[i]`. */
function pick(chance: string, bounds: number[]): string {
  const cases = bounds.map((bound, i) => `when ${chance} < ${bound} then ${i + 1}`);
  return `case ${cases.join(" ")} else ${bounds.length + 1} end`;
}

const textArray = (values: string[]): string => `array[${values.map((value) => `'${value}'`).join(", ")}]`;

/**
 * Returns the insert statement. It looks IDs up in arrays: computing each ID for every request would take longer than
 * everything else.
 */
const fillText = ({ table, fromMs, toMs, first, end }: Month, past: HistoryPeriod): string => `
  with chance as (
    select i, random() as who, random() as key, random() as model, random() as outcome, random() as host, random() as node,
           random() as start, random() as pace, 50 + floor(random() * 1450)::int as prompt,
           20 + floor(random() * 480)::int as output
      from generate_series(${first}, ${end} - 1) i
  ), ids as materialized (
    select array(select ${idFromNameSql("'builder ' || i")} from generate_series(0, ${SMALL_BUILDER_COUNT}) i) as builders,
           array(select ${idFromNameSql("'key ' || i || ' ' || k")} from generate_series(0, ${SMALL_BUILDER_COUNT}) i, generate_series(1, ${KEY_NAMES.length}) k
                  order by i, k) as keys,
           array(select ${idFromNameSql("'host ' || i")} from generate_series(0, ${HOST_COUNT - 1}) i) as hosts,
           array(select ${idFromNameSql("'node ' || i || ' ' || n")} from generate_series(0, ${HOST_COUNT - 1}) i, generate_series(1, ${NODES_OF_HOST}) n
                  order by i, n) as nodes
  ), chosen as (
    select c.*, md5(c.i::text) as hex,
           -- Not before its month, whatever was rounded.
           greatest(${fromMs}, least(${toMs - 1}, floor(${past.fromMs} + c.i * ${(past.toMs - past.fromMs) / past.rows}::float8)))::bigint as ms,
           case when who < 0.9 then 1 else 2 + floor((who - 0.9) * ${SMALL_BUILDER_COUNT * 10})::int end as builder,
           ${pick("key", [0.6, 0.85, 0.95, 0.999])} as key_number,
           (${textArray(MODELS)})[${pick("model", [0.45, 0.75, 0.9, 0.97, 0.9999])}] as model_name,
           case when host < 0.5 then 1 else 1 + floor(host * ${HOST_COUNT})::int end as host_number,
           ${pick("node", [0.6, 0.9999])} as node_number,
           -- From 40 ms to two seconds, most of them short.
           floor(40 * exp(4 * start))::int as ttft
      from chance c
  )
  insert into ${table} (id, account_id, key_id, key_name, endpoint, model, build, tokenizer, stream, outcome, http_status,
                        finish_reason, prompt_tokens, completion_tokens, price_version, hold_pico, charge_pico, host_pico,
                        host_account_id, node_id, attempts, queue_ms, ttft_ms, duration_ms, client, label, created_at, finished_at)
  select (lpad(to_hex(c.ms), 12, '0') || '7' || substr(c.hex, 1, 3) || '8' || substr(c.hex, 4, 15))::uuid,
         ids.builders[c.builder], ids.keys[(c.builder - 1) * ${KEY_NAMES.length} + c.key_number], (${textArray(KEY_NAMES)})[c.key_number],
         case when c.model_name = 'embed-m3' then 'embedding' else 'chat' end,
         case when o.status <> 429 then c.model_name end, case when o.status <> 429 then c.model_name || '-1' end,
         case when o.status <> 429 then 'a tokenizer' end, c.i % 2 = 0, o.outcome, o.status,
         case when o.outcome = 'ok' then 'stop' end, n.prompt, n.output, case when o.status <> 429 then 1 end,
         case when o.status <> 429 then c.prompt * p.price_in + 1024::bigint * p.price_out else 0 end, n.charge,
         host_share(n.charge), case when o.billed then ids.hosts[c.host_number] end,
         case when o.billed then ids.nodes[(c.host_number - 1) * ${NODES_OF_HOST} + c.node_number] end,
         case when o.billed then 1 else 0 end, 2, c.ttft, c.ttft + floor(n.output * (4 + 30 * c.pace))::int, 'openai-js',
         case when o.status <> 429 and c.i % 5 = 0 then 'team-' || c.i / 5 % 40 end,
         to_timestamp(c.ms / 1000.0), to_timestamp(c.ms / 1000.0) + interval '1 second'
    from chosen c
    join ${OUTCOMES} on c.outcome >= o.low and c.outcome < o.high
    join ${PRICE_ROWS} on p.model = c.model_name
   cross join ids,
   lateral (select case when o.status <> 429 then c.prompt else 0 end as prompt,
                   case when o.billed and p.price_out > 0 then c.output else 0 end as output) q,
   lateral (select q.prompt, q.output,
                   case when o.billed then q.prompt * p.price_in::bigint + q.output * p.price_out::bigint else 0 end as charge) n`;
