-- since: 0054
-- Counts ended requests into the rollups of performance and labels, at most `p_limit` and never more than 100,000. Returns the number; null
-- if another caller is running.
-- A request counts in up to four series: its key, its account, the platform, its node. So requests are first summed into groups of five
-- minutes, one of their key and one of their node, and only the groups are added to the series. One integer encodes a row, then the
-- histogram (1 bit) and the bucket (11 bits).
-- Sums of performance are inserted as rows (`performance_part`). No row is rewritten: history_merge_performance merges them later.
-- Guarantees: each request is counted once, however often this is called; one caller at a time; completely or not at all.

create or replace function history_roll_up(p_limit integer) returns integer language plpgsql
set jit = off set work_mem = '64MB' set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_nestloop = off set enable_mergejoin = off as $$
declare
  nobody constant uuid := '00000000-0000-0000-0000-000000000000';
  taken_now integer;
begin
  perform from rollup_turn for update skip locked;
  if not found then
    return null;
  end if;
  with taken as materialized (
    select * from history_take_ended(least(p_limit, 100000))
  ), ended as materialized (
    select sign, outcome, account_id, key_id, model, label, created_at, prompt_tokens,
           case when outcome <> 'gateway_lost' then node_id end as node_id,
           case when outcome = 'gateway_lost' then 0 else completion_tokens end as completion_tokens,
           case when outcome = 'gateway_lost' then 0 else charge_pico end as charge_pico,
           case when outcome = 'ok' then histogram_bucket(ttft_ms) end as ttft,
           case when outcome = 'ok' then histogram_bucket(duration_ms) end as duration,
           case when outcome <> 'gateway_lost' and node_id is not null
                then greatest(0, duration_ms - coalesce(queue_ms, 0)) else 0 end as busy_ms,
           duration_ms - ttft_ms as flow_ms,
           outcome = 'ok' and completion_tokens > 1 and duration_ms > ttft_ms as flows,
           floor(extract(epoch from created_at))::bigint / 300 as slot
      from taken where account_id is not null
  ), grouped as materialized (
    select row_number() over () as place, g.*
      from (select account_id, key_id, node_id, model, slot, sum(sign) as requests,
                   coalesce(sum(sign) filter (where outcome = 'ok'), 0) as ok,
                   coalesce(sum(sign) filter (where outcome = 'client_closed'), 0) as closed,
                   coalesce(sum(sign) filter (where outcome not in ('ok', 'client_closed')), 0) as failed,
                   sum(sign * prompt_tokens) as prompt_tokens, sum(sign * completion_tokens) as completion_tokens,
                   coalesce(sum(completion_tokens - 1) filter (where flows), 0) as flow_tokens,
                   coalesce(sum(flow_ms) filter (where flows), 0) as flow_ms, coalesce(sum(busy_ms), 0) as busy_ms
              from ended where model is not null
             group by grouping sets ((account_id, key_id, model, slot), (node_id, model, slot))) g
     where account_id is not null or node_id is not null
  ), placed as materialized (
    select k.place as of_key, n.place as of_node, e.ttft, e.duration
      from ended e
      join grouped k on (k.account_id, k.key_id, k.model, k.slot) = (e.account_id, e.key_id, e.model, e.slot)
      left join grouped n on n.account_id is null and (n.node_id, n.model, n.slot) = (e.node_id, e.model, e.slot)
     where e.ttft is not null or e.duration is not null
  ), fine as materialized (
    select number >> 12 as place, number & 4095 as bucket, count(*) as count
      from (select (of_key << 12) | ttft as number from placed where ttft is not null
            union all
            select (of_key << 12) | 2048 | duration from placed where duration is not null
            union all
            select (of_node << 12) | ttft from placed where ttft is not null and of_node is not null
            union all
            select (of_node << 12) | 2048 | duration from placed where duration is not null and of_node is not null) numbers
     group by number
  ), spread as materialized (
    select g.*, s.scope, s.subject, s.of_key_id
      from grouped g
     cross join lateral (select 'account' as scope, g.account_id as subject, g.key_id as of_key_id where g.account_id is not null
                         union all
                         select 'account', g.account_id, nobody where g.account_id is not null
                         union all
                         select 'platform', nobody, nobody where g.account_id is not null
                         union all
                         select 'node', g.node_id, nobody where g.account_id is null) s
  ), summed as materialized (
    select row_number() over () as number, s.*
      from (select scope, subject, of_key_id as key_id, model, slot,
                   sum(requests) as requests, sum(ok) as ok, sum(closed) as closed, sum(failed) as failed,
                   sum(prompt_tokens) as prompt_tokens, sum(completion_tokens) as completion_tokens,
                   sum(flow_tokens) as flow_tokens, sum(flow_ms) as flow_ms, sum(busy_ms) as busy_ms
              from spread group by 1, 2, 3, 4, 5) s
  ), members as materialized (
    select m.place, s.number
      from spread m
      join summed s on (s.scope, s.subject, s.key_id, s.model, s.slot) = (m.scope, m.subject, m.of_key_id, m.model, m.slot)
  ), counted as materialized (
    select (m.number << 12) | f.bucket as number, sum(f.count)::bigint as count
      from members m join fine f on f.place = m.place
     group by 1
  ), histograms as materialized (
    select number >> 12 as number,
           coalesce(array_agg((number & 2047) << 40 | count) filter (where number & 2048 = 0), '{}') as ttft,
           coalesce(array_agg((number & 2047) << 40 | count) filter (where number & 2048 <> 0), '{}') as duration
      from (select number, count from counted order by number) counted group by number >> 12
  ), performed as (
    insert into performance_part (scope, subject, slot, key_id, model, requests, ok, closed, failed, prompt_tokens,
                                  completion_tokens, flow_tokens, flow_ms, busy_ms, ttft, duration)
    select scope, subject, to_timestamp(slot * 300), key_id, model, requests, ok, closed, failed, prompt_tokens, completion_tokens,
           flow_tokens, flow_ms, busy_ms, coalesce(ttft, '{}'), coalesce(duration, '{}')
      from summed left join histograms using (number)
  ), labelled as (
    insert into label_day as d (account_id, day, label, requests, prompt_tokens, completion_tokens, charge_pico)
    select account_id, (created_at at time zone 'UTC')::date, label, sum(sign), sum(sign * prompt_tokens),
           sum(sign * completion_tokens), sum(sign * charge_pico)
      from ended where label is not null group by 1, 2, 3
    on conflict (account_id, day, label) do update
      set requests = d.requests + excluded.requests, prompt_tokens = d.prompt_tokens + excluded.prompt_tokens,
          completion_tokens = d.completion_tokens + excluded.completion_tokens,
          charge_pico = d.charge_pico + excluded.charge_pico
  )
  select count(*) into taken_now from taken;
  return taken_now;
end $$;
