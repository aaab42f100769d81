-- Counts requests that ended into the rollups of performance and labels, at most `p_limit` of them, and no more than 100,000. Returns how
-- many; null when somebody else is at it.
-- Of an account there are rows of each key and one of all keys together. Slots too old for any range to show are not made.
-- A request is counted in up to twelve rows, and rows are told by six columns: comparing those for every number of every histogram was
-- two thirds of the cost. So each series (scope, subject, key, model) gets a number for the batch, and a row's place is one integer:
-- the series (19 bits), the grain (2), the slot (30); a number of its histograms adds which (1) and the bucket (11).
-- Guarantees: each is counted once, whoever calls this and however often; one caller at a time; all of it or nothing.

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
           greatest(0, duration_ms - coalesce(queue_ms, 0)) as busy_ms,
           duration_ms - ttft_ms as flow_ms,
           outcome = 'ok' and completion_tokens > 1 and duration_ms > ttft_ms as flows,
           floor(extract(epoch from created_at))::bigint as made_s
      from taken where account_id is not null
  ), series as materialized (
    select row_number() over () as number, scope, subject, key_id, model
      from (select 'account' as scope, account_id as subject, key_id, model from ended group by 2, 3, 4
            union all
            select 'account', account_id, nobody, model from ended group by 2, 4
            union all
            select 'node', node_id, nobody, model from ended where node_id is not null group by 2, 4
            union all
            select 'platform', nobody, nobody, model from ended group by 4) s
  ), placed as materialized (
    select (s.number << 32) | (g.code << 30) | (e.made_s / g.seconds) as place, e.sign, e.outcome, e.prompt_tokens,
           e.completion_tokens, e.ttft, e.duration, e.flows, e.flow_ms,
           case when e.node_id is null then 0 else e.busy_ms end as busy_ms
      from ended e
      join series of_key on of_key.scope = 'account'
                        and (of_key.subject, of_key.key_id, of_key.model) = (e.account_id, e.key_id, e.model)
      join series of_account on of_account.scope = 'account' and of_account.key_id = nobody
                            and (of_account.subject, of_account.model) = (e.account_id, e.model)
      join series of_all on of_all.scope = 'platform' and of_all.model = e.model
      left join series of_node on of_node.scope = 'node' and (of_node.subject, of_node.model) = (e.node_id, e.model)
     cross join lateral (values (of_key.number), (of_account.number), (of_all.number), (of_node.number)) as s (number)
     cross join (values (0::bigint, 300, interval '3 days'), (1, 3600, '100 days'), (2, 86400, '1000 years')) as g (code, seconds, kept)
     where s.number is not null and e.created_at > now() - g.kept
  ), summed as materialized (
    select p.place, (array['5min', 'hour', 'day'])[(p.place >> 30 & 3) + 1] as grain,
           to_timestamp((p.place & ((1 << 30) - 1)) * (array[300, 3600, 86400])[(p.place >> 30 & 3) + 1]) as slot,
           s.scope, s.subject, s.key_id, s.model, p.requests, p.ok, p.closed, p.failed, p.prompt_tokens, p.completion_tokens,
           p.flow_tokens, p.flow_ms, p.busy_ms
      from (select place, sum(sign) as requests,
                   coalesce(sum(sign) filter (where outcome = 'ok'), 0) as ok,
                   coalesce(sum(sign) filter (where outcome = 'client_closed'), 0) as closed,
                   coalesce(sum(sign) filter (where outcome not in ('ok', 'client_closed')), 0) as failed,
                   sum(sign * prompt_tokens) as prompt_tokens, sum(sign * completion_tokens) as completion_tokens,
                   coalesce(sum(completion_tokens - 1) filter (where flows), 0) as flow_tokens,
                   coalesce(sum(flow_ms) filter (where flows), 0) as flow_ms, coalesce(sum(busy_ms), 0) as busy_ms
              from placed group by place) p
      join series s on s.number = p.place >> 32
  ), counted as (
    -- What is counted now and what is there already. Rows that are there are found by their key alone: told as a range of it, because
    -- the planner takes the index of grain and slot for as good.
    select number, sum(count)::bigint as count
      from (select (place << 12) | ttft as number, 1::bigint as count from placed where ttft is not null
            union all
            select (place << 12) | 2048 | duration, 1 from placed where duration is not null
            union all
            select (s.place << 12) | n.number, n.count
              from summed s
             cross join lateral (select p.ttft, p.duration from performance p
                                  where (p.scope, p.subject, p.grain, p.slot, p.key_id, p.model)
                                        >= (s.scope, s.subject, s.grain, s.slot, s.key_id, s.model)
                                    and (p.scope, p.subject, p.grain, p.slot, p.key_id, p.model)
                                        <= (s.scope, s.subject, s.grain, s.slot, s.key_id, s.model) offset 0) p
             cross join lateral (select t >> 40 as number, t & ((1::bigint << 40) - 1) as count from unnest(p.ttft) as t
                                 union all
                                 select (d >> 40) | 2048, d & ((1::bigint << 40) - 1) from unnest(p.duration) as d) n) numbers
     group by number
  ), histograms as materialized (
    select number >> 12 as place,
           coalesce(array_agg((number & 2047) << 40 | count order by number) filter (where number & 2048 = 0), '{}') as ttft,
           coalesce(array_agg((number & 2047) << 40 | count order by number) filter (where number & 2048 <> 0), '{}') as duration
      from counted group by number >> 12
  ), performed as (
    insert into performance as p (scope, subject, grain, slot, key_id, model, requests, ok, closed, failed, prompt_tokens,
                                  completion_tokens, flow_tokens, flow_ms, busy_ms, ttft, duration)
    select scope, subject, grain, slot, key_id, model, requests, ok, closed, failed, prompt_tokens, completion_tokens,
           flow_tokens, flow_ms, busy_ms, coalesce(ttft, '{}'), coalesce(duration, '{}')
      from summed left join histograms using (place)
    on conflict (scope, subject, grain, slot, key_id, model) do update
      set requests = p.requests + excluded.requests, ok = p.ok + excluded.ok, closed = p.closed + excluded.closed,
          failed = p.failed + excluded.failed, prompt_tokens = p.prompt_tokens + excluded.prompt_tokens,
          completion_tokens = p.completion_tokens + excluded.completion_tokens,
          flow_tokens = p.flow_tokens + excluded.flow_tokens, flow_ms = p.flow_ms + excluded.flow_ms,
          busy_ms = p.busy_ms + excluded.busy_ms, ttft = excluded.ttft, duration = excluded.duration
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
