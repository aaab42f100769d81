-- Counts requests that ended into the rollups of performance and labels, at most `p_limit` of them. Returns how many; null
-- when somebody else is at it.
-- Of an account there are rows of each key and one of all keys together. Slots too old for any range to show are not made.
-- Guarantees: each is counted once, whoever calls this and however often; one caller at a time; all of it or nothing.

create or replace function history_roll_up(p_limit integer) returns integer language plpgsql
set jit = off set work_mem = '64MB' as $$
declare
  nobody constant uuid := '00000000-0000-0000-0000-000000000000';
  taken_now integer;
begin
  perform from rollup_turn for update skip locked;
  if not found then
    return null;
  end if;
  with taken as materialized (
    delete from unrolled where ctid = any (array(select ctid from unrolled limit p_limit))
    returning request_id, sign, outcome, outcome = 'gateway_lost' as lost
  ), ended as materialized (
    select t.sign, t.outcome, r.account_id, r.key_id as key, r.model, r.label, r.created_at, r.prompt_tokens,
           case when t.lost then null else r.node_id end as node_id,
           case when t.lost then 0 else r.completion_tokens end as completion_tokens,
           case when t.lost then 0 else r.charge_pico end as charge_pico,
           case when t.outcome = 'ok' then histogram_bucket(r.ttft_ms)::bigint << 40 | 1 end as ttft,
           case when t.outcome = 'ok' then histogram_bucket(r.duration_ms)::bigint << 40 | 1 end as duration,
           greatest(0, r.duration_ms - coalesce(r.queue_ms, 0)) as busy_ms,
           r.duration_ms - r.ttft_ms as flow_ms,
           t.outcome = 'ok' and r.completion_tokens > 1 and r.duration_ms > r.ttft_ms as flows
      from taken t join request r on r.id = t.request_id
  ), placed as materialized (
    select s.scope, s.subject, g.grain, date_bin(g.length, e.created_at, timestamptz '2000-01-01 00:00Z') as slot, s.key_id,
           e.*
      from ended e
     cross join lateral (values ('account', e.account_id, e.key), ('account', e.account_id, nobody),
                                ('node', e.node_id, nobody), ('platform', nobody, nobody)) as s (scope, subject, key_id)
     cross join (values ('5min', interval '5 minutes', interval '3 days'), ('hour', '1 hour', '100 days'),
                        ('day', '1 day', '1000 years')) as g (grain, length, kept)
     where s.subject is not null and e.created_at > now() - g.kept
  ), summed as materialized (
    select scope, subject, grain, slot, key_id, model, sum(sign) as requests,
           coalesce(sum(sign) filter (where outcome = 'ok'), 0) as ok,
           coalesce(sum(sign) filter (where outcome = 'client_closed'), 0) as closed,
           coalesce(sum(sign) filter (where outcome not in ('ok', 'client_closed')), 0) as failed,
           sum(sign * prompt_tokens) as prompt_tokens, sum(sign * completion_tokens) as completion_tokens,
           coalesce(sum(completion_tokens - 1) filter (where flows), 0) as flow_tokens,
           coalesce(sum(flow_ms) filter (where flows), 0) as flow_ms,
           coalesce(sum(busy_ms) filter (where node_id is not null), 0) as busy_ms
      from placed group by 1, 2, 3, 4, 5, 6
  ), counted as (
    -- What is counted now and what is there already, one number at a time: merging histogram by histogram costs several times as much.
    select scope, subject, grain, slot, key_id, model, of, number >> 40 as bucket,
           sum(number & ((1::bigint << 40) - 1))::bigint as count
      from (select scope, subject, grain, slot, key_id, model, 't' as of, ttft as number from placed where ttft is not null
            union all
            select scope, subject, grain, slot, key_id, model, 'd', duration from placed where duration is not null
            union all
            select scope, subject, grain, slot, key_id, model, 't', n.number
              from summed join performance p using (scope, subject, grain, slot, key_id, model), unnest(p.ttft) as n (number)
            union all
            select scope, subject, grain, slot, key_id, model, 'd', n.number
              from summed join performance p using (scope, subject, grain, slot, key_id, model),
                   unnest(p.duration) as n (number)) numbers
     group by 1, 2, 3, 4, 5, 6, 7, 8
  ), histograms as materialized (
    select scope, subject, grain, slot, key_id, model,
           coalesce(array_agg((bucket << 40) | count order by bucket) filter (where of = 't'), '{}') as ttft,
           coalesce(array_agg((bucket << 40) | count order by bucket) filter (where of = 'd'), '{}') as duration
      from counted group by 1, 2, 3, 4, 5, 6
  ), performed as (
    insert into performance as p (scope, subject, grain, slot, key_id, model, requests, ok, closed, failed, prompt_tokens,
                                  completion_tokens, flow_tokens, flow_ms, busy_ms, ttft, duration)
    select scope, subject, grain, slot, key_id, model, requests, ok, closed, failed, prompt_tokens, completion_tokens,
           flow_tokens, flow_ms, busy_ms, coalesce(ttft, '{}'), coalesce(duration, '{}')
      from summed left join histograms using (scope, subject, grain, slot, key_id, model)
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
