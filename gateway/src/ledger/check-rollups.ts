/**
 * The checks of the rollups (labels, performance, sums of closed days): each is computed again from the records it
 * summarizes.
 */

export interface RollupCheck {
  name: string;
  counts: string;
  /** A select with one text column and one row per difference. */
  differs: string;
}

/**
 * The requests as the rollups have counted them. Requests that still wait in `unrolled` are left out. A request whose
 * gateway was lost counts without node, output and charge, as in `history_roll_up`, until its late settlement is
 * counted.
 */
const counted = (keptFrom: string): string => `(
  select sign, outcome, account_id, key_id, model, label, created_at, prompt_tokens, ttft_ms, duration_ms, queue_ms,
         case when outcome <> 'gateway_lost' then node_id end as node_id,
         case when outcome <> 'gateway_lost' then completion_tokens else 0 end as completion_tokens,
         case when outcome <> 'gateway_lost' then charge_pico else 0 end as charge_pico
    from (select 1 as sign, r.outcome, r.account_id, r.key_id, r.model, r.label, r.created_at, r.prompt_tokens, r.ttft_ms,
                 r.duration_ms, r.queue_ms, r.node_id, r.completion_tokens, r.charge_pico
            from request r where not starts_with(r.outcome, 'rate_limit_')
          union all
          select -u.sign, u.outcome, r.account_id, r.key_id, r.model, r.label, r.created_at, r.prompt_tokens, r.ttft_ms,
                 r.duration_ms, r.queue_ms, r.node_id, r.completion_tokens, r.charge_pico
            from unrolled u join request r on r.id = u.request_id) line
   where created_at >= ${keptFrom})`;

const NOBODY = "'00000000-0000-0000-0000-000000000000'::uuid";
const FIGURES = "requests, ok, closed, failed, prompt_tokens, completion_tokens, flow_tokens, flow_ms, busy_ms".split(
  ", ",
);
const ADDED_FIGURES = FIGURES.map((figure) => `sum(${figure})`).join(", ");
/** Adds up a histogram: the number of values, and the sum of their bucket numbers. */
const numbersOf = (histogram: string): string =>
  `(select coalesce(sum(n & ((1::bigint << 40) - 1)), 0), coalesce(sum((n >> 40) * (n & ((1::bigint << 40) - 1))), 0) from unnest(${histogram}) as n)`;

const NUMBERS = ["ttft_numbers", "ttft_buckets", "duration_numbers", "duration_buckets"];
/**
 * The age up to which five-minute and hourly slots are compared. It is one day less than the slots are kept, because a
 * sweep may delete older ones during the check.
 */
const [FIVES_KEPT, HOURS_KEPT] = ["interval '2 days'", "interval '99 days'"];
const ORIGIN = "timestamptz '2000-01-01 00:00Z'";

/**
 * The histogram bucket of a duration in milliseconds, from its seven highest bits. Computed differently from
 * `histogram_bucket`, so that a bug in that function shows.
 */
const bucketOf = (ms: string): string => {
  const shift = `(26 - position(B'1' in greatest(${ms}, 64)::bit(32)))`;
  return `(64 * ${shift} + (greatest(${ms}, 0) >> ${shift}))`;
};

/**
 * The expected counts by key, node and model: in five-minute slots, and in hours for everything older than two days.
 */
const slots = (keptFrom: string): string => `(
  select account_id, key_id, node_id, model,
         date_bin(case when date_bin('5 minutes', created_at, ${ORIGIN}) >= now() - ${FIVES_KEPT} then interval '5 minutes' else '1 hour' end,
                  created_at, ${ORIGIN}) as slot,
         sum(sign) as requests,
         coalesce(sum(sign) filter (where outcome = 'ok'), 0) as ok,
         coalesce(sum(sign) filter (where outcome = 'client_closed'), 0) as closed,
         coalesce(sum(sign) filter (where outcome not in ('ok', 'client_closed')), 0) as failed,
         sum(sign * prompt_tokens) as prompt_tokens, sum(sign * completion_tokens) as completion_tokens,
         coalesce(sum(sign * (completion_tokens - 1)) filter (where flows), 0) as flow_tokens,
         coalesce(sum(sign * (duration_ms - ttft_ms)) filter (where flows), 0) as flow_ms,
         coalesce(sum(sign * greatest(0, duration_ms - coalesce(queue_ms, 0))) filter (where node_id is not null), 0) as busy_ms,
         coalesce(sum(sign) filter (where outcome = 'ok' and ttft_ms is not null), 0) as ttft_numbers,
         coalesce(sum(sign * ${bucketOf("ttft_ms")}) filter (where outcome = 'ok'), 0) as ttft_buckets,
         coalesce(sum(sign) filter (where outcome = 'ok' and duration_ms is not null), 0) as duration_numbers,
         coalesce(sum(sign * ${bucketOf("duration_ms")}) filter (where outcome = 'ok'), 0) as duration_buckets
    from ${counted(keptFrom)} c
   cross join lateral (select outcome = 'ok' and completion_tokens > 1 and duration_ms > ttft_ms) f (flows)
   group by 1, 2, 3, 4, 5)`;

