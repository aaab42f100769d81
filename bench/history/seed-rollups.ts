/**
 * Computes the rollups (pre-aggregated usage) of a history from its requests, day by day on two connections, because
 * the product would count requests one by one. `seed-history.test.ts` compares the result with the gateway's own function,
 * `history_roll_up`.
 */
import type pg from "pg";
import { DAY_MS } from "../../gateway/src/base/time.ts";
import { type HistoryPeriod, runOnFreeConnections } from "./seed-requests.ts";

const NOBODY = "'00000000-0000-0000-0000-000000000000'::uuid";

/** Creates the hourly rollups that each settlement updates. */
export async function seedHourlyRollups(pool: pg.Pool, past: HistoryPeriod): Promise<void> {
  await runOnFreeConnections(pool, daysOf(past), async (client, day) => {
    await client.query(
      `insert into usage_hour (account_id, hour, key_id, model, outcome, requests, prompt_tokens, completion_tokens, charge_pico)
       select account_id, date_trunc('hour', created_at), key_id, coalesce(model, ''), outcome, count(*), sum(prompt_tokens),
              sum(completion_tokens), sum(charge_pico)
         from request where ${inDay(day)} group by 1, 2, 3, 4, 5 order by 2, 1`,
    );
    await client.query(
      `insert into earning_hour (host_account_id, hour, node_id, model, requests, prompt_tokens, completion_tokens, host_pico)
       select host_account_id, date_trunc('hour', created_at), node_id, model, count(*), sum(prompt_tokens),
              sum(completion_tokens), sum(host_pico)
         from request where ${inDay(day)} and host_account_id is not null group by 1, 2, 3, 4 order by 2, 1`,
    );
  });
}

/** Creates the rollups that the gateway's job would have written by now. */
export async function seedRollups(pool: pg.Pool, past: HistoryPeriod): Promise<void> {
  await runOnFreeConnections(pool, daysOf(past), async (client, day) => {
    await client.query("begin");
    await client.query(ended(day));
    await client.query("analyze ended");
    for (const [scope, subject, key] of SCOPES) {
      for (const [grain, kept] of GRAINS) await client.query(performed({ scope, subject, key, grain, kept }));
    }
    await client.query(
      `insert into label_day (account_id, day, label, requests, prompt_tokens, completion_tokens, charge_pico)
       select account_id, (created_at at time zone 'UTC')::date, label, count(*), sum(prompt_tokens), sum(completion_tokens),
              sum(charge_pico)
         from ended where label is not null group by 1, 2, 3`,
    );
    await client.query("commit");
  });
}

/** Returns the first moments of the UTC days in the period. */
function daysOf({ fromMs, toMs }: HistoryPeriod): number[] {
  const first = Math.floor(fromMs / DAY_MS);
  return Array.from({ length: Math.ceil(toMs / DAY_MS) - first }, (_, i) => (first + i) * DAY_MS);
}

/** Request IDs contain their time, so a range of IDs is a range of time. */
const inDay = (ms: number): string =>
  `id >= uuid_floor(to_timestamp(${ms / 1000})) and id < uuid_floor(to_timestamp(${(ms + DAY_MS) / 1000}))`;

const SCOPES = [
  ["account", "account_id", "key_id"],
  ["account", "account_id", NOBODY],
  ["node", "node_id", NOBODY],
  ["platform", NOBODY, NOBODY],
] as const;
const GRAINS = [
  ["5min", "3 days"],
  ["hour", "100 days"],
  ["day", "1000 years"],
] as const;

const ended = (day: number): string => `
  create temporary table ended on commit drop as
  select account_id, key_id, case when outcome <> 'gateway_lost' then node_id end as node_id, model, label, outcome, created_at,
         date_bin('5 minutes', created_at, '2000-01-01Z') as "5min", date_bin('1 hour', created_at, '2000-01-01Z') as hour,
         date_bin('1 day', created_at, '2000-01-01Z') as day, prompt_tokens, completion_tokens, charge_pico,
         histogram_bucket(ttft_ms)::bigint as ttft, histogram_bucket(duration_ms)::bigint as duration,
         greatest(0, duration_ms - coalesce(queue_ms, 0)) as busy_ms, duration_ms - ttft_ms as flow_ms,
         outcome = 'ok' and completion_tokens > 1 and duration_ms > ttft_ms as flows
    from request where ${inDay(day)} and not starts_with(outcome, 'rate_limit_')`;

interface Rollup {
  scope: string;
  subject: string;
  key: string;
  grain: string;
  kept: string;
}

function performed({ scope, subject, key, grain, kept }: Rollup): string {
  const of = `${subject} as subject, "${grain}" as slot, ${key} as key_id, model`;
  const among = `from ended where created_at > now() - interval '${kept}' and ${subject} is not null`;
  const histogram = (name: string): string => `
    select subject, slot, key_id, model, array_agg((bucket << 40) | count order by bucket) as ${name}
      from (select ${of}, ${name} as bucket, count(*) as count ${among} and outcome = 'ok' and ${name} is not null
             group by 1, 2, 3, 4, 5) counted
     group by 1, 2, 3, 4`;
  return `
    with summed as (
      select ${of}, count(*) as requests, count(*) filter (where outcome = 'ok') as ok,
             count(*) filter (where outcome = 'client_closed') as closed,
             count(*) filter (where outcome not in ('ok', 'client_closed')) as failed, sum(prompt_tokens) as prompt_tokens,
             sum(completion_tokens) as completion_tokens, coalesce(sum(completion_tokens - 1) filter (where flows), 0) as flow_tokens,
             coalesce(sum(flow_ms) filter (where flows), 0) as flow_ms,
             coalesce(sum(busy_ms) filter (where node_id is not null), 0) as busy_ms
        ${among} group by 1, 2, 3, 4
    ), ttfts as (${histogram("ttft")}), durations as (${histogram("duration")})
    insert into performance (scope, subject, grain, slot, key_id, model, requests, ok, closed, failed, prompt_tokens,
                             completion_tokens, flow_tokens, flow_ms, busy_ms, ttft, duration)
    select '${scope}', subject, '${grain}', slot, key_id, model, requests, ok, closed, failed, prompt_tokens, completion_tokens,
           flow_tokens, flow_ms, busy_ms, coalesce(ttft, '{}'), coalesce(duration, '{}')
      from summed left join ttfts using (subject, slot, key_id, model) left join durations using (subject, slot, key_id, model)
     order by slot, subject`;
}