/**
 * `keptFrom`: the start of the oldest month whose records all exist. `performance`: the table or view with all
 * performance counts.
 */
export const listRollupChecks = (keptFrom: string, performance: string): RollupCheck[] => [
  {
    name: "the daily rollups by request label are the sums of their requests",
    counts: "select count(*) from label_day",
    differs: `select format('%s, account %s, label %s: rollup %s, requests %s', coalesce(d.day, r.day), coalesce(d.account_id, r.account_id),
                            coalesce(d.label, r.label), d.sums, r.sums)
                from (select account_id, day, label, (requests, prompt_tokens, completion_tokens, charge_pico)::text as sums
                        from label_day where day >= (${keptFrom} at time zone 'UTC')::date) d
                full join (select account_id, (created_at at time zone 'UTC')::date as day, label,
                                  (sum(sign), sum(sign * prompt_tokens), sum(sign * completion_tokens), sum(sign * charge_pico))::text as sums
                             from ${counted(keptFrom)} c where label is not null group by 1, 2, 3
                           having sum(sign) <> 0 or sum(sign * charge_pico) <> 0) r
                  on (r.account_id, r.day, r.label) = (d.account_id, d.day, d.label)
               where r.sums is distinct from d.sums`,
  },
  {
    name: "the performance rollups are the sums of their requests",
    counts: `select count(*) from ${performance}`,
    differs: `select format('%s (%s of %s), %s %s, key %s, %s: rollup %s, requests %s', (coalesce(p.slot, r.slot) at time zone 'UTC')::date,
                            coalesce(p.grain, r.grain), coalesce(p.slot, r.slot) at time zone 'UTC', coalesce(p.scope, r.scope),
                            coalesce(p.subject, r.subject), coalesce(p.key_id, r.key_id), coalesce(p.model, r.model), p.sums, r.sums)
                from (select scope, subject, grain, slot, key_id, model,
                             (${ADDED_FIGURES}, sum(t.numbers), sum(t.buckets), sum(d.numbers), sum(d.buckets))::text as sums
                        from ${performance} p
                       cross join lateral ${numbersOf("p.ttft")} as t (numbers, buckets)
                       cross join lateral ${numbersOf("p.duration")} as d (numbers, buckets)
                       where slot >= ${keptFrom}
                         and slot >= now() - case grain when '5min' then ${FIVES_KEPT} when 'hour' then ${HOURS_KEPT} else '1000 years' end
                       group by 1, 2, 3, 4, 5, 6) p
                full join (
                  select s.scope, s.subject, g.grain, date_bin(g.length, c.slot, ${ORIGIN}) as slot, s.key_id, c.model,
                         (${[...FIGURES, ...NUMBERS].map((figure) => `sum(${figure})`).join(", ")})::text as sums
                    from ${slots(keptFrom)} c
                   cross join lateral (values ('account', account_id, key_id), ('account', account_id, ${NOBODY}), ('node', node_id, ${NOBODY}),
                                              ('platform', ${NOBODY}, ${NOBODY})) s (scope, subject, key_id)
                   cross join (values ('5min', interval '5 minutes', ${FIVES_KEPT}), ('hour', '1 hour', ${HOURS_KEPT}),
                                      ('day', '1 day', '1000 years')) g (grain, length, kept)
                   where s.subject is not null and date_bin(g.length, c.slot, ${ORIGIN}) >= now() - g.kept
                   group by 1, 2, 3, 4, 5, 6
                  having sum(requests) <> 0 or sum(completion_tokens) <> 0) r
                  on (r.scope, r.subject, r.grain, r.slot, r.key_id, r.model) = (p.scope, p.subject, p.grain, p.slot, p.key_id, p.model)
               where r.sums is distinct from p.sums`,
  },
];

/**
 * The closed days of a rollup. A day that changed after it was closed is left out, because its sums are outdated and
 * not used.
 */
const closedDays = (what: "usage" | "performance"): string =>
  `(select day from closed_day where what = '${what}' except select day from late_day where what = '${what}')`;

const AMOUNTS = "requests, prompt_tokens, completion_tokens, charge_pico";
const ADDED = AMOUNTS.replaceAll(/\w+/g, "sum($&)");

const ofUsage = (table: string, keys: string, day: string): RollupCheck => ({
  name: `each total in ${table} equals the sum of its hourly rollups`,
  counts: `select count(*) from ${table}`,
  differs: `select format('%s, %s: %s, hours %s', coalesce(s.day, h.day), coalesce(s.keys, h.keys), s.sums, h.sums)
              from (select ${day} as day, (${keys})::text as keys, (${AMOUNTS})::text as sums from ${table}) s
              full join (select (hour at time zone 'UTC')::date as day, (${keys})::text as keys, (${ADDED})::text as sums
                           from usage_hour group by 1, ${keys}) h on h.day = s.day and h.keys = s.keys
             where s.sums is distinct from h.sums and coalesce(s.day, h.day) in ${closedDays("usage")}`,
});

/** Compares the sums of closed days with their hours. */
export const DAY_ROLLUP_CHECKS: RollupCheck[] = [
  ofUsage("usage_day", "account_id, key_id, model, outcome", "day"),
  ofUsage("usage_day_account", "account_id, outcome", "day"),
  ofUsage("usage_hour_all", "hour, model, outcome", "(hour at time zone 'UTC')::date"),
];

/** A closed day's histogram in its stored form, added up from all rollup rows with the same keys. */
const packed = (histogram: string, { performance, keys, condition }: Omit<OfPerformance, "table">): string => `(
  select ${keys}, string_agg(int2send(bucket::int2) || int4send(count::int4), '' order by bucket) as bytes
    from (select ${keys}, n >> 40 as bucket, sum(n & ((1::bigint << 40) - 1)) as count
            from ${performance} p, unnest(p.${histogram}) as n where ${condition} group by ${keys}, n >> 40) numbers
   group by ${keys})`;

interface OfPerformance {
  table: string;
  keys: string;
  /** A condition that selects the rollup rows from which the sums are computed. */
  condition: string;
  kept?: string;
  performance: string;
}

const ofPerformance = ({ table, kept = "true", ...of }: OfPerformance): RollupCheck => ({
  name: `the totals in ${table} equal the rollups that they summarize`,
  counts: `select count(*) from ${table}`,
  differs: `select format('%s, %s: %s, rollups %s', (coalesce(s.slot, p.slot) at time zone 'UTC')::date,
                          coalesce(s.keys, p.keys), s.sums, p.sums)
              from (select slot, (${of.keys})::text as keys, (${FIGURES.join(", ")}, md5(ttft), md5(duration))::text as sums
                      from ${table} where ${kept}) s
              full join (select slot, (${of.keys})::text as keys,
                                (${FIGURES.join(", ")}, md5(coalesce(t.bytes, '')), md5(coalesce(d.bytes, '')))::text as sums
                           from (select ${of.keys}, ${FIGURES.map((figure) => `sum(${figure}) as ${figure}`).join(", ")}
                                   from ${of.performance} where (${of.condition}) and ${kept} group by ${of.keys}) p
                           left join ${packed("ttft", of)} t using (${of.keys})
                           left join ${packed("duration", of)} d using (${of.keys})) p on p.slot = s.slot and p.keys = s.keys
             where s.sums is distinct from p.sums
               and (coalesce(s.slot, p.slot) at time zone 'UTC')::date in ${closedDays("performance")}`,
});

export const performanceRollupCheck = (performance: string): RollupCheck =>
  ofPerformance({
    table: "performance_all",
    keys: "scope, subject, grain, slot, key_id",
    condition: `grain = 'day' or grain = 'hour' and key_id = ${NOBODY}`,
    kept: `(grain = 'day' or slot >= now() - ${HOURS_KEPT})`,
    performance,
  });
export const performanceDayRollupCheck = (performance: string): RollupCheck =>
  ofPerformance({
    table: "performance_day",
    keys: "scope, subject, slot, key_id, model",
    condition: "grain = 'day'",
    performance,
  });
